"""Which form of messages an annotation asks for, and what the messages that can be read both ways are."""

import copy
import operator
import pickle
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.load import dumpd
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    MessageLikeRepresentation,
    SystemMessage,
    ToolMessage,
)
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from pydantic import BaseModel

from llamon_agent.adapters.langgraph.entries import Form, form_of, in_form, keep_readable_messages

CALL = {"name": "look", "args": {"at": "it"}, "id": "c", "type": "tool_call"}
MESSAGES: list[BaseMessage] = [
    HumanMessage("hi", id="1"),
    AIMessage("", id="2", tool_calls=[CALL]),
    ToolMessage("seen", tool_call_id="c", id="3"),
]
MAPPINGS = [
    {"role": "user", "content": "hi"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"type": "function", "id": "c", "function": {"name": "look", "arguments": '{"at": "it"}'}}],
    },
    {"role": "tool", "tool_call_id": "c", "content": "seen"},
]


class Own(BaseModel):
    content: str


class Entry(TypedDict):
    content: str


def graph_of(schema: Any) -> Any:
    builder = StateGraph(schema)
    builder.add_node("node", lambda _: None)
    builder.add_edge(START, "node")
    return builder.compile()


def read_both_ways() -> Any:
    return in_form(Form.READ_BOTH_WAYS, {"messages": MESSAGES})["messages"]


@pytest.mark.parametrize(
    ("annotation", "form"),
    [
        (Annotated[list, add_messages], Form.MESSAGES),
        (Annotated[list[dict[str, Any]], add_messages], Form.MESSAGES),
        (list, Form.READ_BOTH_WAYS),
        (list[Any], Form.READ_BOTH_WAYS),
        (list[object], Form.READ_BOTH_WAYS),
        (str, Form.READ_BOTH_WAYS),
        (Annotated[list, operator.add], Form.READ_BOTH_WAYS),
        (Annotated[list[AnyMessage], operator.add], Form.READ_BOTH_WAYS),
        (Annotated[Sequence[BaseMessage], operator.add], Form.READ_BOTH_WAYS),
        (Annotated[list[MessageLikeRepresentation], operator.add], Form.READ_BOTH_WAYS),
        (list[dict[str, str] | HumanMessage], Form.READ_BOTH_WAYS),
        (list[dict[str, Any]], Form.MAPPINGS),
        (Annotated[list[dict[str, str]], operator.add], Form.MAPPINGS),
        (list[Mapping[str, Any]], Form.MAPPINGS),
        (list[Annotated[Entry, "entry"]], Form.MAPPINGS),
        (list[Own], Form.MAPPINGS),
        (list[Own | str], Form.MAPPINGS),
        (list[str], Form.STRINGS),
    ],
)
def test_the_annotation_says_the_form(annotation: Any, form: Form) -> None:
    assert form_of(graph_of(TypedDict("State", {"messages": annotation}))) is form  # type: ignore[operator]


def test_the_usual_state_and_one_without_messages_keep_messages_as_they_are() -> None:
    assert form_of(graph_of(MessagesState)) is Form.MESSAGES
    given = {"question": "hi"}
    assert in_form(form_of(graph_of(TypedDict("State", {"question": str}))), given) == given  # type: ignore[operator]


@pytest.mark.parametrize("given", [None, {"question": "hi"}, {"messages": "text"}])
def test_what_has_no_list_of_messages_is_not_changed(given: Any) -> None:
    assert in_form(Form.MAPPINGS, given) is given


def test_mappings_and_strings() -> None:
    assert in_form(Form.MAPPINGS, {"messages": MESSAGES, "n": 1}) == {"messages": MAPPINGS, "n": 1}
    assert in_form(Form.STRINGS, {"messages": MESSAGES})["messages"] == ["hi", "", "seen"]


def test_a_file_that_has_no_form_in_the_chat_api_stays_a_block() -> None:
    content: list[Any] = [{"type": "file", "url": "https://example.com/a.pdf", "mime_type": "application/pdf"}]
    given = {"messages": [HumanMessage(content)]}
    assert in_form(Form.MAPPINGS, given)["messages"] == [{"role": "user", "content": content}]


def test_messages_can_be_read_both_ways() -> None:
    for message, readable, mapping in zip(MESSAGES, read_both_ways(), MAPPINGS, strict=True):
        assert isinstance(readable, type(message))
        assert isinstance(readable, Mapping)
        assert (dict(readable), {**readable}, len(list(readable))) == (mapping, mapping, len(readable))
        assert (readable.content, readable["content"]) == (message.content, message.content)
        assert (readable["id"], readable["type"], readable.get("nothing")) == (message.id, message.type, None)
        assert readable.model_dump() == message.model_dump()
        assert dumpd(readable) == dumpd(message)
        with pytest.raises(KeyError):
            readable["nothing"]


def test_a_kind_that_is_never_put_in_is_left_as_it_is() -> None:
    message = SystemMessage("be kind")
    assert in_form(Form.READ_BOTH_WAYS, {"messages": [message]})["messages"] == [message]


def test_they_are_equal_to_their_copies_and_not_to_others() -> None:
    readable = read_both_ways()
    assert copy.deepcopy(readable) == readable
    assert pickle.loads(pickle.dumps(readable)) == readable
    assert readable[0] != readable[0].model_copy(update={"id": "other"})


@pytest.mark.parametrize("is_strict", [False, True])
def test_they_come_back_from_a_checkpoint_as_they_were(is_strict: bool, caplog: pytest.LogCaptureFixture) -> None:
    keep_readable_messages()
    keep_readable_messages()
    serializer = JsonPlusSerializer(allowed_msgpack_modules=None if is_strict else True)
    back = serializer.loads_typed(serializer.dumps_typed(read_both_ways()))
    assert back == read_both_ways()
    assert [type(each) for each in back] == [type(each) for each in read_both_ways()]
    assert caplog.messages == []
