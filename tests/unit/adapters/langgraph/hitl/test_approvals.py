from typing import Any

import pytest

from llamon_agent.adapters.langgraph.hitl.approvals import Decision, Decisions, Inbox
from llamon_agent.adapters.langgraph.hitl.formats import InvalidAnswer

EDIT = {"type": "edit", "edited_action": {"name": "delete", "args": {"name": "b.txt"}}}


def batch(*allowed: list[str]) -> dict[str, Any]:
    names = [f"tool{place}" for place in range(len(allowed))]
    return {
        "action_requests": [{"name": name, "args": {}} for name in names],
        "review_configs": [
            {"action_name": name, "allowed_decisions": kinds} for name, kinds in zip(names, allowed, strict=True)
        ],
    }


ALL = ["approve", "edit", "reject", "respond"]


@pytest.mark.parametrize(
    ("request_", "text", "decisions"),
    [
        (batch(ALL), "yes", [{"type": "approve"}]),
        (batch(ALL), "no", [{"type": "reject"}]),
        (batch(ALL), "no, keep it", [{"type": "reject", "message": "keep it"}]),
        (batch(["respond"]), "blue, please", [{"type": "respond", "message": "blue, please"}]),
        (batch(ALL, ALL), "approve all", [{"type": "approve"}] * 2),
        (batch(ALL, ALL), "no", [{"type": "reject"}] * 2),
    ],
)
def test_a_batch_is_decided_in_words(request_: Any, text: str, decisions: Any) -> None:
    assert Decisions(request_).from_text(text) == {"decisions": decisions}


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        (batch(ALL), "yes, delete it"),
        (batch(ALL), "whatever"),
        (batch(["edit", "reject"]), "yes"),
        (batch(["approve"]), "no"),
        (batch(ALL, ALL), "yes"),
        (batch(ALL, ["reject"]), "approve all"),
    ],
)
def test_a_batch_is_not_decided_by_unclear_words(request_: Any, text: str) -> None:
    with pytest.raises(InvalidAnswer):
        Decisions(request_).from_text(text)


@pytest.mark.parametrize(
    ("request_", "data", "decisions"),
    [
        (batch(ALL), {"decisions": [{"type": "approve"}]}, [{"type": "approve"}]),
        (batch(ALL), {"type": "approve"}, [{"type": "approve"}]),
        (batch(ALL), True, [{"type": "approve"}]),
        (batch(ALL), "reject", [{"type": "reject"}]),
        (batch(ALL), {"decisions": [EDIT]}, [EDIT]),
        (
            batch(ALL, ALL),
            {"decisions": [EDIT, {"type": "respond", "message": "m"}]},
            [EDIT, {"type": "respond", "message": "m"}],
        ),
    ],
)
def test_a_batch_is_decided_by_data(request_: Any, data: Any, decisions: Any) -> None:
    assert Decisions(request_).from_data(data) == {"decisions": decisions}


@pytest.mark.parametrize(
    ("request_", "data"),
    [
        (batch(ALL), {}),
        (batch(ALL), None),
        (batch(ALL), {"decisions": []}),
        (batch(ALL), {"decisions": "approve"}),
        (batch(ALL), {"decisions": [{"type": "shrug"}]}),
        (batch(["reject"]), {"decisions": [{"type": "approve"}]}),
        (batch(ALL), {"decisions": [{"type": "edit", "edited_action": {"name": "x"}}]}),
        (batch(ALL), {"decisions": [{"type": "respond"}]}),
        (batch(ALL), {"decisions": [{"type": "reject", "message": 3}]}),
        (batch(ALL, ALL), {"decisions": [{"type": "approve"}]}),
        (batch(ALL, ALL), {"type": "approve"}),
        (batch(ALL, ALL), True),
    ],
)
def test_a_batch_refuses_data_that_does_not_fit(request_: Any, data: Any) -> None:
    with pytest.raises(InvalidAnswer):
        Decisions(request_).from_data(data)


@pytest.mark.parametrize(
    "value",
    [None, [], {}, {"action_requests": []}, {"action_requests": [{}], "review_configs": [{"action_name": "x"}]}],
)
def test_other_values_are_no_batch(value: Any) -> None:
    assert not Decisions.fits(value)


def schema(*kinds: str) -> dict[str, Any]:
    types = [{"type": {"const": kind}} for kind in kinds]
    return {"oneOf": [{"type": "object", "properties": fields, "required": ["type"]} for fields in types]}


def test_one_call_is_decided_as_its_schema_allows() -> None:
    asks = Decision(schema("approve", "reject"))
    assert asks.from_text("ok") == {"type": "approve"}
    assert asks.from_data({"type": "reject", "message": "no"}) == {"type": "reject", "message": "no"}
    assert asks.from_data(False) == {"type": "reject"}
    assert asks.hint == "Answer approve or reject."
    with pytest.raises(InvalidAnswer):
        asks.from_data(EDIT)
    with pytest.raises(InvalidAnswer):
        Decision(schema("reject")).from_text("yes")


def test_one_call_without_a_schema_takes_yes_or_no() -> None:
    assert Decision(None).from_text("yes") == {"type": "approve"}


def inbox(**allowed: bool) -> dict[str, Any]:
    return {"action_request": {"action": "send", "args": {}}, "config": allowed, "description": "Send?"}


OPEN = inbox(allow_accept=True, allow_ignore=True, allow_respond=True, allow_edit=True)
SHUT = inbox(allow_accept=True, allow_ignore=True)


@pytest.mark.parametrize(
    ("value", "text", "responses"),
    [
        (OPEN, "yes", [{"type": "accept", "args": None}]),
        ([OPEN], "no", [{"type": "ignore", "args": None}]),
        (OPEN, "no, be kinder", [{"type": "response", "args": "no, be kinder"}]),
        (OPEN, "be kinder", [{"type": "response", "args": "be kinder"}]),
        (SHUT, "no, be kinder", [{"type": "ignore", "args": None}]),
        ([OPEN, SHUT], "approve all", [{"type": "accept", "args": None}] * 2),
    ],
)
def test_the_inbox_is_answered_in_words(value: Any, text: str, responses: Any) -> None:
    assert Inbox.fits(value)
    assert Inbox(value).from_text(text) == responses


@pytest.mark.parametrize(
    ("value", "text"),
    [(SHUT, "yes, send it"), (inbox(allow_respond=True), "yes"), ([OPEN, OPEN], "yes"), ([OPEN, OPEN], "be kinder")],
)
def test_the_inbox_is_not_answered_by_unclear_words(value: Any, text: str) -> None:
    with pytest.raises(InvalidAnswer):
        Inbox(value).from_text(text)


def test_the_inbox_is_answered_by_data() -> None:
    edit = {"type": "edit", "args": {"action": "send", "args": {"to": "b"}}}
    assert Inbox(OPEN).from_data({"type": "accept"}) == [{"type": "accept", "args": None}]
    assert Inbox([OPEN, OPEN]).from_data([edit, {"type": "response", "args": "hm"}]) == [
        edit,
        {"type": "response", "args": "hm"},
    ]
    assert Inbox(OPEN).from_data(True) == [{"type": "accept", "args": None}]


@pytest.mark.parametrize(
    "data", [{}, {"type": "edit"}, {"type": "response"}, [], [{"type": "accept"}] * 2, 3, {"type": "x"}]
)
def test_the_inbox_refuses_data_that_does_not_fit(data: Any) -> None:
    with pytest.raises(InvalidAnswer):
        Inbox(OPEN).from_data(data)


def test_hints_name_what_is_allowed() -> None:
    assert Decisions(batch(ALL)).hint == (
        "Answer approve, reject or 'respond: <text>', or edit with data: "
        '{"type": "edit", "edited_action": {"name": ..., "args": {...}}}.'
    )
    assert Decisions(batch(["respond"])).hint == "Answer with the text of your response."
    assert Decisions(batch(["edit"])).hint.startswith("Edit with data")
    assert Inbox(OPEN).hint == (
        "Answer accept, ignore or any other text as a response, or edit with data: "
        '{"type": "edit", "args": {"action": ..., "args": {...}}}.'
    )
    assert "approve all" in Decisions(batch(ALL, ALL)).hint
    assert Inbox(SHUT).hint == "Answer accept or ignore."
    assert "approve all" in Inbox([SHUT, SHUT]).hint


def test_what_a_hint_offers_is_taken() -> None:
    assert Decisions(batch(ALL)).from_text("respond: use name z") == {
        "decisions": [{"type": "respond", "message": "use name z"}]
    }
    assert Decision(schema("approve", "respond")).from_text("Response：\n use name z ") == {
        "type": "respond",
        "message": "use name z",
    }
    with pytest.raises(InvalidAnswer, match="not a clear approval"):
        Decision(schema("approve", "reject")).from_text("respond: use name z")
    assert Inbox(OPEN).from_text("respond: be kinder") == [{"type": "response", "args": "be kinder"}]
    assert Inbox(OPEN).from_text("ignore") == [{"type": "ignore", "args": None}]


@pytest.mark.parametrize("wrap", [lambda responses: responses, lambda responses: {"responses": responses}])
def test_a_batch_of_the_inbox_is_answered_by_an_array_or_an_object_with_it(wrap: Any) -> None:
    """A data part of 0.3 is an object."""
    responses = [{"type": "accept", "args": None}, {"type": "ignore", "args": None}]
    assert Inbox([OPEN, SHUT]).from_data(wrap(responses)) == responses
