import pytest

from llamon_agent.adapters.process.agent import of_caller
from llamon_agent.domain.caller import Caller, Private

ANN = Caller(
    principal="ann",
    tenant="blue",
    scopes=("read", "send"),
    claims=Private({"team": "t", "ids": [1], "odd": "a\0b", "lone": "\ud800"}),
    headers=Private({"x-user-id": "7"}),
)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("principal", "ann"),
        ("tenant", "blue"),
        ("scopes", "read send"),
        ("claim:team", "t"),
        ("claim:ids", "[1]"),
        ("claim:lone", "\ufffd"),
        ("header:x-user-id", "7"),
    ],
)
def test_a_variable_holds_what_the_caller_has(field: str, value: str) -> None:
    assert of_caller(ANN, {"WHO": field}) == {"WHO": value}


@pytest.mark.parametrize("field", ["claim:none", "header:x-none", "claim:odd"])
def test_what_the_caller_has_not_is_not_set(field: str) -> None:
    assert of_caller(ANN, {"WHO": field}) == {}


@pytest.mark.parametrize("field", ["tenant", "scopes", "claim:team", "header:x-user-id"])
def test_a_caller_without_anything_sets_its_principal_only(field: str) -> None:
    assert of_caller(Caller(), {"WHO": field, "ID": "principal"}) == {"ID": "default"}
