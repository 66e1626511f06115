"""A light check of an answer against the JSON Schema that a question carries.

It knows the keywords that answers to questions use: type, const, enum, required, properties, additionalProperties,
items, anyOf, oneOf, allOf and local $ref. It ignores all others: the graph checks again when it resumes, and the
purpose of this check is to ask again early and in words.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

from llamon_agent.domain.message import Metadata

_MAX_DEPTH = 32
"""How deep a schema is followed; a schema that refers to itself without end is not checked below that."""

_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int | float) and not isinstance(value, bool) and _is_whole(value),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


def mismatch(value: Any, schema: Metadata) -> str | None:
    """Why a JSON value does not fit a schema, in a few words; None where it fits."""
    return _mismatch(value, schema, schema, 0)


def resolved(schema: Any, root: Metadata) -> Metadata:
    """A schema with its own local `$ref` followed once; an empty one where there is nothing to follow."""
    if not isinstance(schema, dict):
        return {}
    ref = schema.get("$ref")
    if not isinstance(ref, str):
        return schema
    found: Any = root
    for key in ref.removeprefix("#/").split("/"):
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def branches(schema: Metadata, root: Metadata) -> list[Metadata]:
    """The alternatives of a schema, itself if it offers none."""
    schema = resolved(schema, root)
    for key in ("oneOf", "anyOf"):
        if isinstance(options := schema.get(key), list):
            return [resolved(option, root) for option in options]
    return [schema]


def _mismatch(value: Any, schema: Any, root: Metadata, depth: int) -> str | None:
    schema = resolved(schema, root)
    if depth > _MAX_DEPTH:
        return None
    if "const" in schema and not _same(value, schema["const"]):
        return f"it must be {schema['const']!r}"
    if isinstance(options := schema.get("enum"), list) and not any(_same(value, option) for option in options):
        return "it must be one of " + ", ".join(repr(option) for option in options)
    if (names := _type_names(schema)) and not any(_TYPES[name](value) for name in names):
        return "it must be of type " + " or ".join(names)
    return _mismatch_of_branches(value, schema, root, depth) or _mismatch_inside(value, schema, root, depth)


def _mismatch_of_branches(value: Any, schema: Metadata, root: Metadata, depth: int) -> str | None:
    for key in ("oneOf", "anyOf"):
        if isinstance(options := schema.get(key), list):
            reasons = [_mismatch(value, option, root, depth + 1) for option in options]
            if all(reasons):
                return reasons[0] if len(reasons) == 1 else "it fits none of the allowed forms"
    for option in _list(schema.get("allOf")):
        if reason := _mismatch(value, option, root, depth + 1):
            return reason
    return None


def _mismatch_inside(value: Any, schema: Metadata, root: Metadata, depth: int) -> str | None:
    if isinstance(value, dict):
        return _mismatch_of_object(value, schema, root, depth)
    if isinstance(value, list) and "items" in schema:
        for item in value:
            if reason := _mismatch(item, schema["items"], root, depth + 1):
                return f"an item does not fit: {reason}"
    return None


def _mismatch_of_object(value: Metadata, schema: Metadata, root: Metadata, depth: int) -> str | None:
    if missing := [key for key in _list(schema.get("required")) if key not in value]:
        return f"'{missing[0]}' is missing"
    properties = schema.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    if schema.get("additionalProperties") is False and (extra := sorted(value.keys() - properties.keys())):
        return f"'{extra[0]}' does not belong there"
    for key, inner in properties.items():
        if key in value and (reason := _mismatch(value[key], inner, root, depth + 1)):
            return f"'{key}' does not fit: {reason}"
    return None


def _type_names(schema: Metadata) -> list[str]:
    named = schema.get("type")
    names = named if isinstance(named, list) else [named]
    return [name for name in names if isinstance(name, str) and name in _TYPES]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_whole(value: float) -> bool:
    return math.isfinite(value) and value == math.floor(value)


def _same(one: Any, other: Any) -> bool:
    """Equal as JSON: true is not 1."""
    return isinstance(one, bool) is isinstance(other, bool) and bool(one == other)
