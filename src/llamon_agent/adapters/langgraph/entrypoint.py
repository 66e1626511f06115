"""The functional API: how a turn becomes the argument of an `@entrypoint`, and what its return value says.

Theory. Such a graph has no state with named keys. A run gets one value, and its function returns one. So the value that
it takes is made of a turn by the annotation of its parameter, and its return value is read as a state: a string or a
message is the last message, a list of messages is `messages`, an object is its fields. All that is written for states
(answers, text that is withdrawn, files) then holds here, too.

- What it returns is the answer, also where it is equal to that of the turn before. Until it returns there is no state.
- `previous` is the code's own affair. What it saves by `entrypoint.final` is not seen here.
- Without an annotation nothing says what the code wants. A parameter `messages` gets a list of messages; any other gets
  the text, or the value of the only data part.

Source: langgraph.func.entrypoint.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum, auto
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec
import typing_extensions
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.constants import END, START
from langgraph.func import entrypoint
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel import Pregel
from pydantic import BaseModel

from llamon_agent.adapters.langgraph.entries import Form, form_of_hint, in_form
from llamon_agent.adapters.langgraph.hitl.questions import json_safe
from llamon_agent.adapters.langgraph.messages import MESSAGES, readable_messages
from llamon_agent.adapters.langgraph.schema import Placed, Schema, fields_of, is_text, place

_PREVIOUS = "__previous__"
"""The channel of the saved value. Source: langgraph's internal constants."""

_ARGUMENT = "argument"
"""The key of a value that is the whole argument, until the argument is made."""

_NOT_MADE = "This agent cannot take the message: its fields have values that do not fit."
_ONE_VALUE = "This agent takes a text or one data part."


class Takes(Enum):
    """What the parameter of an entrypoint takes.

    Shape: STATE is an object with messages, FIELDS one without; MAPPING is a dict whose keys are not known.
    """

    TEXT = auto()
    MESSAGES = auto()
    STATE = auto()
    FIELDS = auto()
    MAPPING = auto()
    ANYTHING = auto()


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """How an entrypoint is called.

    Shape: kind is the class of its argument, and output that of its return value; None where it is no class with
           fields. form is that of the messages that it reads.
    """

    takes: Takes
    kind: Any = None
    output: Any = None
    schema: Schema = Schema()
    form: Form = Form.MESSAGES

    def placed(self, content: str | None, data: Sequence[Any], ids: Mapping[str, str]) -> Placed | None:
        """A message as its argument; None where it is a message among others.

        Shape: content is the whole message as text where it takes text, else its text without data; None: no text.
        """
        match self.takes:
            case Takes.TEXT:
                return Placed({_ARGUMENT: content or ""})
            case Takes.FIELDS:
                placed = place(self.schema, content, data, ids)
                return placed if placed.problem or self._can_make(placed.values) else Placed(problem=_NOT_MADE)
            case Takes.ANYTHING:
                given = [*data] if content is None else [content, *data]
                fits = len(given) == 1 and given[0] is not None
                return Placed({_ARGUMENT: given[0]}) if fits else Placed(problem=_ONE_VALUE)
            case Takes.MAPPING if content is None and len(data) == 1 and isinstance(data[0], dict):
                return Placed(data[0])
        return None

    def argument(self, given: Any) -> Any:
        """The argument, from the input of a state. Shape: what is no input, such as an answer, is given as it is."""
        if not isinstance(given, dict):
            return given
        if self.takes in (Takes.TEXT, Takes.ANYTHING):
            return given[_ARGUMENT]
        formed = in_form(self.form, given)
        if self.takes is Takes.MESSAGES:
            return formed[MESSAGES]
        return formed if self.takes is Takes.MAPPING else self._made(formed)

    def _can_make(self, values: Mapping[str, Any]) -> bool:
        try:
            self._made(values)
        except Exception:  # noqa: BLE001 -- the project's own class, which may raise anything
            return False
        return True

    def _made(self, values: Mapping[str, Any]) -> Any:
        is_class = is_dataclass(self.kind) or issubclass(self.kind, BaseModel)
        return self.kind(**values) if is_class else dict(values)


def entry_of(graph: Any) -> Entry | None:
    """How a graph of the functional API is called; None for every other graph."""
    if isinstance(graph, CompiledStateGraph) or not isinstance(graph, Pregel):
        return None
    if graph.input_channels != START or not {START, END, _PREVIOUS} <= graph.channels.keys():
        return None
    name, hint, returned = _signature(graph)
    takes, kind = _takes(name, hint)
    schema = Schema() if kind is None else Schema(takes=fields_of(kind, kind_fields(kind)))
    form = Form.MESSAGES
    if takes in (Takes.MESSAGES, Takes.STATE):
        form = form_of_hint(hint if takes is Takes.MESSAGES else _hints(kind).get(MESSAGES))
    return Entry(takes=takes, kind=kind, output=_class_of(_value_of(returned)), schema=schema, form=form)


def state_of(returned: Any) -> dict[str, Any]:
    """What an entrypoint has returned, as a state."""
    if returned is None:
        return {}
    if isinstance(returned, BaseMessage):
        return {MESSAGES: [returned]}
    if isinstance(returned, BaseModel):
        return {name: getattr(returned, name) for name in type(returned).model_fields}
    if is_dataclass(returned) and not isinstance(returned, type):
        return {each.name: getattr(returned, each.name) for each in fields(returned)}
    if isinstance(returned, dict):
        return returned
    if isinstance(returned, list | tuple) and returned:
        messages = {MESSAGES: list(returned)}
        if any(isinstance(each, BaseMessage) for each in returned) and len(readable_messages(messages)) == len(
            returned
        ):
            return messages
    text = returned if isinstance(returned, str) else msgspec.json.encode(json_safe(returned)).decode()
    return {MESSAGES: [AIMessage(text)]}


def kind_fields(kind: Any) -> frozenset[str]:
    """The names of a class's fields."""
    return frozenset(_hints(kind))


def _signature(graph: Any) -> tuple[str, Any, Any]:
    """The name of an entrypoint's parameter, its annotation, and that of the return value; Any for none."""
    [node] = graph.nodes.values()
    code: Callable[..., Any] | None = getattr(node.bound, "func", None) or getattr(node.bound, "afunc", None)
    if code is None:
        return "", graph.channels[START].typ, Any
    first = next(iter(inspect.signature(code).parameters.values()))
    hints = _hints(code)
    return first.name, hints.get(first.name, Any), hints.get("return", Any)


def _takes(name: str, hint: Any) -> tuple[Takes, Any]:
    """What a parameter takes, and its class where that has fields."""
    hint = _bare(hint)
    if is_text(hint):
        return Takes.TEXT, None
    kind = _class_of(hint)
    if kind is not None:
        return (Takes.STATE if MESSAGES in kind_fields(kind) else Takes.FIELDS), kind
    origin = get_origin(hint) or hint
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return Takes.MAPPING, None
    is_list = isinstance(origin, type) and issubclass(origin, Sequence)
    named = name == MESSAGES and (is_list or hint is Any)
    if named or (is_list and any(_holds_messages(each) for each in get_args(hint))):
        return Takes.MESSAGES, None
    return Takes.ANYTHING, None


def _holds_messages(hint: Any) -> bool:
    hint = _bare(hint)
    if isinstance(hint, type):
        return issubclass(hint, BaseMessage)
    return any(_holds_messages(each) for each in get_args(hint))


def _class_of(hint: Any) -> Any:
    """The class of an annotation, if it is one with fields; but for messages, which are text with files."""
    has_fields = isinstance(hint, type) and (
        is_dataclass(hint) or typing_extensions.is_typeddict(hint) or issubclass(hint, BaseModel)
    )
    return hint if has_fields and not issubclass(hint, BaseMessage) else None


def _value_of(returned: Any) -> Any:
    """The annotation of the value that callers get."""
    return get_args(returned)[0] if get_origin(returned) is entrypoint.final else returned


def _bare(hint: Any) -> Any:
    while get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    return hint


def _hints(of: Any) -> Mapping[str, Any]:
    try:
        return get_type_hints(of, include_extras=True)
    except Exception:  # noqa: BLE001 -- names that only a type checker has
        return {}
