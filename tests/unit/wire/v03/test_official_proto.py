"""Our protobuf wire of 0.3 beside the official SDK: its messages, and what its own clients make of them."""

import json
from typing import Any

import pytest
from a2a.compat.v0_3 import a2a_v0_3_pb2 as pb
from a2a.compat.v0_3 import conversions, proto_utils
from a2a.compat.v0_3 import types as sdk
from a2a.types import a2a_pb2 as pb10
from google.protobuf.json_format import MessageToDict, ParseDict

from llamon_agent.domain.events import ArtifactUpdate, Snapshot, StatusUpdate
from llamon_agent.domain.message import Data, Message, Raw, Role, Text, Url
from llamon_agent.domain.task import Artifact, PushConfig, Task, TaskState, TaskStatus
from llamon_agent.wire.operations import (
    CancelTask,
    DeletePushConfig,
    GetPushConfig,
    GetTask,
    ListPushConfigs,
    SendMessage,
    SetPushConfig,
    Subscribe,
)
from llamon_agent.wire.proto_json import ROLE_IN
from llamon_agent.wire.v03_proto.codec import V03_PROTO
from llamon_agent.wire.v03_proto.values import STATE_OUT

BYTES = b"\xfb\xff\x00"
PARTS = (
    Text(text="hi", metadata={"k": "v"}),
    Raw(data=BYTES, filename="a.bin", media_type="x/y"),
    Url(url="https://example.com/f", filename="f"),
    Data(data={"list": [1.5, "x", None, True]}),
    Data(data=[1.0]),
)
MESSAGE = Message(
    message_id="m1",
    role=Role.AGENT,
    parts=PARTS,
    context_id="c1",
    task_id="t1",
    metadata={"history": [{"role": "user", "parts": [{"kind": "text", "text": "hi"}]}]},
    extensions=("x",),
)
TASK = Task(
    id="t1",
    context_id="c1",
    owner="",
    agent="",
    status=TaskStatus(state=TaskState.AUTH_REQUIRED, at_ms=1_796_040_000_042, message=MESSAGE),
    seq=0,
    created_ms=0,
    history=(MESSAGE,),
    artifacts=(
        Artifact(artifact_id="a1", parts=PARTS, name="n", description="d", metadata={"k": 1.5}, extensions=("e",)),
        Artifact(artifact_id="a2", parts=PARTS[:1]),
    ),
    metadata={"k": {"deep": [True]}},
)
EVENTS = [
    Snapshot(task=TASK),
    StatusUpdate(seq=1, status=TASK.status),
    ArtifactUpdate(seq=2, artifact_id="a1", parts=PARTS, append=True),
    ArtifactUpdate(seq=3, artifact_id="a1", parts=PARTS, append=False, last=True, whole=TASK.artifacts[0]),
]
CONFIG = PushConfig(id="p1", url="u", version="0.3", token="t", schemes=("Bearer",), credentials="c")


def parsed(written: bytes, into: Any) -> Any:
    """The protobuf message of our bytes, in which its strict parser finds everything that we wrote."""
    message = ParseDict(json.loads(written), into, ignore_unknown_fields=False)
    assert MessageToDict(message) == json.loads(written)
    return message


@pytest.mark.parametrize("event", EVENTS, ids=["task", "status", "chunk", "whole"])
def test_the_proto_has_every_field_of_an_event(event: Any) -> None:
    parsed(V03_PROTO.write_event(event, task=TASK, final=True), pb.StreamResponse())


@pytest.mark.parametrize("state", TaskState)
def test_the_proto_has_every_field_of_a_task(state: TaskState) -> None:
    task = Task(
        id="t1",
        context_id="c1",
        owner="",
        agent="",
        status=TaskStatus(state=state, at_ms=1_796_040_000_042),
        seq=0,
        created_ms=0,
    )
    parsed(V03_PROTO.write_task(task), pb.Task())
    parsed(V03_PROTO.write_sent(TASK), pb.SendMessageResponse())


def test_the_proto_has_every_field_of_a_message_that_answers() -> None:
    assert parsed(V03_PROTO.write_message(MESSAGE), pb.SendMessageResponse()).WhichOneof("payload") == "msg"
    assert parsed(V03_PROTO.write_message(MESSAGE), pb.StreamResponse()).WhichOneof("payload") == "msg"


def test_the_proto_has_every_field_of_a_push_configuration() -> None:
    parsed(V03_PROTO.write_push_config("t1", CONFIG), pb.TaskPushNotificationConfig())
    written = V03_PROTO.write_push_configs("t1", [CONFIG], next_token="p1")
    parsed(written, pb.ListTaskPushNotificationConfigResponse())


def test_enum_names_and_numbers_are_the_protos() -> None:
    assert {name for name, number in pb.TaskState.items() if number} == set(STATE_OUT.values())
    roles = {number: name for name, number in pb.Role.items() if number}
    assert {number: ROLE_IN[name] for number, name in roles.items()} == {number: ROLE_IN[number] for number in roles}


def test_the_methods_are_the_services() -> None:
    service = pb.DESCRIPTOR.services_by_name["A2AService"]
    assert set(V03_PROTO.methods) == {method.name for method in service.methods}


# What the SDK's clients make of it, all the way to the 1.0 objects that its users see.


def test_the_client_reads_every_part_byte_for_byte() -> None:
    response = parsed(V03_PROTO.write_sent(TASK), pb.SendMessageResponse())
    task = conversions.to_core_task(proto_utils.FromProto.task(response.task))
    text, raw, url, data, wrapped = task.artifacts[0].parts
    assert (text.text, MessageToDict(text.metadata)) == ("hi", {"k": "v"})
    assert (raw.raw, raw.filename, raw.media_type) == (BYTES, "a.bin", "x/y")
    assert (url.url, url.filename) == ("https://example.com/f", "f")
    assert MessageToDict(data.data) == {"list": [1.5, "x", None, True]}
    assert MessageToDict(wrapped)["data"] == [1.0]
    assert [artifact.artifact_id for artifact in task.artifacts] == ["a1", "a2"]
    assert task.status.state == pb10.TaskState.TASK_STATE_AUTH_REQUIRED
    assert task.status.timestamp.ToJsonString() == "2026-11-30T12:00:00.042Z"


@pytest.mark.parametrize("event", EVENTS, ids=["task", "status", "chunk", "whole"])
def test_the_clients_models_take_every_event(event: Any) -> None:
    response = parsed(V03_PROTO.write_event(event, task=TASK, final=True), pb.StreamResponse())
    read = proto_utils.FromProto.stream_response(response)
    assert isinstance(read, sdk.Task | sdk.TaskStatusUpdateEvent | sdk.TaskArtifactUpdateEvent)


def core_message() -> pb10.Message:
    """A message as a user of the SDK makes it."""
    return pb10.Message(
        message_id="m1",
        role=pb10.Role.ROLE_USER,
        parts=[
            pb10.Part(text="hi"),
            pb10.Part(raw=BYTES, filename="a.bin", media_type="x/y"),
            pb10.Part(url="u"),
            ParseDict({"data": {"snake_key": 1.5}}, pb10.Part()),
            ParseDict({"data": [True]}, pb10.Part()),
        ],
        context_id="c1",
    )


def request_of(core: pb10.SendMessageRequest) -> pb.SendMessageRequest:
    """What the SDK's client sends for it where it speaks 0.3."""
    params = conversions.to_compat_send_message_request(core, request_id=0).params
    return pb.SendMessageRequest(
        request=proto_utils.ToProto.message(params.message),
        configuration=proto_utils.ToProto.message_send_configuration(params.configuration),
        metadata=proto_utils.ToProto.metadata(params.metadata),
    )


@pytest.mark.parametrize("proto_names", [False, True])
@pytest.mark.parametrize("return_immediately", [False, True])
def test_what_the_client_sends_is_read_byte_for_byte(proto_names: bool, return_immediately: bool) -> None:
    core = pb10.SendMessageRequest(
        message=core_message(),
        configuration=pb10.SendMessageConfiguration(return_immediately=return_immediately, history_length=2),
    )
    body = MessageToDict(request_of(core), preserving_proto_field_name=proto_names)
    call = V03_PROTO.methods["SendMessage"](json.dumps(body).encode())
    assert isinstance(call, SendMessage)
    assert (call.blocking, call.history_length) == (not return_immediately, 2)
    parts = tuple(part for part in call.message.parts if isinstance(part, Raw | Data))
    assert [part.data for part in parts] == [BYTES, {"snake_key": 1.5}, [True]]
    assert call.message.parts[0] in (Text.of("hi"), Text(text="hi", metadata={}))
    assert call.message.context_id == "c1"


REQUESTS = [
    ("GetTask", pb.GetTaskRequest(name="tasks/t1"), GetTask(task_id="t1")),
    ("GetTask", pb.GetTaskRequest(name="tasks/t1", history_length=2), GetTask(task_id="t1", history_length=2)),
    ("CancelTask", pb.CancelTaskRequest(name="tasks/t1"), CancelTask(task_id="t1", again_ok=False)),
    ("TaskSubscription", pb.TaskSubscriptionRequest(name="tasks/t1"), Subscribe(task_id="t1", ended_ok=True)),
    (
        "CreateTaskPushNotificationConfig",
        pb.CreateTaskPushNotificationConfigRequest(
            parent="tasks/t1",
            config_id="p1",
            config=proto_utils.ToProto.task_push_notification_config(
                sdk.TaskPushNotificationConfig(
                    task_id="t1",
                    push_notification_config=sdk.PushNotificationConfig(
                        id="p1",
                        url="u",
                        token="t",
                        authentication=sdk.PushNotificationAuthenticationInfo(schemes=["Bearer"], credentials="c"),
                    ),
                )
            ),
        ),
        SetPushConfig(task_id="t1", config=CONFIG),
    ),
    (
        "GetTaskPushNotificationConfig",
        pb.GetTaskPushNotificationConfigRequest(name="tasks/t1/pushNotificationConfigs/p1"),
        GetPushConfig(task_id="t1", config_id="p1"),
    ),
    (
        "ListTaskPushNotificationConfig",
        pb.ListTaskPushNotificationConfigRequest(parent="tasks/t1", page_size=2, page_token="p1"),
        ListPushConfigs(task_id="t1", page_size=2, page_token="p1"),
    ),
    (
        "DeleteTaskPushNotificationConfig",
        pb.DeleteTaskPushNotificationConfigRequest(name="tasks/t1/pushNotificationConfigs/p1"),
        DeletePushConfig(task_id="t1", config_id="p1"),
    ),
]


@pytest.mark.parametrize("proto_names", [False, True])
@pytest.mark.parametrize(("method", "request_message", "operation"), REQUESTS)
def test_the_requests_of_the_clients_are_read(
    method: str, request_message: Any, operation: Any, proto_names: bool
) -> None:
    body = MessageToDict(request_message, preserving_proto_field_name=proto_names)
    assert V03_PROTO.methods[method](json.dumps(body).encode()) == operation
