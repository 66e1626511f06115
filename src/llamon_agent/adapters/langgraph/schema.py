"""The fields of a graph without `messages`: which of them a message fills, and which ones are its answer.

In: a data part whose keys are all fields of the input is the input. Text fills the only required string field, else the
only string field, else the only one that the first step reads. Fields for the ids of the call are filled by themselves.
Text or data without a field is refused: nothing is guessed, and nothing that a caller sent is lost.

Out: the fields that the run wrote, besides `messages`, are the answer. The only string among them is its text. The
field that the caller's text filled counts as that only where no other string was written.
"""

from collections.abc import Collection, Mapping
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec
import typing_extensions
from langgraph.channels.last_value import LastValue
from langgraph.graph.state import CompiledStateGraph
from pydantic import BaseModel

from llamon_agent.adapters.langgraph.first_reads import first_reads, never_reads
from llamon_agent.adapters.langgraph.hitl.questions import json_safe
from llamon_agent.adapters.langgraph.messages import MESSAGES

IDS = ("context_id", "task_id", "thread_id")

_ID_OF = {name: name for name in IDS} | {"contextId": "context_id", "taskId": "task_id", "threadId": "thread_id"}
"""The names of fields for ids, and which id each one is for."""

MARKS = (typing_extensions.Required, typing_extensions.NotRequired)
"""Around the annotation of a field of a `TypedDict`."""


class Field(msgspec.Struct, frozen=True):
    """A field of a schema. Shape: is_text: it is a string, or a string or nothing."""

    name: str
    is_text: bool
    is_required: bool


class Schema(msgspec.Struct, frozen=True):
    """What a graph takes and gives, without its managed values.

    Shape: first_read is the only one of several string fields that the first step reads; None: it is not known, or not
           needed.
    """

    takes: tuple[Field, ...] = ()
    gives: tuple[Field, ...] = ()
    first_read: str | None = None

    @property
    def text_field(self) -> str | None:
        """The field that text fills; None where there is no such field, or several."""
        texts = _texts(self.takes)
        required = [each.name for each in texts if each.is_required]
        return _only(required) or _only([each.name for each in texts]) or self.first_read

    def listed(self) -> str:
        """The fields of the input, in words."""
        return ", ".join(each.name for each in self.takes if each.name not in _ID_OF) or "none"


class Placed(msgspec.Struct, frozen=True):
    """A message as the input of a graph. Shape: problem says why it is none, in words for the caller."""

    values: Mapping[str, Any] = {}
    problem: str | None = None


def is_id(name: str) -> bool:
    """Whether a field of this name is for an id of the call."""
    return name in _ID_OF


def schema_of(graph: Any) -> Schema:
    """The schema of a graph; one without fields for a graph that is not made of a state with named keys."""
    if not isinstance(graph, CompiledStateGraph):
        return Schema()
    builder = graph.builder
    takes, gives = (fields_of(each, builder.channels) for each in (builder.input_schema, builder.output_schema))
    return Schema(takes=takes, gives=gives, first_read=_first_read(builder, takes))


def ignores_messages(graph: Any) -> bool:
    """Whether a graph that has `messages` is called with other fields.

    That is so if the first step needs a required field, which only the caller can fill, and no node reads the messages.
    """
    if not isinstance(graph, CompiledStateGraph):
        return False
    channels = graph.builder.channels
    required = {each.name for each in fields_of(graph.builder.input_schema, channels) if each.is_required} - {MESSAGES}
    only_sent = {name for name in required if type(channels[name]) is LastValue}
    reads = first_reads(graph.builder) if only_sent else None
    return reads is not None and bool(reads.needed & only_sent) and never_reads(graph.builder, MESSAGES)


def _first_read(builder: Any, takes: Collection[Field]) -> str | None:
    """The only string field that the first step reads, if a text alone can be the input then."""
    texts = [each.name for each in _texts(takes)]
    reads = first_reads(builder) if len(texts) > 1 else None
    if reads is None:
        return None
    found = _only([name for name in texts if name in reads.needed]) or _only(
        [name for name in texts if name in reads.needed | reads.optional]
    )
    others = [each.name for each in takes if each.is_required and each.name != found]
    return found if typing_extensions.is_typeddict(builder.input_schema) or not others else None


def _texts(takes: Collection[Field]) -> list[Field]:
    """The string fields that are for no id of the call."""
    return [each for each in takes if each.is_text and each.name not in _ID_OF]


def place(schema: Schema, text: str | None, data: Collection[Any], ids: Mapping[str, str]) -> Placed:
    """The input that a message is.

    Shape: text is None where the message has none; data are its data parts; ids are those of the call, by IDS.
    """
    names = {each.name for each in schema.takes}
    values: dict[str, Any] = {}
    for each in data:
        if not isinstance(each, dict) or not each or not each.keys() <= names or each.keys() & values.keys():
            return _misfit("a data part must be an object of fields of its input, each of them once", schema)
        values |= each
    if text is not None:
        field = schema.text_field
        if field is None:
            return _misfit("text belongs to no single field of its input; send a data part with the field", schema)
        if field in values:
            return _misfit(f"text belongs to the field {field}, which a data part has filled", schema)
        values[field] = text
    return Placed(_ids_for(schema, ids) | values)


def written_fields(
    schema: Schema, begun: Any, after: Any, written: Collection[str], filled: Collection[str]
) -> dict[str, Any]:
    """The fields that a run wrote, as JSON.

    Shape: begun and after are the state with the input and at the end; written are the keys that nodes wrote, as far as
           that is known; filled are those that the message filled, which count only if their value has changed.
    """
    begun, after = (values if isinstance(values, dict) else {} for values in (begun, after))
    names = [each.name for each in schema.gives if each.name in after and each.name != MESSAGES]
    old = {name: json_safe(begun[name]) for name in names if name in begun}
    new = {name: json_safe(after[name]) for name in names}
    return {
        name: value
        for name, value in new.items()
        if name not in old or old[name] != value or (name in written and name not in filled)
    }


def text_among(schema: Schema, names: Collection[str], text_field: str | None) -> str | None:
    """The field that is the text of an answer of these fields; None where there is no such field, or several."""
    texts = [each.name for each in schema.gives if each.is_text and each.name in names and each.name not in _ID_OF]
    return _only([name for name in texts if name != text_field]) or (_only(texts) if texts == [text_field] else None)


def required_fields(schema: Any) -> list[str]:
    """The names of a dataclass's fields that have no default."""
    return [
        each.name
        for each in fields(schema)
        if each.init and each.default is MISSING and each.default_factory is MISSING
    ]


def _misfit(problem: str, schema: Schema) -> Placed:
    return Placed(problem=f"This agent cannot take the message: {problem}. Its fields: {schema.listed()}.")


def _ids_for(schema: Schema, ids: Mapping[str, str]) -> dict[str, Any]:
    wanted = {each.name: _ID_OF[each.name] for each in schema.takes if each.is_text and each.name in _ID_OF}
    return {name: ids[id_name] for name, id_name in wanted.items() if id_name in ids}


def _only(names: list[str]) -> str | None:
    return names[0] if len(names) == 1 else None


def fields_of(schema: Any, known: Collection[str]) -> tuple[Field, ...]:
    """The fields of a schema that are known, such as the channels of a graph.

    LangGraph has read its annotations in the same way before. Its own `get_input_jsonschema` refuses a
    `typing.TypedDict` before Python 3.12.
    """
    if not hasattr(schema, "__annotations__"):
        return ()
    hints = get_type_hints(schema, include_extras=True)
    names = [name for name in hints if name in known]
    return tuple(Field(name, is_text(hints[name]), _is_required(schema, name, hints[name])) for name in names)


def _is_required(schema: Any, name: str, hint: Any) -> bool:
    if issubclass(schema, BaseModel):
        return name in schema.model_fields and schema.model_fields[name].is_required()
    if is_dataclass(schema):
        return name in required_fields(schema)
    if get_origin(hint) in MARKS:  # with annotations that are kept as strings, __required_keys__ lacks these marks
        return get_origin(hint) is typing_extensions.Required
    return name in getattr(schema, "__required_keys__", ())


def is_text(hint: Any) -> bool:
    """Whether an annotation is a string, or a string or nothing."""
    origin = get_origin(hint)
    if origin is Annotated or origin in MARKS:
        return is_text(get_args(hint)[0])
    if origin is Union or origin is UnionType:
        return all(each is NoneType or is_text(each) for each in get_args(hint))
    return hint is str
