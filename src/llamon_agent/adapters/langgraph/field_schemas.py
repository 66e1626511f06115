"""What a graph without `messages` takes and gives, for its card: as JSON Schema for programs, and in words.

The specification has no place for a schema in a card except the params of an extension. The words are a skill, as hosts
show skills to people and to models that choose an agent.
"""

import logging
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from langgraph.graph.state import CompiledStateGraph
from pydantic import BaseModel, TypeAdapter
from pydantic import Field as SchemaField
from pydantic.json_schema import JsonSchemaMode

from llamon_agent.adapters.langgraph.entrypoint import kind_fields
from llamon_agent.adapters.langgraph.hitl.questions import json_safe
from llamon_agent.adapters.langgraph.messages import MESSAGES
from llamon_agent.adapters.langgraph.schema import MARKS, Field, fields_of, is_id
from llamon_agent.adapters.langgraph.state import StateUse
from llamon_agent.adapters.langgraph.thread import Graph
from llamon_agent.domain.profile import Extension, Skill

FIELDS_URI = "https://llamon-agent.example/extensions/fields/v1"
"""docs/extensions/fields.md is its document."""

Json = dict[str, Any]

log = logging.getLogger(__name__)


def fields_extension(graph: Graph, use: StateUse) -> Extension | None:
    """The schemas of what a graph takes and gives; None where both are messages, or keys are configured for both."""
    if use.entry is not None:
        taken, given_by = use.entry.kind, use.entry.output
        given = [] if given_by is None else fields_of(given_by, kind_fields(given_by))
    elif isinstance(graph, CompiledStateGraph):
        taken, given_by = graph.builder.input_schema, graph.builder.output_schema
        given = use.schema.gives if use.gives_fields else ()
    else:
        return None
    params: Json = {}
    if use.takes_fields:
        params["input"] = _object(taken, use.schema.takes, "validation")
        required = [each.name for each in use.schema.takes if each.is_required and not is_id(each.name)]
        params["input"] |= {"required": required}
        if use.schema.text_field is not None:
            params["textField"] = use.schema.text_field
    if use.gives_fields or given:
        rest = [each for each in given if each.name != MESSAGES]
        params["output"] = _object(given_by, rest, "serialization")
    if not params:
        return None
    return Extension(uri=FIELDS_URI, description="Takes and gives the fields of a state, as data parts.", params=params)


def fields_skill(use: StateUse) -> Skill | None:
    """What a message may hold, in words; None where it is a text as for any agent."""
    if not use.takes_fields:
        return None
    text_field = use.schema.text_field
    text = "Text alone belongs to none of them." if text_field is None else f"Text is the field {text_field}."
    return Skill(
        id="fields",
        name="Fields",
        description=f"Takes data parts with these fields: {use.schema.listed()}. {text}",
        tags=("input",),
    )


def _object(schema: Any, of_fields: Sequence[Field], mode: JsonSchemaMode) -> Json:
    """The JSON Schema of some fields of a schema. Shape: an empty one for a field that has no such form."""
    hints = _described(schema)
    adapters = {each.name: _adapter(hints[each.name], mode) for each in of_fields}
    known = [(name, mode, adapter) for name, adapter in adapters.items() if adapter is not None]
    with warnings.catch_warnings(action="ignore"):  # of defaults that have no form, which are left out
        found, definitions = TypeAdapter.json_schemas(known)
    made = {
        "type": "object",
        "properties": {name: found.get((name, mode), {}) for name in adapters},
        **definitions,
    }
    safe: Json = json_safe(made)
    return safe


def _adapter(hint: Any, mode: JsonSchemaMode) -> TypeAdapter[Any] | None:
    """An adapter that can say its schema; None where there is none."""
    try:
        with warnings.catch_warnings(action="ignore"):
            adapter = TypeAdapter(hint)
            adapter.json_schema(mode=mode)
    except Exception:  # the annotations are the project's, and their classes may run any code for their schema
        log.debug("a field has no JSON Schema on the card", exc_info=True)
        return None
    return adapter


def _described(schema: Any) -> Mapping[str, Any]:
    """The annotations of a schema, with the descriptions and defaults that it gives to its fields."""
    if issubclass(schema, BaseModel):
        return {name: Annotated[each.annotation, each] for name, each in schema.model_fields.items()}
    hints = get_type_hints(schema, include_extras=True)
    if is_dataclass(schema):
        return hints | {
            each.name: Annotated[hints[each.name], SchemaField(default=each.default)]
            for each in fields(schema)
            if each.default is not MISSING
        }
    return {name: get_args(hint)[0] if get_origin(hint) in MARKS else hint for name, hint in hints.items()}
