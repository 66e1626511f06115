"""Our 0.x wire beside the official SDK's 0.3 models, which ignore unknown keys: what they read is compared whole."""

import json
from typing import Any

import pytest
from a2a.compat.v0_3 import types as sdk
from a2a.compat.v0_3.conversions import to_compat_part, to_core_part
from a2a.types import a2a_pb2 as pb

from llamon_agent.domain.events import ArtifactUpdate, Snapshot, StatusUpdate
from llamon_agent.domain.message import Data, Message, Raw, Role, Text, Url
from llamon_agent.domain.task import Artifact, PushConfig, Task, TaskState, TaskStatus
from llamon_agent.wire.operations import DeletePushConfig, GetPushConfig, ListPushConfigs, SendMessage, SetPushConfig
from llamon_agent.wire.v03.codec import V03

PARTS = (
    Text(text="hi", metadata={"k": "v"}),
    Raw(data=b"\xfb\xff\x00", filename="a.bin", media_type="x/y"),
    Url(url="https://example.com/f"),
    Data(data={"list": [1.5, "x", None, True]}),
    Data(data=[1.0]),
)
MESSAGE = Message(
    message_id="m1",
    role=Role.AGENT,
    parts=PARTS,
    context_id="c1",
    task_id="t1",
    metadata={"k": 1},
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
    created_ms=0,
    history=(MESSAGE,),
    artifacts=(Artifact(artifact_id="a1", parts=PARTS, name="n", description="d", metadata={"k": 1.5}),),
    metadata={"k": {"deep": [True]}},
)


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        (Snapshot(task=TASK), sdk.Task),
        (StatusUpdate(seq=1, status=TASK.status), sdk.TaskStatusUpdateEvent),
        (ArtifactUpdate(seq=2, artifact_id="a1", parts=PARTS, append=True), sdk.TaskArtifactUpdateEvent),
    ],
    ids=["task", "status", "chunk"],
)
def test_the_models_read_every_event_as_we_wrote_it(event: Any, kind: type) -> None:
    result = json.loads(V03.write_event(event, task=TASK, final=True))
    response = {"jsonrpc": "2.0", "id": 1, "result": result}
    read = sdk.SendStreamingMessageSuccessResponse.model_validate(response).result
    assert type(read) is kind
    assert read.model_dump(mode="json", exclude_none=True) == without_nulls(result)


def without_nulls(value: Any) -> Any:
    """What pydantic's exclude_none leaves: it goes into free data as well."""
    if isinstance(value, dict):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [without_nulls(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("exclude_none", [True, False])
def test_what_the_models_send_is_read(exclude_none: bool) -> None:
    params = sdk.MessageSendParams(
        message=sdk.Message(
            message_id="m1",
            role=sdk.Role.user,
            parts=[
                sdk.Part(root=sdk.TextPart(text="hi")),
                sdk.Part(root=sdk.FilePart(file=sdk.FileWithBytes(bytes="aGk=", name="n", mime_type="x/y"))),
                sdk.Part(root=sdk.FilePart(file=sdk.FileWithUri(uri="u"))),
                sdk.Part(root=sdk.DataPart(data={"k": 1})),
            ],
            context_id="c1",
        ),
        configuration=sdk.MessageSendConfiguration(blocking=False, history_length=2),
    )
    body = json.dumps(params.model_dump(mode="json", exclude_none=exclude_none)).encode()
    assert V03.methods["message/send"](body) == SendMessage(
        message=Message(
            message_id="m1",
            role=Role.USER,
            parts=(
                Text.of("hi"),
                Raw(data=b"hi", filename="n", media_type="x/y"),
                Url(url="u"),
                Data(data={"k": 1}),
            ),
            context_id="c1",
        ),
        blocking=False,
        history_length=2,
    )


CONFIG = PushConfig(id="p1", url="u", version="0.3", token="t", schemes=("Bearer",), credentials="c")
SDK_CONFIG = sdk.PushNotificationConfig(
    id="p1",
    url="u",
    token="t",
    authentication=sdk.PushNotificationAuthenticationInfo(schemes=["Bearer"], credentials="c"),
)


@pytest.mark.parametrize("exclude_none", [True, False])
@pytest.mark.parametrize(
    ("action", "params", "operation"),
    [
        (
            "set",
            sdk.TaskPushNotificationConfig(task_id="t1", push_notification_config=SDK_CONFIG),
            SetPushConfig(task_id="t1", config=CONFIG),
        ),
        ("get", sdk.TaskIdParams(id="t1"), GetPushConfig(task_id="t1")),
        (
            "get",
            sdk.GetTaskPushNotificationConfigParams(id="t1", push_notification_config_id="p1"),
            GetPushConfig(task_id="t1", config_id="p1"),
        ),
        ("list", sdk.ListTaskPushNotificationConfigParams(id="t1"), ListPushConfigs(task_id="t1")),
        (
            "delete",
            sdk.DeleteTaskPushNotificationConfigParams(id="t1", push_notification_config_id="p1"),
            DeletePushConfig(task_id="t1", config_id="p1"),
        ),
    ],
)
def test_what_the_models_ask_of_webhooks_is_read(action: str, params: Any, operation: Any, exclude_none: bool) -> None:
    body = json.dumps(params.model_dump(mode="json", exclude_none=exclude_none)).encode()
    assert V03.methods[f"tasks/pushNotificationConfig/{action}"](body) == operation


def test_the_models_read_webhooks_as_we_wrote_them() -> None:
    result = json.loads(V03.write_push_config("t1", CONFIG))
    listed = json.loads(V03.write_push_configs("t1", [CONFIG], next_token=""))
    read = sdk.SetTaskPushNotificationConfigSuccessResponse.model_validate({"id": 1, "result": result}).result
    many = sdk.ListTaskPushNotificationConfigSuccessResponse.model_validate({"id": 1, "result": listed}).result
    assert read.model_dump(mode="json", exclude_none=True) == result
    assert [one.model_dump(mode="json", exclude_none=True) for one in many] == listed
    nothing = json.loads(V03.write_deleted())
    deleted = sdk.DeleteTaskPushNotificationConfigSuccessResponse.model_validate({"id": 1, "result": nothing})
    assert deleted.result is None


def test_the_models_read_a_message_that_answers_and_the_task_of_a_webhook() -> None:
    message = json.loads(V03.write_message(MESSAGE))
    told = json.loads(V03.write_notification(Snapshot(task=TASK), task=TASK) or b"")
    assert sdk.Message.model_validate(message).model_dump(mode="json", exclude_none=True) == without_nulls(message)
    assert sdk.Task.model_validate(told).model_dump(mode="json", exclude_none=True) == without_nulls(told)


@pytest.mark.parametrize("value", [1.5, "x", True])
def test_a_value_that_is_no_object_is_wrapped_as_the_sdk_wraps_it(value: Any) -> None:
    part = pb.Part()
    part.data.CopyFrom(to_core_part(ours(value)).data)
    assert to_compat_part(part).model_dump(exclude_none=True) == ours(value).model_dump(exclude_none=True)


def ours(value: Any) -> sdk.Part:
    """The SDK's model of the part that we write for a value."""
    update = ArtifactUpdate(seq=1, artifact_id="a1", parts=(Data(data=value),), append=False)
    written = json.loads(V03.write_event(update, task=TASK, final=False))
    return sdk.Part.model_validate(written["artifact"]["parts"][0])
