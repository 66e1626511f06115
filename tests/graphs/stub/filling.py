"""A plausible value for a JSON Schema, always the same one for the same words.

Source: JSON Schema 2020-12, as OpenAI's strict mode, pydantic and LangChain write it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

Schema = Mapping[str, Any]

_FORMATS = {
    "date": "2026-01-02",
    "date-time": "2026-01-02T10:00:00Z",
    "email": "someone@example.com",
    "time": "10:00:00Z",
    "uri": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}
_LONGEST = 160
_DEEPEST = 12
"""Past this, lists are empty and what may be null is null: a schema may contain itself."""


def fill(schema: Schema, text: str = "a short text") -> Any:
    """A value of the schema.

    Shape: an enum is the value that the text names, else its first; a boolean is true unless the text says "no"; a list
           has one item, an object its required keys; strings are the end of the text.
    """
    return _value(schema, schema, text, 0)


def _value(schema: Schema, root: Schema, text: str, depth: int) -> Any:
    schema = _resolved(schema, root)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return named(schema["enum"], text)
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return _value(_wanted(schema[key], depth), root, text, depth + 1)
    match _type(schema):
        case "object":
            return _object(schema, root, text, depth)
        case "array":
            return _array(schema, root, text, depth)
        case "integer" | "number" as kind:
            return _number(schema, kind)
        case "boolean":
            return "no" not in text.split()
        case "null":
            return None
    return _FORMATS.get(schema.get("format", ""), text[-min(schema.get("maxLength", _LONGEST), _LONGEST) :])


def named(options: Sequence[Any], text: str) -> Any:
    """The option that is a word of the text, else the first."""
    words = set(text.split())
    return next((option for option in options if option in words), options[0])


def _resolved(schema: Schema, root: Schema) -> Schema:
    """Without references, and with what `allOf` joins."""
    while "$ref" in schema:
        found: Any = root
        for step in schema["$ref"].removeprefix("#").strip("/").split("/"):
            found = found[step] if step else found
        schema = {**found, **{key: value for key, value in schema.items() if key != "$ref"}}
    joined = dict(schema)
    for part in joined.pop("allOf", ()):
        part = _resolved(part, root)
        properties = {**joined.get("properties", {}), **part.get("properties", {})}
        required = [*joined.get("required", ()), *part.get("required", ())]
        joined |= dict(part) | ({"properties": properties, "required": required} if properties else {})
    return joined


def _wanted(options: list[Schema], depth: int) -> Schema:
    """The first that is not null; null, where the schema goes deep or does not say what else it may be."""
    nulls = [option for option in options if option.get("type") == "null"]
    others = [option for option in options if option.get("type") != "null" and option]
    return (nulls if nulls and depth > _DEEPEST else others or nulls or options)[0]


def _type(schema: Schema) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((each for each in kind if each != "null"), "null")
    if kind is None:
        kind = "object" if "properties" in schema else "array" if "items" in schema else "string"
    return str(kind)


def _object(schema: Schema, root: Schema, text: str, depth: int) -> dict[str, Any]:
    properties = schema.get("properties", {})
    names = [name for name in schema.get("required", ()) if name in properties]
    return {name: _value(properties[name], root, text, depth + 1) for name in names}


def _array(schema: Schema, root: Schema, text: str, depth: int) -> list[Any]:
    if "prefixItems" in schema:
        return [_value(item, root, text, depth + 1) for item in schema["prefixItems"]]
    least = schema.get("minItems", 0)
    count = least if depth > _DEEPEST else max(1, least)
    return [_value(schema.get("items") or {}, root, text, depth + 1) for _ in range(count)]


def _number(schema: Schema, kind: str) -> float:
    least = schema.get("minimum", schema.get("exclusiveMinimum", 0))
    value = max(1, least + ("exclusiveMinimum" in schema))
    value = min(value, schema.get("maximum", value))
    return int(value) if kind == "integer" else float(value)
