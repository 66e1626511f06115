"""Our 1.0 wire beside the official SDK's own protobuf messages, in both directions."""

import json
from typing import Any

import pytest
from a2a.types import a2a_pb2 as pb
from google.protobuf.json_format import MessageToDict, ParseDict

from llamon_agent.domain.events import ArtifactUpdate, Snapshot, StatusUpdate
from llamon_agent.domain.message import Data, Message, Raw, Role, Text, Url
from llamon_agent.domain.task import Artifact, PushConfig, Task, TaskPage, TaskState, TaskStatus
from llamon_agent.wire.operations import (
    DeletePushConfig,
    GetExtendedCard,
    GetPushConfig,
    ListPushConfigs,
    ListTasks,
    SendMessage,
    SetPushConfig,
)
from llamon_agent.wire.proto_json import ROLE_IN
from llamon_agent.wire.v10.codec import V10, Client10
from llamon_agent.wire.v10.values import STATE_IN

PARTS = (
    Text(text="hi", metadata={"k": "v"}),
    Raw(data=b"\xfb\xff\x00", filename="a.bin", media_type="x/y"),
    Url(url="https://example.com/f"),
    Data(data={"list": [1.5, "x", None, True]}),
    Data(data=None),
    Data(data=[1.0]),
)
MESSAGE = Message(
    message_id="m1",
    role=Role.USER,
    parts=PARTS,
    context_id="c1",
    task_id="t1",
    metadata={"history": [{"role": "user", "parts": [{"text": "hi"}]}]},
    extensions=("x",),
    reference_task_ids=("t0",),
)
TASK = Task(
    id="t1",
    context_id="c1",
    owner="",
    agent="",
    status=TaskStatus(state=TaskState.INPUT_REQUIRED, at_ms=1_796_040_000_042, message=MESSAGE),
    seq=0,
    created_ms=1_796_040_000_042,
    history=(MESSAGE,),
    artifacts=(Artifact(artifact_id="a1", parts=PARTS, name="n", description="d", metadata={"k": 1.5}),),
    metadata={"k": {"deep": [True]}},
)


def parsed(written: bytes, into: Any) -> dict[str, Any]:
    """What the SDK's strict parser makes of our bytes."""
    read: dict[str, Any] = MessageToDict(ParseDict(json.loads(written), into, ignore_unknown_fields=False))
    return read


@pytest.mark.parametrize("preserving_proto_field_name", [False, True])
def test_what_the_sdk_sends_is_read(preserving_proto_field_name: bool) -> None:
    request = pb.SendMessageRequest()
    sent = json.loads(Client10().write_send(MESSAGE, blocking=False))
    sent["configuration"]["historyLength"] = 0
    ParseDict({**sent, "metadata": {"a_b": 1.5}}, request)
    body = json.dumps(MessageToDict(request, preserving_proto_field_name=preserving_proto_field_name)).encode()
    assert V10.methods["SendMessage"](body) == SendMessage(
        message=MESSAGE, metadata={"a_b": 1.5}, blocking=False, history_length=0
    )


def test_what_the_sdk_asks_of_a_list_is_read() -> None:
    request = pb.ListTasksRequest(context_id="c1", status=pb.TaskState.TASK_STATE_FAILED, page_size=2)
    request.status_timestamp_after.FromMilliseconds(1_796_040_000_042)
    body = json.dumps(MessageToDict(request)).encode()
    assert V10.methods["ListTasks"](body) == ListTasks(
        context_id="c1", state=TaskState.FAILED, page_size=2, changed_since_ms=1_796_040_000_042
    )


def test_the_sdk_reads_a_task_as_we_wrote_it() -> None:
    assert parsed(V10.write_task(TASK), pb.Task()) == json.loads(V10.write_task(TASK))
    assert parsed(V10.write_sent(TASK), pb.SendMessageResponse()) == json.loads(V10.write_sent(TASK))


@pytest.mark.parametrize(
    "event",
    [
        Snapshot(task=TASK),
        StatusUpdate(seq=1, status=TASK.status),
        ArtifactUpdate(seq=2, artifact_id="a1", parts=PARTS, append=True),
        ArtifactUpdate(seq=3, artifact_id="a1", parts=PARTS, append=False, last=True, whole=TASK.artifacts[0]),
    ],
    ids=["task", "status", "chunk", "whole"],
)
def test_the_sdk_reads_every_event_as_we_wrote_it(event: Snapshot | StatusUpdate | ArtifactUpdate) -> None:
    written = V10.write_event(event, task=TASK, final=True)
    assert parsed(written, pb.StreamResponse()) == json.loads(written)


def test_the_sdk_reads_a_page() -> None:
    page = TaskPage(tasks=(TASK,), total=2, more=True)
    written = V10.write_page(page, next_token="n", page_size=1, include_artifacts=True)
    assert parsed(written, pb.ListTasksResponse()) == json.loads(written)


CONFIG = PushConfig(id="p1", url="u", version="1.0", token="t", schemes=("Bearer",), credentials="c")
SDK_CONFIG = pb.TaskPushNotificationConfig(
    tenant="acme",
    id="p1",
    task_id="t1",
    url="u",
    token="t",
    authentication=pb.AuthenticationInfo(scheme="Bearer", credentials="c"),
)


@pytest.mark.parametrize("preserving_proto_field_name", [False, True])
@pytest.mark.parametrize(
    ("method", "request_message", "operation"),
    [
        ("CreateTaskPushNotificationConfig", SDK_CONFIG, SetPushConfig(task_id="t1", config=CONFIG, tenant="acme")),
        (
            "SendMessage",
            pb.SendMessageRequest(
                message=pb.Message(message_id="m1", role=pb.Role.ROLE_USER, parts=[pb.Part(text="hi")]),
                configuration=pb.SendMessageConfiguration(task_push_notification_config=SDK_CONFIG),
            ),
            SendMessage(message=Message(message_id="m1", role=Role.USER, parts=(Text.of("hi"),)), push=CONFIG),
        ),
        (
            "GetTaskPushNotificationConfig",
            pb.GetTaskPushNotificationConfigRequest(task_id="t1", id="p1"),
            GetPushConfig(task_id="t1", config_id="p1"),
        ),
        (
            "ListTaskPushNotificationConfigs",
            pb.ListTaskPushNotificationConfigsRequest(task_id="t1", page_size=2, page_token="p1"),
            ListPushConfigs(task_id="t1", page_size=2, page_token="p1"),
        ),
        (
            "DeleteTaskPushNotificationConfig",
            pb.DeleteTaskPushNotificationConfigRequest(task_id="t1", id="p1"),
            DeletePushConfig(task_id="t1", config_id="p1"),
        ),
        ("GetExtendedAgentCard", pb.GetExtendedAgentCardRequest(tenant="acme"), GetExtendedCard(tenant="acme")),
    ],
)
def test_the_sdks_requests_on_webhooks_are_read(
    method: str, request_message: Any, operation: Any, preserving_proto_field_name: bool
) -> None:
    body = MessageToDict(request_message, preserving_proto_field_name=preserving_proto_field_name)
    assert V10.methods[method](json.dumps(body).encode()) == operation


def test_the_sdk_reads_webhooks() -> None:
    written = V10.write_push_config("t1", CONFIG)
    listed = V10.write_push_configs("t1", [CONFIG], next_token="p1")
    assert parsed(written, pb.TaskPushNotificationConfig()) == json.loads(written)
    assert parsed(listed, pb.ListTaskPushNotificationConfigsResponse()) == json.loads(listed)


def test_the_sdk_reads_a_message_that_answers() -> None:
    written = V10.write_message(MESSAGE)
    assert parsed(written, pb.SendMessageResponse()) == parsed(written, pb.StreamResponse()) == json.loads(written)


def test_our_client_reads_what_the_sdk_writes() -> None:
    task = ParseDict(json.loads(V10.write_task(TASK)), pb.Task())
    assert Client10().read_task(json.dumps(MessageToDict(task)).encode()) == TASK
    sent = Client10().read_event(json.dumps(MessageToDict(pb.SendMessageResponse(task=task))).encode())
    assert sent.event == Snapshot(task=TASK)
    chunk = pb.StreamResponse(
        artifact_update=pb.TaskArtifactUpdateEvent(
            task_id="t1",
            context_id="c1",
            artifact=pb.Artifact(artifact_id="a1", parts=[pb.Part(text="x")]),
            append=True,
        )
    )
    heard = Client10().read_event(json.dumps(MessageToDict(chunk)).encode(), seq=4)
    assert heard.event == ArtifactUpdate(seq=4, artifact_id="a1", parts=(Text.of("x"),), append=True)


def test_enum_numbers_are_the_protos() -> None:
    states = {number: name for name, number in pb.TaskState.items() if number}
    roles = {number: name for name, number in pb.Role.items() if number}
    assert {number: STATE_IN[name] for number, name in states.items()} == {n: STATE_IN[n] for n in states}
    assert {number: ROLE_IN[name] for number, name in roles.items()} == {n: ROLE_IN[n] for n in roles}
