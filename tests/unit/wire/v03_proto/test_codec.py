import json
from typing import Any

import pytest

from llamon_agent.domain.errors import BadParams, UnsupportedOperation
from llamon_agent.domain.events import ArtifactUpdate, Snapshot, StatusUpdate
from llamon_agent.domain.message import Data, Message, Role, Text
from llamon_agent.domain.task import Artifact, PushConfig, Task, TaskPage, TaskState, TaskStatus
from llamon_agent.wire.operations import (
    CancelTask,
    DeletePushConfig,
    Dialect,
    GetExtendedCard,
    GetPushConfig,
    GetTask,
    ListPushConfigs,
    SendMessage,
    SetPushConfig,
    Subscribe,
)
from llamon_agent.wire.v03.codec import V03
from llamon_agent.wire.v03_proto.codec import V03_PROTO

AT_MS = 1_796_040_000_042
LEAST = {"messageId": "m1", "role": "ROLE_USER", "content": [{"text": "hi"}]}
MESSAGE = Message(message_id="m1", role=Role.USER, parts=(Text.of("hi"),))
TASK = Task(
    id="t1",
    context_id="c1",
    owner="alice",
    agent="demo",
    status=TaskStatus(state=TaskState.CANCELED, at_ms=AT_MS),
    seq=7,
    created_ms=1,
    artifacts=(Artifact(artifact_id="a1", parts=(Text.of("hello"),)),),
)
TASK_JSON = {
    "id": "t1",
    "contextId": "c1",
    "status": {"state": "TASK_STATE_CANCELLED", "timestamp": "2026-11-30T12:00:00.042Z"},
    "artifacts": [{"artifactId": "a1", "parts": [{"text": "hello"}]}],
}


def opened(method: str, params: Any) -> Any:
    return V03_PROTO.methods[method](json.dumps(params).encode())


def refused(method: str, params: Any) -> BadParams:
    with pytest.raises(BadParams) as caught:
        opened(method, params)
    return caught.value


# SendMessage and SendStreamingMessage.


def test_the_least_that_can_be_sent_is_the_message() -> None:
    assert opened("SendMessage", {"message": LEAST}) == SendMessage(message=MESSAGE)
    assert opened("SendStreamingMessage", {"message": LEAST}) == SendMessage(message=MESSAGE, stream=True)


def test_everything_that_a_send_can_say_is_read() -> None:
    params = {
        "message": LEAST,
        "configuration": {
            "acceptedOutputModes": ["text/plain"],
            "pushNotification": {"id": "p1", "url": "https://example.com/hook"},
            "historyLength": 3,
            "blocking": True,
        },
        "metadata": {"trace": "1"},
    }
    assert opened("SendMessage", params) == SendMessage(
        message=MESSAGE,
        metadata={"trace": "1"},
        history_length=3,
        accepted_output_modes=("text/plain",),
        push=PushConfig(id="p1", url="https://example.com/hook", version="0.3"),
    )


def test_the_protos_own_names_are_read_as_well() -> None:
    """What a2a-sdk 1.3.0 sends where it speaks 0.3 over HTTP+JSON."""
    params = {
        "request": {
            "message_id": "m1",
            "context_id": "c1",
            "role": "ROLE_USER",
            "content": [{"data": {"data": {"snake_key": 1}}, "metadata": {"is_user_input": True}}],
        },
        "configuration": {"accepted_output_modes": ["text/plain"], "history_length": 3, "blocking": True},
        "metadata": {"some_key": 1},
    }
    part = Data(data={"snake_key": 1}, metadata={"is_user_input": True})
    assert opened("SendMessage", params) == SendMessage(
        message=Message(message_id="m1", role=Role.USER, parts=(part,), context_id="c1"),
        metadata={"some_key": 1},
        history_length=3,
        accepted_output_modes=("text/plain",),
    )


@pytest.mark.parametrize(
    ("params", "waits"),
    [
        ({}, True),
        ({"configuration": None}, True),
        ({"configuration": {"blocking": True}}, True),
        ({"configuration": {"blocking": False}}, False),
        ({"configuration": {"blocking": None}}, False),
        ({"configuration": {}}, False),
    ],
)
def test_a_send_that_configures_nothing_waits_and_one_that_configures_says_so(params: Any, waits: bool) -> None:
    """A false bool is an absent one, so the configuration of a client that will not wait has none."""
    assert opened("SendMessage", {"message": LEAST} | params).blocking is waits


@pytest.mark.parametrize("length", [0, "0", None])
def test_a_history_length_of_zero_is_no_limit(length: Any) -> None:
    """`a2a.proto` of 0.3: "if 0, the history will be unlimited"."""
    params = {"message": LEAST, "configuration": {"historyLength": length}}
    assert opened("SendMessage", params).history_length is None
    assert opened("GetTask", {"name": "tasks/t1", "historyLength": length}) == GetTask(task_id="t1")


@pytest.mark.parametrize(
    ("params", "field", "says"),
    [
        ({}, "message", "message is required."),
        ({"message": None}, "message", "message is required."),
        ({"message": LEAST | {"messageId": ""}}, "message.messageId", "message.messageId is required."),
        (
            {"message": LEAST | {"content": [{"text": 7}]}},
            "message.content[0].text",
            "message.content[0].text is not valid.",
        ),
        (
            {"message": LEAST, "configuration": {"historyLength": -1}},
            "configuration.historyLength",
            "configuration.historyLength is not valid.",
        ),
        (
            {"message": LEAST, "configuration": {"pushNotification": {}}},
            "configuration.pushNotification.url",
            "configuration.pushNotification.url is required.",
        ),
        ([], None, "params must be an object."),
    ],
)
def test_the_error_for_a_bad_send_names_the_field(params: Any, field: str | None, says: str) -> None:
    error = refused("SendMessage", params)
    assert (error.field, error.public) == (field, says)


# The other methods.


def test_a_task_goes_by_its_name() -> None:
    assert opened("GetTask", {"name": "tasks/t1", "historyLength": 2}) == GetTask(task_id="t1", history_length=2)
    assert opened("GetTask", {"name": "tasks/t1", "history_length": 2}) == GetTask(task_id="t1", history_length=2)


def test_canceling_again_is_an_error_and_a_finished_task_is_shown() -> None:
    """`a2a.proto` of 0.3: "If the task is complete the stream will return the completed task"."""
    assert opened("CancelTask", {"name": "tasks/t1"}) == CancelTask(task_id="t1", again_ok=False)
    assert opened("TaskSubscription", {"name": "tasks/t1"}) == Subscribe(task_id="t1", ended_ok=True)


@pytest.mark.parametrize("method", ["GetTask", "CancelTask", "TaskSubscription"])
@pytest.mark.parametrize("name", [None, "", "t1", "tasks/", "tasks/t1/", "tasks/t1/pushNotificationConfigs/p1"])
def test_another_name_is_no_tasks(method: str, name: Any) -> None:
    error = refused(method, {"name": name})
    assert error.field == "name"
    assert error.public.startswith("name must name a resource")


def test_what_a_caller_named_is_not_echoed() -> None:
    assert "secret" not in refused("GetTask", {"name": "secret"}).public


CONFIG = PushConfig(id="p1", url="u", version="0.3")
WEBHOOK = {"id": "p1", "url": "u"}


@pytest.mark.parametrize(
    "params",
    [
        # a2a-sdk for Python, 0.3.26 and 1.3.0.
        {
            "parent": "tasks/t1",
            "configId": "p1",
            "config": {"name": "tasks/t1/pushNotificationConfigs/p1", "pushNotificationConfig": WEBHOOK},
        },
        {
            "parent": "tasks/t1",
            "config_id": "p1",
            "config": {"name": "tasks/t1/pushNotificationConfigs/p1", "push_notification_config": WEBHOOK},
        },
        # The proto's own annotation.
        {"parent": "tasks/t1/pushNotificationConfigs", "config": {"pushNotificationConfig": WEBHOOK}},
        # The id in one place only.
        {"parent": "tasks/t1", "configId": "p1", "config": {"pushNotificationConfig": {"url": "u"}}},
        # a2a-js over HTTP+JSON, whose body is the config alone; the path tells the parent.
        {"parent": "tasks/t1", "name": "tasks/t1/pushNotificationConfigs/p1", "pushNotificationConfig": WEBHOOK},
        # The specification's prose on HTTP+JSON (§7.5).
        {"parent": "tasks/t1", "config": {"taskId": "t1", "pushNotificationConfig": WEBHOOK}},
    ],
    ids=["SDK", "SDK, proto names", "annotation", "configId", "a2a-js", "prose"],
)
def test_a_push_configuration_is_read_however_it_is_sent(params: Any) -> None:
    assert opened("CreateTaskPushNotificationConfig", params) == SetPushConfig(task_id="t1", config=CONFIG)


def test_a_push_configuration_without_an_id_is_left_to_us_to_name() -> None:
    """The Python SDK writes its missing id into the name, so the name tells nothing."""
    config = {"name": "tasks/t1/pushNotificationConfigs/None", "pushNotificationConfig": {"url": "u"}}
    call = opened("CreateTaskPushNotificationConfig", {"parent": "tasks/t1", "config": config})
    assert call.config.id == ""


def test_a_push_configuration_goes_by_its_name() -> None:
    params = {"name": "tasks/t1/pushNotificationConfigs/p1"}
    assert opened("GetTaskPushNotificationConfig", params) == GetPushConfig(task_id="t1", config_id="p1")
    assert opened("DeleteTaskPushNotificationConfig", params) == DeletePushConfig(task_id="t1", config_id="p1")


def test_the_id_of_a_push_configuration_may_look_like_a_path() -> None:
    """One that was set over JSON-RPC is any string."""
    call = opened("GetTaskPushNotificationConfig", {"name": "tasks/t1/pushNotificationConfigs/a/b\n"})
    assert call == GetPushConfig(task_id="t1", config_id="a/b\n")


def test_push_configurations_are_listed_by_their_parent() -> None:
    method = "ListTaskPushNotificationConfig"
    assert opened(method, {"parent": "tasks/t1"}) == ListPushConfigs(task_id="t1")
    assert opened(method, {"parent": "tasks/t1", "pageSize": 0, "pageToken": ""}) == ListPushConfigs(task_id="t1")
    assert opened(method, {"parent": "tasks/t1", "page_size": 2, "page_token": "p1"}) == ListPushConfigs(
        task_id="t1", page_size=2, page_token="p1"
    )


@pytest.mark.parametrize(
    ("method", "params", "field"),
    [
        ("CreateTaskPushNotificationConfig", {"config": {"pushNotificationConfig": WEBHOOK}}, "parent"),
        ("CreateTaskPushNotificationConfig", {"parent": "tasks/t1"}, "config.pushNotificationConfig"),
        ("CreateTaskPushNotificationConfig", {"parent": "tasks/t1", "config": {}}, "config.pushNotificationConfig"),
        (
            "CreateTaskPushNotificationConfig",
            {"parent": "tasks/t1", "config": {"pushNotificationConfig": {"id": "p1"}}},
            "config.pushNotificationConfig.url",
        ),
        ("GetTaskPushNotificationConfig", {"name": "tasks/t1"}, "name"),
        ("GetTaskPushNotificationConfig", {"name": "tasks/t1/pushNotificationConfigs/"}, "name"),
        ("DeleteTaskPushNotificationConfig", {}, "name"),
        ("ListTaskPushNotificationConfig", {"parent": "t1"}, "parent"),
        ("ListTaskPushNotificationConfig", {"parent": "tasks/t1", "pageSize": -1}, "pageSize"),
    ],
)
def test_the_error_for_a_bad_push_call_names_the_field(method: str, params: Any, field: str) -> None:
    assert refused(method, params).field == field


@pytest.mark.parametrize("params", [b"", b"{}", b"nonsense"])
def test_the_extended_card_needs_no_params(params: bytes) -> None:
    assert V03_PROTO.methods["GetAgentCard"](params) == GetExtendedCard()


# What is written.


def test_a_task_is_bare_from_get_and_wrapped_from_send() -> None:
    assert json.loads(V03_PROTO.write_task(TASK)) == TASK_JSON
    assert json.loads(V03_PROTO.write_sent(TASK)) == {"task": TASK_JSON}


def test_a_message_answers_a_send_and_a_stream_alike() -> None:
    assert json.loads(V03_PROTO.write_message(MESSAGE)) == {"message": LEAST}


def test_an_event_marks_the_end() -> None:
    update = StatusUpdate(seq=7, status=TASK.status)
    ends, goes_on = (json.loads(V03_PROTO.write_event(update, task=TASK, final=final)) for final in (True, False))
    assert ends["statusUpdate"]["final"] is True
    assert "final" not in goes_on["statusUpdate"]


def test_a_webhook_is_sent_what_one_of_0_3s_json_is_sent() -> None:
    chunk = ArtifactUpdate(seq=6, artifact_id="a1", parts=(Text.of("x"),), append=True)
    assert V03_PROTO.notification_type == V03.notification_type
    assert V03_PROTO.write_notification(Snapshot(task=TASK), task=TASK) == V03.write_task(TASK)
    assert V03_PROTO.write_notification(chunk, task=TASK) is None


def test_push_results() -> None:
    written = {"name": "tasks/t1/pushNotificationConfigs/p1", "pushNotificationConfig": WEBHOOK}
    assert json.loads(V03_PROTO.write_push_config("t1", CONFIG)) == written
    assert json.loads(V03_PROTO.write_push_configs("t1", [CONFIG], next_token="p1")) == {
        "configs": [written],
        "nextPageToken": "p1",
    }
    assert json.loads(V03_PROTO.write_push_configs("t1", [], next_token="")) == {"configs": [], "nextPageToken": ""}
    assert V03_PROTO.write_deleted() == b"{}"


def test_there_is_no_list_of_tasks() -> None:
    page = TaskPage(tasks=(), total=0, more=False)
    with pytest.raises(UnsupportedOperation):
        V03_PROTO.write_page(page, next_token="", page_size=50, include_artifacts=False)


def test_an_error_has_no_data() -> None:
    dialect: Dialect = V03_PROTO
    assert dialect.write_fault_data("TASK_NOT_FOUND", "The task was not found.", []) is None
