"""How an answer to each kind of question is read, and what counts as a clear yes or no."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamon_agent.adapters.langgraph.hitl.formats import (
    AnswerFormat,
    ApprovalWords,
    Free,
    InvalidAnswer,
    OneOf,
    Typed,
    YesNo,
    read_approval,
)
from llamon_agent.domain.events import listed_choices


@pytest.mark.parametrize("text", ["yes", " Yes. ", "OK!", "approve", "go  ahead", "승인", "네", "예.", "승인합니다"])
def test_a_yes_is_read(text: str) -> None:
    assert read_approval(text) == ApprovalWords(approved=True)


@pytest.mark.parametrize("text", ["no", "No.", "reject", "거절", "아니오", "아니요!", "stop"])
def test_a_no_is_read(text: str) -> None:
    assert read_approval(text) == ApprovalWords(approved=False)


@pytest.mark.parametrize("text", ["approve all", "Yes all.", "모두 승인", "전체 승인"])
def test_a_yes_to_all_says_so(text: str) -> None:
    assert read_approval(text) == ApprovalWords(approved=True, everything=True)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("no, keep it", "keep it"),
        ("Reject: wrong file", "wrong file"),
        ("no - yes was a mistake", "yes was a mistake"),
        ("아니오, 그냥 둬", "그냥 둬"),
    ],
)
def test_a_no_keeps_its_reason(text: str, reason: str) -> None:
    assert read_approval(text) == ApprovalWords(approved=False, reason=reason)


@pytest.mark.parametrize(
    "text",
    ["", " ", "yes, delete it", "yes but not that one", "no problem", "yesno", "not sure", "maybe", "all", "네, 지워"],
)
def test_an_unclear_text_is_no_approval(text: str) -> None:
    assert read_approval(text) is None


@given(st.text())
def test_nothing_longer_than_a_known_word_is_ever_a_yes(text: str) -> None:
    verdict = read_approval(f"yes, {text}x")
    assert verdict is None or not verdict.approved


def one_of(options: list[Any]) -> OneOf:
    return OneOf(listed_choices({"options": options}))


NAMED = [{"value": 7, "label": "Seven"}, {"value": 8}]


@pytest.mark.parametrize(
    ("shape", "text", "value"),
    [
        (Free(), "anything", "anything"),
        (Free(), "", ""),
        (YesNo(), "yes", True),
        (YesNo(), "아니오", False),
        (one_of(["approve", "reject"]), "Approve", "approve"),
        (one_of(["approve", "reject"]), "yes", "approve"),
        (one_of(["approve", "reject"]), "no, keep it", "reject"),
        (one_of(["red", "blue"]), " blue ", "blue"),
        (one_of(NAMED), "seven", 7),
        (one_of(NAMED), "8", 8),
        (Typed({"type": "string"}), "42", "42"),
        (Typed({"type": "integer"}), "42", 42),
        (Typed({"type": "boolean"}), "yes", True),
        (Typed({"enum": ["a", "b"]}), "a", "a"),
        (Typed({"type": "object", "required": ["n"]}), '{"n": 1}', {"n": 1}),
    ],
)
def test_text_is_read(shape: AnswerFormat, text: str, value: Any) -> None:
    read = shape.from_text(text)
    assert (type(read), read) == (type(value), value)


@pytest.mark.parametrize(
    ("shape", "data", "value"),
    [
        (Free(), False, False),
        (Free(), 0, 0),
        (Free(), [], []),
        (Free(), {}, {}),
        (YesNo(), True, True),
        (YesNo(), "no", False),
        (one_of(["a", "b"]), "B", "b"),
        (one_of([1, True]), True, True),
        (one_of(NAMED), 8, 8),
        (Typed({"type": "array"}), [1], [1]),
    ],
)
def test_data_is_read(shape: AnswerFormat, data: Any, value: Any) -> None:
    read = shape.from_data(data)
    assert (type(read), read) == (type(value), value)


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        (YesNo(), "yes, delete it"),
        (one_of(["approve", "reject"]), "yes, delete it"),
        (one_of(["approve", "accept", "reject"]), "yes"),
        (one_of(["red", "blue"]), "yes"),
        (Typed({"type": "integer"}), "many"),
        (Typed({"type": "object"}), "{not json"),
    ],
)
def test_text_that_is_not_clear_is_an_invalid_answer(shape: AnswerFormat, text: str) -> None:
    with pytest.raises(InvalidAnswer):
        shape.from_text(text)


@pytest.mark.parametrize(
    ("shape", "data"),
    [(Free(), None), (YesNo(), 1), (one_of([1]), True), (one_of(["a"]), 1), (Typed({"type": "null"}), 0)],
)
def test_data_that_does_not_fit_is_an_invalid_answer(shape: AnswerFormat, data: Any) -> None:
    with pytest.raises(InvalidAnswer):
        shape.from_data(data)


def test_hints_say_what_to_answer() -> None:
    assert Free().hint == ""
    assert "yes" in YesNo().hint
    assert one_of(NAMED).hint == "Answer one of: Seven, 8."
    assert '{"type":"string"}' in Typed({"type": "string"}).hint
