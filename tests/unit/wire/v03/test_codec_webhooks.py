"""What 0.x says of webhooks."""

import json
from typing import Any

import pytest

from llamon_agent.domain.errors import BadParams
from llamon_agent.domain.events import ArtifactUpdate, Snapshot, StatusUpdate, Update
from llamon_agent.domain.message import Text
from llamon_agent.domain.task import PushConfig, Task, TaskState, TaskStatus
from llamon_agent.wire.operations import DeletePushConfig, GetPushConfig, ListPushConfigs, SetPushConfig
from llamon_agent.wire.v03.codec import V03

TASK = Task(
    id="t1",
    context_id="c1",
    owner="alice",
    agent="demo",
    status=TaskStatus(state=TaskState.WORKING, at_ms=0),
    seq=7,
    created_ms=1,
)

LEAST = {"messageId": "m1", "role": "user", "parts": [{"kind": "text", "text": "hi"}]}


def opened(method: str, params: Any) -> Any:
    return V03.methods[method](json.dumps(params).encode())


def refused(method: str, params: Any) -> str:
    with pytest.raises(BadParams) as caught:
        opened(method, params)
    return caught.value.public


SPECS_WEBHOOK = {
    "url": "https://client.example.com/webhook/a2a-notifications",
    "token": "secure-client-token-for-task-aaa",
    "authentication": {"schemes": ["Bearer"]},
}


SPECS_CONFIG = PushConfig(
    id="",
    url="https://client.example.com/webhook/a2a-notifications",
    version="0.3",
    token="secure-client-token-for-task-aaa",
    schemes=("Bearer",),
)


def test_the_specs_own_webhook_is_read_with_a_message_and_by_itself() -> None:
    """A2A 0.3 §9.5, §7.5; one without an id is left to us to name."""
    params = {"message": LEAST, "configuration": {"pushNotificationConfig": SPECS_WEBHOOK}}
    assert opened("message/send", params).push == SPECS_CONFIG
    params = {"taskId": "t1", "pushNotificationConfig": SPECS_WEBHOOK}
    assert opened("tasks/pushNotificationConfig/set", params) == SetPushConfig(task_id="t1", config=SPECS_CONFIG)


def test_a_push_configuration_is_asked_for_by_the_tasks_id_alone_or_by_both() -> None:
    """A2A 0.3 §7.6: TaskIdParams or GetTaskPushNotificationConfigParams."""
    method = "tasks/pushNotificationConfig/get"
    assert opened(method, {"id": "t1"}) == GetPushConfig(task_id="t1")
    assert opened(method, {"id": "t1", "pushNotificationConfigId": None}) == GetPushConfig(task_id="t1")
    assert opened(method, {"id": "t1", "pushNotificationConfigId": "p1", "metadata": {}}) == GetPushConfig(
        task_id="t1", config_id="p1"
    )


def test_push_configurations_are_listed_all_and_deleted_by_both_ids() -> None:
    assert opened("tasks/pushNotificationConfig/list", {"id": "t1"}) == ListPushConfigs(task_id="t1")
    params = {"id": "t1", "pushNotificationConfigId": "p1"}
    assert opened("tasks/pushNotificationConfig/delete", params) == DeletePushConfig(task_id="t1", config_id="p1")


@pytest.mark.parametrize(
    ("action", "params", "says"),
    [
        ("set", {"pushNotificationConfig": {"url": "u"}}, "taskId is required."),
        ("set", {"taskId": "t1"}, "pushNotificationConfig is required."),
        ("set", {"taskId": "t1", "pushNotificationConfig": {}}, "pushNotificationConfig.url is required."),
        ("set", {"taskId": "t1", "pushNotificationConfig": {"url": ""}}, "pushNotificationConfig.url is not valid."),
        (
            "set",
            {"taskId": "t1", "pushNotificationConfig": {"url": "u", "authentication": {"credentials": "c"}}},
            "pushNotificationConfig.authentication.schemes is required.",
        ),
        ("get", {}, "id is required."),
        ("list", {"id": ""}, "id is not valid."),
        ("delete", {"id": "t1"}, "pushNotificationConfigId is required."),
    ],
)
def test_the_error_for_a_bad_push_call_names_the_field(action: str, params: Any, says: str) -> None:
    assert refused(f"tasks/pushNotificationConfig/{action}", params) == says


def test_the_error_for_a_bad_webhook_of_a_message_names_its_place() -> None:
    params = {"message": LEAST, "configuration": {"pushNotificationConfig": {"id": "p1"}}}
    assert refused("message/send", params) == "configuration.pushNotificationConfig.url is required."


@pytest.mark.parametrize("update", [Snapshot(task=TASK), StatusUpdate(seq=7, status=TASK.status)])
def test_a_webhook_is_sent_the_task_at_every_status(update: Snapshot | Update) -> None:
    """What the official SDKs of 0.3 send."""
    assert V03.notification_type == "application/json"
    assert V03.write_notification(update, task=TASK) == V03.write_task(TASK)


def test_a_webhook_is_sent_nothing_of_a_piece_of_an_artifact() -> None:
    update = ArtifactUpdate(seq=6, artifact_id="a1", parts=(Text.of("x"),), append=True)
    assert V03.write_notification(update, task=TASK) is None


def test_push_results() -> None:
    """A2A 0.3 §7.5 to §7.8."""
    config = PushConfig(id="p1", url="u", version="0.3")
    written = {"taskId": "t1", "pushNotificationConfig": {"id": "p1", "url": "u"}}
    assert json.loads(V03.write_push_config("t1", config)) == written
    assert json.loads(V03.write_push_configs("t1", [config], next_token="")) == [written]
    assert V03.write_push_configs("t1", [], next_token="") == b"[]"
    assert V03.write_deleted() == b"null"
