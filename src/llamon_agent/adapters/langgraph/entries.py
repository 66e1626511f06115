"""In which form messages go into a state: as its author's code reads them, which its annotation tells.

LangGraph makes messages of all that goes through `add_messages`. Any other reducer, or none, keeps what came.
LangGraph's own server puts the client's mappings there, so code that was written for it reads `message["content"]`;
other code reads `message.content`. An annotation with plain mappings or strings says which one it is. Where it says
neither, messages go in that can be read both ways, and they come back from a checkpoint as what they were.

Source: OpenAI's chat messages, for the mappings: `role`, `content` and what belongs to tool calls.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum, auto
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import typing_extensions
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage, convert_to_openai_messages
from langgraph.channels.binop import BinaryOperatorAggregate
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph
from pydantic import BaseModel

from llamon_agent.adapters.langgraph.messages import MESSAGES
from llamon_agent.adapters.langgraph.versions import add_safe_types

_ROLES = {"human": "user", "ai": "assistant"}


class Form(Enum):
    """The form of the messages that go into a state."""

    MESSAGES = auto()
    READ_BOTH_WAYS = auto()
    MAPPINGS = auto()
    STRINGS = auto()


def form_of(graph: Any) -> Form:
    """The form in which a graph's code reads its messages."""
    channel = graph.channels.get(MESSAGES)
    has_reducer = isinstance(channel, BinaryOperatorAggregate) and channel.operator is add_messages
    if has_reducer or not isinstance(graph, CompiledStateGraph):
        return Form.MESSAGES
    schema = graph.builder.input_schema
    return form_of_hint(
        get_type_hints(schema, include_extras=True).get(MESSAGES) if hasattr(schema, "__annotations__") else None
    )


def form_of_hint(hint: Any) -> Form:
    """The form that the annotation of a list of messages says."""
    kinds = list(_kinds(_entry_of(hint)))
    if any(_may_be_message(each) for each in kinds):
        return Form.READ_BOTH_WAYS
    return Form.STRINGS if kinds == [str] else Form.MAPPINGS


def in_form(form: Form, given: Any) -> Any:
    """The input of a graph, with its messages in this form."""
    if form is Form.MESSAGES or not isinstance(given, dict) or not isinstance(given.get(MESSAGES), list):
        return given
    return {**given, MESSAGES: [_entry(form, each) for each in given[MESSAGES]]}


class _Readable(Mapping[str, Any]):
    """A message that is also the mapping that OpenAI's chat takes. Its own fields can be read by their names, too."""

    def __getitem__(self, key: str) -> Any:
        fields = _mapping(_plain(self))
        return getattr(self, key) if key not in fields and key in type(_plain(self)).model_fields else fields[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(_mapping(_plain(self)))

    def __len__(self) -> int:
        return len(_mapping(_plain(self)))

    def __eq__(self, other: object) -> bool:
        return BaseModel.__eq__(self, other)

    def to_json(self) -> Any:
        """As LangChain serializes the message, for traces: `__iter__` has none of the pairs that it reads."""
        return _plain(self).to_json()


class ReadableHumanMessage(_Readable, HumanMessage):  # type: ignore[misc]
    """The caller's message."""


class ReadableAIMessage(_Readable, AIMessage):  # type: ignore[misc]
    """An answer in a host's history."""


class ReadableToolMessage(_Readable, ToolMessage):  # type: ignore[misc]
    """A tool's result in a host's history."""


_READABLE: Mapping[type[BaseMessage], type[BaseMessage]] = {
    HumanMessage: ReadableHumanMessage,
    AIMessage: ReadableAIMessage,
    ToolMessage: ReadableToolMessage,
}


def keep_readable_messages() -> None:
    """Let every checkpointer give these messages back as what they were. Safe to call twice.

    LangGraph warns of types that it does not know, and turns them into plain mappings in its strict mode.
    Source: langgraph.checkpoint.serde.jsonplus, `_check_allowed`.
    """
    add_safe_types(_READABLE.values())


def _plain(message: Any) -> BaseMessage:
    kind = next(plain for plain, readable in _READABLE.items() if isinstance(message, readable))
    return kind.model_construct(**vars(message))


def _entry(form: Form, message: BaseMessage) -> Any:
    if form is Form.STRINGS:
        return str(message.text)
    if form is Form.MAPPINGS:
        return _mapping(message)
    kind = next((_READABLE[each] for each in type(message).__mro__ if each in _READABLE), None)
    return message if kind is None else kind(**message.model_dump())


def _mapping(message: BaseMessage) -> dict[str, Any]:
    """A message as OpenAI's chat takes it. One with a file that this API has no form for keeps LangChain's blocks."""
    try:
        return dict(convert_to_openai_messages(message))
    except ValueError:
        return {"role": _ROLES.get(message.type, message.type), "content": message.content}


def _entry_of(hint: Any) -> Any:
    """What a list's annotation says of its entries; Any where it says nothing."""
    while get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    found = get_args(hint)
    is_list = isinstance(get_origin(hint), type) and issubclass(get_origin(hint), Sequence)
    return found[0] if is_list and found else Any


def _may_be_message(kind: Any) -> bool:
    if kind in (Any, object) or not isinstance(kind, type):
        return True
    return not typing_extensions.is_typeddict(kind) and issubclass(kind, BaseMessage)


def _kinds(hint: Any) -> Iterator[Any]:
    """The classes of an annotation, each member of a union by itself."""
    origin = get_origin(hint)
    if origin is Annotated:
        yield from _kinds(get_args(hint)[0])
    elif origin is Union or origin is UnionType:
        for each in get_args(hint):
            yield from _kinds(each)
    else:
        yield origin if isinstance(origin, type) else hint
