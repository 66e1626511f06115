import json
from typing import Any

import msgspec
import pytest

from llamon_agent.domain.errors import BadParams
from llamon_agent.domain.events import ArtifactUpdate, Update
from llamon_agent.domain.message import Data, Message, Part, Raw, Role, Text, Url
from llamon_agent.domain.task import Artifact, PushConfig, Task, TaskState, TaskStatus
from llamon_agent.wire.v10 import schema
from llamon_agent.wire.v10.values import (
    STATE_IN,
    STATE_OUT,
    encode,
    event_out,
    message_in,
    message_out,
    push_in,
    push_out,
)

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
    wire = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "hi"}]} | message
    return message_in(msgspec.convert(wire, schema.Message))


def told(update: Update) -> Any:
    return json.loads(encode(event_out(update, TASK)))


@pytest.mark.parametrize(
    ("role", "is_read_as"), [("ROLE_USER", Role.USER), ("ROLE_AGENT", Role.AGENT), (1, Role.USER), (2, Role.AGENT)]
)
def test_a_role_goes_by_name_or_by_number(role: Any, is_read_as: Role) -> None:
    assert received(role=role).role is is_read_as


@pytest.mark.parametrize("wrong", ["user", "agent", "ROLE_UNSPECIFIED", "", 0, 3])
def test_another_role_is_refused(wrong: Any) -> None:
    with pytest.raises(BadParams, match=r"^message\.role must be ROLE_USER or ROLE_AGENT\.$"):
        received(role=wrong)


PARTS: list[tuple[dict[str, Any], Part]] = [
    ({"text": ""}, Text.of("")),
    ({"text": "a", "metadata": {"k": 1.0}}, Text(text="a", metadata={"k": 1.0})),
    (
        {"text": "a", "filename": "a.md", "mediaType": "text/markdown"},
        Text(text="a", filename="a.md", media_type="text/markdown"),
    ),
    (
        {"raw": "+/8=", "filename": "b.bin", "mediaType": "x/y"},
        Raw(data=b"\xfb\xff", filename="b.bin", media_type="x/y"),
    ),
    ({"raw": ""}, Raw(data=b"")),
    ({"url": "https://example.com/f"}, Url(url="https://example.com/f")),
    ({"data": {"k": [1, None]}}, Data(data={"k": [1, None]})),
    ({"data": [1]}, Data(data=[1])),
    ({"data": False}, Data(data=False)),
    ({"data": None}, Data(data=None)),
    ({"data": None, "mediaType": "application/json"}, Data(data=None, media_type="application/json")),
]


@pytest.mark.parametrize(("wire", "part"), PARTS)
def test_a_part_is_read_by_the_content_that_is_there(wire: dict[str, Any], part: Part) -> None:
    assert received(parts=[wire]).parts == (part,)


@pytest.mark.parametrize(("wire", "part"), PARTS)
def test_a_part_is_written_as_it_is_read(wire: dict[str, Any], part: Part) -> None:
    update = ArtifactUpdate(seq=1, artifact_id="a1", parts=(part,), append=True)
    assert told(update)["artifactUpdate"]["artifact"]["parts"] == [wire]


@pytest.mark.parametrize("content", [{"text": "a"}, {"raw": "aGk="}, {"url": "u"}])
def test_null_next_to_a_content_says_nothing(content: dict[str, str]) -> None:
    """Serializers that write every field write null for the others, `data` included."""
    full = {"text": None, "raw": None, "url": None, "data": None, "metadata": None, "filename": None, "mediaType": None}
    assert received(parts=[full | content]) == received(parts=[content])


@pytest.mark.parametrize(
    "wrong", [{}, {"metadata": {}}, {"text": "a", "url": "u"}, {"text": "a", "data": 1}, {"file": {}}]
)
def test_a_part_without_exactly_one_content_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadParams) as caught:
        received(parts=[{"text": "hi"}, wrong])
    assert caught.value.public == "message.parts[1] must have exactly one of text, raw, url, data."
    assert caught.value.field == "message.parts[1]"


def test_chunks_say_whether_they_append_and_end() -> None:
    """A2A 1.0 §4.2.2; false is ProtoJSON's absent."""
    first = ArtifactUpdate(seq=1, artifact_id="a1", parts=(Text.of("Hel"),), append=False)
    last = ArtifactUpdate(
        seq=3,
        artifact_id="a1",
        parts=(Text.of("o"),),
        append=True,
        last=True,
        whole=Artifact(
            artifact_id="a1",
            parts=(Text.of("Hello"),),
            name="answer",
            description="d",
            metadata={"k": 1},
            extensions=("x",),
        ),
    )
    middle = ArtifactUpdate(seq=2, artifact_id="a1", parts=(Text.of("l"),), append=True)
    ids = {"taskId": "t1", "contextId": "c1"}
    assert told(middle) == {
        "artifactUpdate": {**ids, "artifact": {"artifactId": "a1", "parts": [{"text": "l"}]}, "append": True}
    }
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


def test_an_artifact_always_has_a_part() -> None:
    """A2A 1.0 §5.7; LOSSES names it."""
    update = ArtifactUpdate(seq=1, artifact_id="a1", parts=(), append=True, last=True)
    assert told(update)["artifactUpdate"]["artifact"]["parts"] == [{"text": ""}]


def test_every_state_has_a_name_and_is_read_back_by_it() -> None:
    assert {STATE_IN[name] for name in STATE_OUT.values()} == set(TaskState)


# Webhooks.

PUSHES: list[tuple[dict[str, Any], PushConfig]] = [
    ({"url": "https://example.com/h"}, PushConfig(id="", url="https://example.com/h", version="1.0")),
    (
        {
            "id": "p1",
            "url": "u",
            "token": "t",
            "authentication": {"scheme": "Bearer", "credentials": "secret"},
        },
        PushConfig(id="p1", url="u", version="1.0", token="t", schemes=("Bearer",), credentials="secret"),
    ),
    (
        {"url": "u", "authentication": {"scheme": "Basic"}},
        PushConfig(id="", url="u", version="1.0", schemes=("Basic",)),
    ),
    (
        {"id": "", "url": "u", "token": "", "authentication": {"scheme": "Basic", "credentials": ""}},
        PushConfig(id="", url="u", version="1.0", schemes=("Basic",)),
    ),
]


@pytest.mark.parametrize(("wire", "config"), PUSHES)
def test_a_webhook_is_read(wire: dict[str, Any], config: PushConfig) -> None:
    assert push_in(msgspec.convert(wire, schema.TaskPushNotificationConfig)) == config


@pytest.mark.parametrize(
    ("wire", "field"),
    [
        ({}, "url"),
        ({"url": ""}, "url"),
        ({"url": "u", "authentication": {}}, "authentication.scheme"),
        ({"url": "u", "authentication": {"credentials": "c"}}, "authentication.scheme"),
    ],
)
def test_the_error_for_a_bad_webhook_names_the_field(wire: dict[str, Any], field: str) -> None:
    with pytest.raises(BadParams) as caught:
        push_in(msgspec.convert(wire, schema.TaskPushNotificationConfig), within="here.")
    assert (caught.value.public, caught.value.field) == (f"here.{field} is required.", f"here.{field}")


def test_a_webhook_is_written_flat_with_its_task() -> None:
    config = PushConfig(id="p1", url="u", version="1.0", token="t", schemes=("Bearer",), credentials="c")
    assert json.loads(encode(push_out("t1", config))) == {
        "id": "p1",
        "taskId": "t1",
        "url": "u",
        "token": "t",
        "authentication": {"scheme": "Bearer", "credentials": "c"},
    }


def test_of_a_webhooks_schemes_the_used_one_is_written() -> None:
    """0.3 can name several, and credentials without any."""
    many = PushConfig(id="p1", url="u", version="0.3", schemes=("Bearer", "Basic"))
    none = PushConfig(id="p1", url="u", version="0.3", credentials="c")
    assert push_out("t1", many).authentication == schema.AuthenticationInfo(scheme="Bearer")
    assert push_out("t1", none).authentication is None


def test_a_message_has_what_it_was_given_and_no_more() -> None:
    written = json.loads(encode(message_out(Message(message_id="m1", role=Role.AGENT, parts=(Text.of("x"),)))))
    assert written == {"messageId": "m1", "role": "ROLE_AGENT", "parts": [{"text": "x"}]}
