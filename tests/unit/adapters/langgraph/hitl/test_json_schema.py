from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamon_agent.adapters.langgraph.hitl.json_schema import branches, mismatch

DECISION = {
    "oneOf": [{"$ref": "#/$defs/Approve"}, {"$ref": "#/$defs/Reject"}],
    "$defs": {
        "Approve": {"type": "object", "properties": {"type": {"const": "approve"}}, "required": ["type"]},
        "Reject": {
            "type": "object",
            "properties": {"type": {"const": "reject"}, "message": {"type": "string"}},
            "required": ["type"],
            "additionalProperties": False,
        },
    },
}


@pytest.mark.parametrize(
    ("value", "schema", "reason"),
    [
        ("a", {"type": "string"}, None),
        (1, {"type": "string"}, "it must be of type string"),
        (True, {"type": "integer"}, "it must be of type integer"),
        (2.0, {"type": "integer"}, None),
        (float("inf"), {"type": "integer"}, "it must be of type integer"),
        (None, {"type": ["string", "null"]}, None),
        ("c", {"enum": ["a", "b"]}, "it must be one of 'a', 'b'"),
        (1, {"const": True}, "it must be True"),
        ({}, {"required": ["name"]}, "'name' is missing"),
        ({"x": 1}, {"properties": {}, "additionalProperties": False}, "'x' does not belong there"),
        ({"n": "1"}, {"properties": {"n": {"type": "number"}}}, "'n' does not fit: it must be of type number"),
        ([1, "2"], {"items": {"type": "number"}}, "an item does not fit: it must be of type number"),
        ({"type": "approve"}, DECISION, None),
        ({"type": "edit"}, DECISION, "it fits none of the allowed forms"),
        ({"type": "reject", "message": "no", "x": 1}, DECISION, "it fits none of the allowed forms"),
        ("a", {"allOf": [{"type": "string"}, {"const": "b"}]}, "it must be 'b'"),
        ("a", {"format": "unheard of", "type": ["weird"]}, None),
        ("a", {"$ref": "#/nowhere"}, None),
    ],
)
def test_a_value_is_checked(value: Any, schema: dict[str, Any], reason: str | None) -> None:
    assert mismatch(value, schema) == reason


def test_a_schema_that_refers_to_itself_ends() -> None:
    assert mismatch({"a": 1}, {"$defs": {"x": {"allOf": [{"$ref": "#/$defs/x"}]}}, "$ref": "#/$defs/x"}) is None


def test_branches_are_followed_to_what_they_name() -> None:
    assert branches(DECISION, DECISION) == list(DECISION["$defs"].values())  # type: ignore[attr-defined]
    assert branches({"type": "string"}, {}) == [{"type": "string"}]


scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["a", "b", ""])
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner)
)
schemas = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["string", "integer", "boolean", "null", "array", "object"]),
            "const": scalars,
        },
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "properties": st.dictionaries(st.sampled_from("ab"), inner),
            "required": st.lists(st.sampled_from("ab"), unique=True),
            "items": inner,
            "enum": st.lists(scalars, min_size=1, max_size=3),
        },
    ),
    max_leaves=6,
)


@given(values, schemas)
def test_it_agrees_with_the_full_checker_on_the_keywords_it_knows(value: Any, schema: dict[str, Any]) -> None:
    assert (mismatch(value, schema) is None) is jsonschema.Draft202012Validator(schema).is_valid(value)
