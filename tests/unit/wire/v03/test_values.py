import json
from typing import Any

import msgspec
import pytest

from llamon_agent.domain.events import ArtifactUpdate, Update
from llamon_agent.domain.message import Data, Message, Part, Raw, Text, Url
from llamon_agent.domain.task import Artifact, PushConfig, Task, TaskState, TaskStatus
from llamon_agent.wire.v03 import schema
from llamon_agent.wire.v03.values import encode, event_out, message_in, push_in, push_out, task_out

TASK = Task(
    id="t1",
    context_id="c1",
    owner="alice",
    agent="demo",
    status=TaskStatus(state=TaskState.WORKING, at_ms=0),
    seq=7,
    created_ms=1,
)


def received(**message: Any) -> Message:
    wire = {"messageId": "m1", "role": "user", "parts": [{"kind": "text", "text": "hi"}]} | message
    return message_in(msgspec.convert(wire, schema.Message))


def told(update: Update) -> Any:
    return json.loads(encode(event_out(update, TASK, final=False)))


PARTS: list[tuple[dict[str, Any], Part]] = [
    ({"kind": "text", "text": ""}, Text.of("")),
    (
        {"kind": "text", "text": "a", "metadata": {"is_user_input": True}},
        Text(text="a", metadata={"is_user_input": True}),
    ),
    (
        {"kind": "file", "file": {"bytes": "+/8=", "name": "b.bin", "mimeType": "x/y"}},
        Raw(data=b"\xfb\xff", filename="b.bin", media_type="x/y"),
    ),
    ({"kind": "file", "file": {"bytes": ""}, "metadata": {}}, Raw(data=b"", metadata={})),
    ({"kind": "file", "file": {"uri": "https://example.com/f"}}, Url(url="https://example.com/f")),
    (
        {"kind": "file", "file": {"uri": "u", "name": "n", "mimeType": "x/y"}, "metadata": {"k": 1}},
        Url(url="u", filename="n", media_type="x/y", metadata={"k": 1}),
    ),
    ({"kind": "data", "data": {"k": [1, None]}}, Data(data={"k": [1, None]})),
    # What is no object is wrapped, and marked the way the official SDK marks it.
    ({"kind": "data", "data": {"value": [1]}, "metadata": {"data_part_compat": True}}, Data(data=[1])),
    ({"kind": "data", "data": {"value": None}, "metadata": {"data_part_compat": True}}, Data(data=None)),
    (
        {"kind": "data", "data": {"value": "x"}, "metadata": {"k": 1, "data_part_compat": True}},
        Data(data="x", metadata={"k": 1}),
    ),
    ({"kind": "data", "data": {"value": 1}}, Data(data={"value": 1})),
]


@pytest.mark.parametrize(("wire", "part"), PARTS)
def test_a_part_is_read_by_its_kind(wire: dict[str, Any], part: Part) -> None:
    assert received(parts=[wire]).parts == (part,)


@pytest.mark.parametrize(("wire", "part"), PARTS)
def test_a_part_without_a_kind_is_read_by_what_it_holds(wire: dict[str, Any], part: Part) -> None:
    assert received(parts=[{key: value for key, value in wire.items() if key != "kind"}]).parts == (part,)
    assert received(parts=[wire | {"kind": None}]).parts == (part,)


@pytest.mark.parametrize(("wire", "part"), PARTS)
def test_a_part_is_written_as_it_is_read(wire: dict[str, Any], part: Part) -> None:
    update = ArtifactUpdate(seq=1, artifact_id="a1", parts=(part,), append=True)
    assert told(update)["artifact"]["parts"] == [wire]


@pytest.mark.parametrize("mark", [False, "true", 1])
def test_only_the_mark_itself_unwraps_a_value(mark: Any) -> None:
    wire = {"kind": "data", "data": {"value": 1}, "metadata": {"data_part_compat": mark}}
    assert received(parts=[wire]).parts == (Data(data={"value": 1}, metadata={"data_part_compat": mark}),)


def test_an_object_is_never_taken_for_a_wrapped_value() -> None:
    """LOSSES names the key that is left out."""
    part = Data(data={"value": 1}, metadata={"data_part_compat": True, "k": 2})
    update = ArtifactUpdate(seq=1, artifact_id="a1", parts=(part,), append=True)
    assert told(update)["artifact"]["parts"] == [{"kind": "data", "data": {"value": 1}, "metadata": {"k": 2}}]


def test_chunks_say_whether_they_append_and_end() -> None:
    """A2A 0.3 §7.2.3, §9.3: false is said, not left out."""
    first = ArtifactUpdate(seq=1, artifact_id="a1", parts=(Text.of("Hel"),), append=False)
    whole = Artifact(
        artifact_id="a1",
        parts=(Text.of("Hello"),),
        name="answer",
        description="d",
        metadata={"k": 1},
        extensions=("x",),
    )
    middle = ArtifactUpdate(seq=2, artifact_id="a1", parts=(Text.of("l"),), append=True)
    last = ArtifactUpdate(seq=3, artifact_id="a1", parts=(Text.of("o"),), append=True, last=True, whole=whole)
    ids = {"kind": "artifact-update", "taskId": "t1", "contextId": "c1"}
    assert (told(middle)["append"], told(middle)["lastChunk"]) == (True, False)
    assert told(first) == {
        **ids,
        "artifact": {"artifactId": "a1", "parts": [{"kind": "text", "text": "Hel"}]},
        "append": False,
        "lastChunk": False,
    }
    assert told(last) == {
        **ids,
        "artifact": {
            "artifactId": "a1",
            "parts": [{"kind": "text", "text": "o"}],
            "name": "answer",
            "description": "d",
            "metadata": {"k": 1},
            "extensions": ["x"],
        },
        "append": True,
        "lastChunk": True,
    }


def test_an_artifact_always_has_a_part() -> None:
    """The official inspector refuses an empty one; LOSSES names it."""
    update = ArtifactUpdate(seq=1, artifact_id="a1", parts=(), append=True, last=True)
    assert told(update)["artifact"]["parts"] == [{"kind": "text", "text": ""}]


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
        (
            {"id": None, "url": "u", "token": None, "authentication": None},
            PushConfig(id="", url="u", version="0.3"),
        ),
    ],
)
def test_a_webhook_is_read_and_written_the_same_but_for_nulls(wire: dict[str, Any], config: PushConfig) -> None:
    """A2A 0.3 §6.8, §6.9."""
    assert push_in(msgspec.convert(wire, schema.PushNotificationConfig)) == config
    said = {"id": config.id} | {key: value for key, value in wire.items() if value is not None}
    assert json.loads(encode(push_out("t1", config))) == {"taskId": "t1", "pushNotificationConfig": said}


def test_credentials_without_a_scheme_are_shown_as_they_are_kept() -> None:
    config = PushConfig(id="p1", url="u", version="0.3", credentials="c")
    written = json.loads(encode(push_out("t1", config)))
    assert written["pushNotificationConfig"]["authentication"] == {"schemes": [], "credentials": "c"}


def test_a_task_may_be_shown_without_the_key_of_its_artifacts() -> None:
    task = msgspec.structs.replace(TASK, artifacts=(Artifact(artifact_id="a1", parts=(Text.of("x"),)),))
    assert task_out(task).artifacts is not None
    assert task_out(task, artifacts=False) == task_out(TASK)
