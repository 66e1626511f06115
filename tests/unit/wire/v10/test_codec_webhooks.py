"""What 1.0 says of webhooks."""

import json
from typing import Any

import pytest

from llamon_agent.domain.errors import BadParams
from llamon_agent.domain.events import ArtifactUpdate, Snapshot, StatusUpdate, Update
from llamon_agent.domain.message import Text
from llamon_agent.domain.task import PushConfig, Task, TaskState, TaskStatus
from llamon_agent.wire.operations import DeletePushConfig, GetPushConfig, ListPushConfigs, SetPushConfig
from llamon_agent.wire.v10.codec import V10

TASK = Task(
    id="t1",
    context_id="c1",
    owner="alice",
    agent="demo",
    status=TaskStatus(state=TaskState.WORKING, at_ms=0),
    seq=7,
    created_ms=1,
)


def opened(method: str, params: Any) -> Any:
    return V10.methods[method](json.dumps(params).encode())


def refused(method: str, params: Any) -> str:
    with pytest.raises(BadParams) as caught:
        opened(method, params)
    return caught.value.public


def test_a_push_configuration_is_its_own_params() -> None:
    """A2A 1.0 §9.4.7."""
    params = {
        "tenant": "acme",
        "taskId": "t1",
        "id": "p1",
        "url": "https://example.com/hook",
        "token": "t",
        "authentication": {"scheme": "Bearer", "credentials": "c"},
    }
    config = PushConfig(
        id="p1", url="https://example.com/hook", version="1.0", token="t", schemes=("Bearer",), credentials="c"
    )
    assert opened("CreateTaskPushNotificationConfig", params) == SetPushConfig(
        task_id="t1", config=config, tenant="acme"
    )


def test_a_push_configuration_is_asked_for_by_two_ids() -> None:
    params = {"taskId": "t1", "id": "p1", "tenant": "acme"}
    ids = {"task_id": "t1", "config_id": "p1", "tenant": "acme"}
    assert opened("GetTaskPushNotificationConfig", params) == GetPushConfig(**ids)
    assert opened("DeleteTaskPushNotificationConfig", params) == DeletePushConfig(**ids)


def test_a_list_of_push_configurations_may_have_pages() -> None:
    method = "ListTaskPushNotificationConfigs"
    assert opened(method, {"taskId": "t1"}) == ListPushConfigs(task_id="t1")
    assert opened(method, {"taskId": "t1", "pageSize": 0, "pageToken": ""}) == ListPushConfigs(task_id="t1")
    assert opened(method, {"task_id": "t1", "page_size": "2", "page_token": "p1", "tenant": "x"}) == ListPushConfigs(
        task_id="t1", page_size=2, page_token="p1", tenant="x"
    )


@pytest.mark.parametrize(
    ("method", "params", "says"),
    [
        ("CreateTaskPushNotificationConfig", {"url": "u"}, "taskId is required."),
        ("CreateTaskPushNotificationConfig", {"taskId": "t1"}, "url is required."),
        ("GetTaskPushNotificationConfig", {"id": "p1"}, "taskId is required."),
        ("GetTaskPushNotificationConfig", {"taskId": "t1"}, "id is required."),
        ("DeleteTaskPushNotificationConfig", {"taskId": "t1"}, "id is required."),
        ("ListTaskPushNotificationConfigs", {}, "taskId is required."),
        ("ListTaskPushNotificationConfigs", {"taskId": "t1", "pageSize": -1}, "pageSize is not valid."),
    ],
)
def test_the_error_for_a_bad_push_call_names_the_field(method: str, params: Any, says: str) -> None:
    assert refused(method, params) == says


def test_the_error_for_a_bad_webhook_of_a_message_names_its_place() -> None:
    message = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "hi"}]}
    params = {"message": message, "configuration": {"taskPushNotificationConfig": {"id": "p1"}}}
    assert refused("SendMessage", params) == "configuration.taskPushNotificationConfig.url is required."


@pytest.mark.parametrize(
    "update",
    [
        Snapshot(task=TASK),
        StatusUpdate(seq=7, status=TASK.status),
        ArtifactUpdate(seq=6, artifact_id="a1", parts=(Text.of("x"),), append=True),
    ],
)
def test_a_webhook_is_sent_what_a_stream_sends(update: Snapshot | Update) -> None:
    """A2A 1.0 §4.3.3."""
    assert V10.notification_type == "application/a2a+json"
    assert V10.write_notification(update, task=TASK) == V10.write_event(update, task=TASK, final=False)


def test_push_results() -> None:
    """A2A 1.0 §3.1.7 to §3.1.10."""
    config = PushConfig(id="p1", url="u", version="1.0")
    written = {"id": "p1", "taskId": "t1", "url": "u"}
    assert json.loads(V10.write_push_config("t1", config)) == written
    assert json.loads(V10.write_push_configs("t1", [config], next_token="p1")) == {
        "configs": [written],
        "nextPageToken": "p1",
    }
    assert json.loads(V10.write_push_configs("t1", [], next_token="")) == {"configs": [], "nextPageToken": ""}
    assert V10.write_deleted() == b"{}"
