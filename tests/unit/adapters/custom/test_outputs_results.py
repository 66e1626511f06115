"""Whatever an agent gives becomes an event, and thoughts stay inside."""

from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from pydantic import BaseModel

from llamon_agent.adapters.custom.outputs import Chunk, Result, event_of
from llamon_agent.domain.errors import AgentError
from llamon_agent.domain.events import (
    AgentEvent,
    ArtifactMade,
    Complete,
    Delta,
    Interrupt,
    Progress,
    Question,
    Rejected,
    Reply,
    Started,
)
from llamon_agent.domain.message import Data, Text
from llamon_agent.domain.task import Artifact


def new_id() -> str:
    return "new"


def no_id() -> str:
    raise AssertionError("an id was made")


@dataclass
class Point:
    x: int


class Model(BaseModel):
    x: int


class Said:
    content = "hi"


class Response:
    content = b"bytes"


def data(value: Any) -> ArtifactMade:
    return ArtifactMade(artifact=Artifact(artifact_id="new", parts=(Data(data=value),)))


def asked(text: str, value: Any) -> Interrupt:
    return Interrupt(text=text, questions=(Question(id="new", value=value),))


THOUGHTFUL: list[str | dict[Any, Any]] = [
    {"type": "thinking", "thinking": "secret"},
    "h",
    {"type": "text", "text": "i"},
    {"type": "tool_use"},
]

TEXTS = [
    "hi",
    Said(),
    AIMessage("hi"),
    AIMessageChunk(content="hi"),
    AIMessage(THOUGHTFUL),
    {"content": "hi"},
    {"content": THOUGHTFUL},
    {"output": "hi"},
    {"output": AIMessage("hi"), "steps": 3},
    {"messages": [HumanMessage("hello"), AIMessage("hi")]},
    {"messages": ({"role": "assistant", "content": "hi"},), "content": "no"},
]

PIECE = ArtifactMade(artifact=data(1).artifact, append=True, last=False)
HI = Reply(parts=(Text.of("hi"),))

EVENTS: list[tuple[object, AgentEvent | None]] = [
    (None, None),
    (Started(), None),
    (Progress(text="p"), Progress(text="p")),
    (Delta(text="d", restart=True), Delta(text="d", restart=True)),
    (Complete(), Complete()),
    (data(1), data(1)),
    (asked("?", 1), asked("?", 1)),
    ({"delta": "d"}, Delta(text="d")),
    ({"progress": "p"}, Progress(text="p")),
    ({"interrupt": "sure?"}, asked("sure?", "sure?")),
    ({"interrupt": {"file": "ä"}}, asked('{"file":"ä"}', {"file": "ä"})),
    ({"interrupt": None}, asked("null", None)),
    ({"auth": "sign in"}, Interrupt.of("sign in", "new", auth=True)),
    ({"artifact": {"parts": [{"data": 1}]}}, data(1)),
    ({"artifact": {"id": "new", "parts": [{"data": 1}], "append": True, "last": False}}, PIECE),
    (PIECE, PIECE),
    (HI, HI),
    ({"reply": "hi"}, HI),
    ({"reply": AIMessage("hi")}, HI),
    ({"reply": "\ud800"}, Reply(parts=(Text.of("\ufffd"),))),
    ({"reply": {"parts": [{"text": "hi"}], "metadata": {"a": 1}}}, Reply(parts=(Text.of("hi"),), metadata={"a": 1})),
    (Rejected(public="no"), Rejected(public="no")),
    ({"reject": "no"}, Rejected(public="no")),
]

DATA: list[tuple[object, Any]] = [
    (7, 7),
    (False, False),
    ([], []),
    (["a", 1], ["a", 1]),
    ({}, {}),
    ({"a": 1}, {"a": 1}),
    ({"delta": "d", "more": 1}, {"delta": "d", "more": 1}),
    ({"delta": 1}, {"delta": 1}),
    ({"reject": 1}, {"reject": 1}),
    ({"reply": "hi", "more": 1}, {"reply": "hi", "more": 1}),
    ({"messages": []}, {"messages": []}),
    ({"output": 5}, {"output": 5}),
    ({"artifact": {}, "more": 1}, {"artifact": {}, "more": 1}),
    ({"content": [1, 2]}, {"content": [1, 2]}),
    ({1: (2, 3)}, {"1": [2, 3]}),
    (2**70, 2**70),
    (float("nan"), None),
    (Point(1), {"x": 1}),
    (Model(x=1), {"x": 1}),
    ([Model(x=1)], [{"x": 1}]),
]


@pytest.mark.parametrize("value", TEXTS, ids=repr)
def test_text_in_any_wrapping_is_text(value: object) -> None:
    assert event_of(Result(value), new_id=new_id) == Complete(text="hi")
    assert event_of(Chunk(value), new_id=new_id) == Delta(text="hi")


@pytest.mark.parametrize(("value", "event"), EVENTS, ids=repr)
def test_events_may_be_streamed_or_returned(value: object, event: AgentEvent | None) -> None:
    assert event_of(Result(value), new_id=new_id) == event
    assert event_of(Chunk(value), new_id=new_id) == event


@pytest.mark.parametrize(("value", "plain"), DATA, ids=repr)
def test_other_values_are_data(value: object, plain: Any) -> None:
    assert event_of(Result(value), new_id=new_id) == data(plain)
    assert event_of(Chunk(value), new_id=new_id) == data(plain)


def test_an_empty_text_is_a_whole_answer_but_no_chunk() -> None:
    assert event_of(Result(""), new_id=new_id) == Complete(text="")
    assert event_of(Chunk(AIMessageChunk(content="")), new_id=new_id) is None


def test_text_costs_no_id() -> None:
    assert event_of(Chunk("hi"), new_id=no_id) == Delta(text="hi")


def deep() -> object:
    value: list[object] = []
    for _ in range(100_000):
        value = [value]
    return value


@pytest.mark.parametrize("value", [object(), Response(), {"a": object()}, deep(), {"a": 10**5000}])
def test_a_value_that_is_no_json_is_the_agents_fault(value: object) -> None:
    with pytest.raises(AgentError, match="The agent gave a value that"):
        event_of(Result(value), new_id=new_id)


_NUMBER: Any = 5


@pytest.mark.parametrize("value", [{"artifact": "x"}, ArtifactMade(artifact=Artifact(artifact_id=_NUMBER, parts=()))])
def test_an_artifact_that_is_not_valid_is_the_agents_fault(value: object) -> None:
    with pytest.raises(AgentError, match="The agent made an artifact"):
        event_of(Chunk(value), new_id=new_id)


@pytest.mark.parametrize("value", [{"reply": 5}, {"reply": {"rows": 3}}, Reply(parts=(Text.of(_NUMBER),))], ids=repr)
def test_a_reply_that_is_not_valid_is_the_agents_fault(value: object) -> None:
    with pytest.raises(AgentError, match="The agent made a reply"):
        event_of(Chunk(value), new_id=new_id)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)


@given(value=json_values)
def test_every_json_value_gives_an_event_or_is_none(value: object) -> None:
    assert (event_of(Result(value), new_id=new_id) is None) == (value is None)


class Words(str): ...


SAID_IN_WORDS: list[tuple[object, AgentEvent]] = [
    (Words("hi"), Complete(text="hi")),
    ({"delta": Words("d")}, Delta(text="d")),
    ({"progress": Words("p")}, Progress(text="p")),
    ({"reject": Words("no")}, Rejected(public="no")),
    ({"reply": Words("hi")}, HI),
    ({Words("interrupt"): Words("?")}, asked("?", "?")),
    ({"artifact": {"id": Words("new"), "parts": [{"data": Words("x")}]}}, data("x")),
    (data(Words("x")), data("x")),
    (asked(Words("?"), Words("?")), asked("?", "?")),
    (Reply(parts=(Text.of(Words("hi")),)), HI),
]


@pytest.mark.parametrize(("value", "event"), SAID_IN_WORDS, ids=repr)
def test_texts_of_other_classes_say_what_plain_ones_say(value: object, event: AgentEvent) -> None:
    said = event_of(Result(value), new_id=new_id)
    assert said == event
    if not isinstance(said, Complete | Delta | Progress | Rejected):  # whose text is made plain where it is told
        assert msgspec.json.encode(said) == msgspec.json.encode(event)


NO_TEXT: Any = 5


@pytest.mark.parametrize(
    "value",
    [Delta(text=NO_TEXT), Complete(text=NO_TEXT), Rejected(public=NO_TEXT), Interrupt(text=NO_TEXT, questions=())],
    ids=repr,
)
def test_an_event_without_a_text_is_the_agents_fault(value: AgentEvent) -> None:
    with pytest.raises(AgentError, match="an event without a text"):
        event_of(Chunk(value), new_id=new_id)
