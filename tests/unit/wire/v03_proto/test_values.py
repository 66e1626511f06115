import json
from base64 import b64encode
from typing import Any

import msgspec
import pytest

from llamon_agent.domain.errors import BadParams
from llamon_agent.domain.events import ArtifactUpdate, Snapshot, StatusUpdate, Update
from llamon_agent.domain.message import Data, Message, Part, Raw, Role, Text, Url
from llamon_agent.domain.task import Artifact, PushConfig, Task, TaskState, TaskStatus
from llamon_agent.wire.v03.values import encode
from llamon_agent.wire.v03_proto import schema as proto_schema
from llamon_agent.wire.v03_proto.values import (
    STATE_OUT,
    event_out,
    file_bytes_in,
    message_in,
    message_out,
    push_in,
    push_out,
)

AT_MS = 1_796_040_000_042
AT = "2026-11-30T12:00:00.042Z"
TASK = Task(
    id="t1",
    context_id="c1",
    owner="alice",
    agent="demo",
    status=TaskStatus(state=TaskState.WORKING, at_ms=AT_MS),
    seq=7,
    created_ms=1,
)


def received(**message: Any) -> Message:
    wire = {"messageId": "m1", "role": "ROLE_USER", "content": [{"text": "hi"}]} | message
    return message_in(msgspec.convert(wire, proto_schema.Message))


def told(event: Snapshot | Update, *, final: bool = False) -> Any:
    return json.loads(encode(event_out(event, TASK, final=final)))


def refused(**message: Any) -> str:
    with pytest.raises(BadParams) as caught:
        received(**message)
    assert caught.value.field is not None
    assert caught.value.public.startswith(caught.value.field)
    return caught.value.public


# Messages.


def test_a_message_is_read() -> None:
    assert received(
        contextId="c1", taskId="t1", role="ROLE_AGENT", metadata={"history": []}, extensions=["https://example.com/x"]
    ) == Message(
        message_id="m1",
        role=Role.AGENT,
        parts=(Text.of("hi"),),
        context_id="c1",
        task_id="t1",
        metadata={"history": []},
        extensions=("https://example.com/x",),
    )


@pytest.mark.parametrize("key", ["contextId", "taskId", "metadata", "extensions"])
def test_null_and_absent_are_the_same(key: str) -> None:
    assert received(**{key: None}) == received()


def test_an_empty_id_is_an_absent_one() -> None:
    """proto3 strings have no presence."""
    assert received(contextId="", taskId="") == received()


@pytest.mark.parametrize(("role", "is_read_as"), [("ROLE_USER", Role.USER), (1, Role.USER), (2, Role.AGENT)])
def test_a_role_goes_by_name_or_by_number(role: Any, is_read_as: Role) -> None:
    assert received(role=role).role is is_read_as


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"messageId": None}, "message.messageId is required."),
        ({"messageId": ""}, "message.messageId is required."),
        ({"content": None}, "message.content must have at least one part."),
        ({"content": []}, "message.content must have at least one part."),
        ({"role": "user"}, "message.role must be ROLE_USER or ROLE_AGENT."),
        ({"role": None}, "message.role must be ROLE_USER or ROLE_AGENT."),
        ({"role": 0}, "message.role must be ROLE_USER or ROLE_AGENT."),
    ],
)
def test_the_error_for_a_bad_message_names_the_field(wrong: dict[str, Any], says: str) -> None:
    assert refused(**wrong) == says


def test_too_many_parts_are_refused() -> None:
    with pytest.raises(BadParams, match="at most"):
        received(content=[{"text": ""}] * 1001)


def test_a_message_is_written_without_what_the_proto_has_no_field_for() -> None:
    """LOSSES names the references."""
    message = Message(
        message_id="m1",
        role=Role.AGENT,
        parts=(Text(text="x", filename="x.txt", media_type="text/plain"),),
        context_id="c1",
        task_id="t1",
        metadata={"k": 1},
        extensions=("e",),
        reference_task_ids=("t0",),
    )
    assert json.loads(encode(message_out(message))) == {
        "messageId": "m1",
        "contextId": "c1",
        "taskId": "t1",
        "role": "ROLE_AGENT",
        "content": [{"text": "x"}],
        "metadata": {"k": 1},
        "extensions": ["e"],
    }


# Parts.

PARTS: list[tuple[dict[str, Any], Part]] = [
    ({"text": ""}, Text.of("")),
    ({"text": "a", "metadata": {"is_user_input": True}}, Text(text="a", metadata={"is_user_input": True})),
    # A file of two bytes; its base64 text is what the proto's field of bytes holds.
    (
        {
            "file": {
                "fileWithBytes": b64encode(b64encode(b"\xfb\xff")).decode(),
                "name": "b.bin",
                "mimeType": "x/y",
            }
        },
        Raw(data=b"\xfb\xff", filename="b.bin", media_type="x/y"),
    ),
    ({"file": {"fileWithBytes": ""}, "metadata": {}}, Raw(data=b"", metadata={})),
    ({"file": {"fileWithUri": "https://example.com/f"}}, Url(url="https://example.com/f")),
    (
        {"file": {"fileWithUri": "u", "name": "n", "mimeType": "x/y"}, "metadata": {"k": 1}},
        Url(url="u", filename="n", media_type="x/y", metadata={"k": 1}),
    ),
    ({"data": {"data": {"k": [1, None]}}}, Data(data={"k": [1, None]})),
    ({"data": {"data": {}}, "metadata": {"k": 1}}, Data(data={}, metadata={"k": 1})),
    ({"data": {"data": {"value": [1]}}, "metadata": {"data_part_compat": True}}, Data(data=[1])),
    ({"data": {"data": {"value": None}}, "metadata": {"data_part_compat": True}}, Data(data=None)),
]


@pytest.mark.parametrize(("wire", "part"), PARTS)
def test_a_part_is_read_by_the_content_that_is_there(wire: dict[str, Any], part: Part) -> None:
    assert received(content=[wire]).parts == (part,)
    full = {"text": None, "file": None, "data": None, "metadata": None}
    assert received(content=[full | wire]).parts == (part,)


@pytest.mark.parametrize(("wire", "part"), PARTS)
def test_a_part_is_written_as_it_is_read(wire: dict[str, Any], part: Part) -> None:
    update = ArtifactUpdate(seq=1, artifact_id="a1", parts=(part,), append=True)
    assert told(update)["artifactUpdate"]["artifact"]["parts"] == [wire]


def test_a_data_part_without_data_is_an_empty_object() -> None:
    """The default of a `google.protobuf.Struct`, which a serializer may leave out."""
    assert received(content=[{"data": {}}]).parts == (Data(data={}),)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({}, "message.content[1] must have exactly one of text, file, data."),
        ({"text": "a", "data": {}}, "message.content[1] must have exactly one of text, file, data."),
        ({"file": {}}, "message.content[1].file must have exactly one of fileWithBytes, fileWithUri."),
        (
            {"file": {"fileWithBytes": "", "fileWithUri": "u"}},
            "message.content[1].file must have exactly one of fileWithBytes, fileWithUri.",
        ),
        ({"file": {"fileWithBytes": "@"}}, "message.content[1].file.fileWithBytes is not valid base64."),
    ],
)
def test_the_error_for_a_bad_part_names_its_position(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(BadParams) as caught:
        received(content=[{"text": "hi"}, wrong])
    assert caught.value.public == says


@pytest.mark.parametrize(
    "content", [b"\x89PNG\r\n", b"plain text, with a space", b"abc", b"QQ", b"QR==", b"QUI=\n", b"\xff\xfe"]
)
def test_bytes_that_are_no_base64_text_are_the_file_itself(content: bytes) -> None:
    """What a2a-js sends. Of `QR==` only a lenient reader makes something, and nobody writes it."""
    assert file_bytes_in(content) == content


def test_base64_text_is_taken_for_what_it_encodes() -> None:
    assert file_bytes_in(b"aGVsbG8=") == b"hello"


# Tasks and events.


def test_every_state_has_the_name_that_the_proto_gives_it() -> None:
    assert set(STATE_OUT) == set(TaskState)
    assert STATE_OUT[TaskState.CANCELED] == "TASK_STATE_CANCELLED"
    assert STATE_OUT[TaskState.AUTH_REQUIRED] == "TASK_STATE_AUTH_REQUIRED"


def test_a_snapshot_is_the_task() -> None:
    whole = msgspec.structs.replace(
        TASK,
        history=(Message(message_id="m1", role=Role.USER, parts=(Text.of("hi"),)),),
        artifacts=(Artifact(artifact_id="a1", parts=(Text.of("x"),), name="n"), Artifact(artifact_id="a2", parts=())),
        metadata={"k": 1},
    )
    assert told(Snapshot(task=whole)) == {
        "task": {
            "id": "t1",
            "contextId": "c1",
            "status": {"state": "TASK_STATE_WORKING", "timestamp": AT},
            "artifacts": [
                {"artifactId": "a1", "name": "n", "parts": [{"text": "x"}]},
                {"artifactId": "a2", "parts": [{"text": ""}]},
            ],
            "history": [{"messageId": "m1", "role": "ROLE_USER", "content": [{"text": "hi"}]}],
            "metadata": {"k": 1},
        }
    }
    assert told(Snapshot(task=TASK))["task"].keys() == {"id", "contextId", "status"}


@pytest.mark.parametrize("final", [True, False])
def test_a_status_says_whether_it_is_the_last_event(final: bool) -> None:
    """False is ProtoJSON's absent."""
    asks = TaskStatus(
        state=TaskState.INPUT_REQUIRED,
        at_ms=AT_MS,
        message=Message(message_id="q1", role=Role.AGENT, parts=(Text.of("Sure?"),)),
    )
    written = {
        "taskId": "t1",
        "contextId": "c1",
        "status": {
            "state": "TASK_STATE_INPUT_REQUIRED",
            "message": {"messageId": "q1", "role": "ROLE_AGENT", "content": [{"text": "Sure?"}]},
            "timestamp": AT,
        },
    }
    assert told(StatusUpdate(seq=2, status=asks), final=final) == {
        "statusUpdate": written | ({"final": True} if final else {})
    }


def test_chunks_say_whether_they_append_and_end() -> None:
    first = ArtifactUpdate(seq=1, artifact_id="a1", parts=(Text.of("Hel"),), append=False)
    whole = Artifact(
        artifact_id="a1",
        parts=(Text.of("Hello"),),
        name="answer",
        description="d",
        metadata={"k": 1},
        extensions=("x",),
    )
    last = ArtifactUpdate(seq=3, artifact_id="a1", parts=(Text.of("o"),), append=True, last=True, whole=whole)
    ids = {"taskId": "t1", "contextId": "c1"}
    assert told(first) == {"artifactUpdate": {**ids, "artifact": {"artifactId": "a1", "parts": [{"text": "Hel"}]}}}
    assert told(last) == {
        "artifactUpdate": {
            **ids,
            "artifact": {
                "artifactId": "a1",
                "name": "answer",
                "description": "d",
                "parts": [{"text": "o"}],
                "metadata": {"k": 1},
                "extensions": ["x"],
            },
            "append": True,
            "lastChunk": True,
        }
    }


# Webhooks.


@pytest.mark.parametrize(
    ("wire", "config"),
    [
        ({"url": "https://example.com/h"}, PushConfig(id="", url="https://example.com/h", version="0.3")),
        (
            {
                "id": "p1",
                "url": "u",
                "token": "t",
                "authentication": {"schemes": ["Bearer", "Basic"], "credentials": "secret"},
            },
            PushConfig(id="p1", url="u", version="0.3", token="t", schemes=("Bearer", "Basic"), credentials="secret"),
        ),
        ({"id": "", "url": "u", "token": "", "authentication": {}}, PushConfig(id="", url="u", version="0.3")),
    ],
)
def test_a_webhook_is_read(wire: dict[str, Any], config: PushConfig) -> None:
    assert push_in(msgspec.convert(wire, proto_schema.PushNotificationConfig), within="here") == config


def test_a_webhook_needs_an_address() -> None:
    with pytest.raises(BadParams, match=r"^here\.url is required\.$"):
        push_in(proto_schema.PushNotificationConfig(), within="here")


def test_a_webhook_is_written_under_its_name() -> None:
    config = PushConfig(id="p1", url="u", version="0.3", schemes=("Bearer",), credentials="c")
    assert json.loads(encode(push_out("t1", config))) == {
        "name": "tasks/t1/pushNotificationConfigs/p1",
        "pushNotificationConfig": {
            "id": "p1",
            "url": "u",
            "authentication": {"schemes": ["Bearer"], "credentials": "c"},
        },
    }
    bare = PushConfig(id="p1", url="u", version="0.3")
    assert json.loads(encode(push_out("t1", bare)))["pushNotificationConfig"] == {"id": "p1", "url": "u"}
