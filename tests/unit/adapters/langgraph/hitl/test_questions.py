import enum
from array import array
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage
from langgraph.types import Interrupt as GraphInterrupt

from llamon_agent.adapters.langgraph.hitl.questions import (
    CallerAnswer,
    Resume,
    Unclear,
    ask,
    decide_answer,
    format_of,
    json_safe,
    question_of,
)
from llamon_agent.domain.events import Question
from llamon_agent.domain.message import Data, Message, Part, Raw, Role, Text, Url

FREE = Question(id="q1", value="how many?")
COLOUR = Question(id="q2", value={"question": "which?", "options": ["red", "blue"]})


class Colour(enum.Enum):
    RED = "red"


def test_a_pending_interrupt_becomes_a_question() -> None:
    pending: GraphInterrupt[Any] = GraphInterrupt({"a": (1, 2)}, id="x", response_schema={"type": "string"})
    assert question_of(pending) == Question(id="x", value={"a": [1, 2]}, schema={"type": "string"})


def test_a_python_type_as_schema_is_left_out() -> None:
    assert question_of(GraphInterrupt("a", id="x", response_schema=str)).schema is None


@pytest.mark.parametrize(
    ("value", "safe"),
    [
        (float("nan"), None),
        (Colour.RED, "red"),
        ({1: b"\xff"}, {"1": "_w=="}),
        (object(), "<object>"),
        ({"e": ValueError("secret")}, {"e": "<ValueError>"}),
        ({"n": array("i", [1, 2])}, {"n": [1, 2]}),
        ({"\ud800": 1}, {"\ufffd": 1}),
        pytest.param(10**5000, "<int>", id="digits"),
        ({"n": [1, {"half": "\ud83d of it"}]}, {"n": [1, {"half": "\ufffd of it"}]}),
    ],
)
def test_what_is_not_json_is_made_so_without_its_text(value: Any, safe: Any) -> None:
    assert json_safe(value) == safe


def test_a_value_that_contains_itself_is_named_only() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert json_safe(loop) == "<list>"


def test_a_message_in_a_question_is_an_object() -> None:
    assert json_safe({"m": HumanMessage("hi")})["m"]["content"] == "hi"


@given(st.recursive(st.none() | st.floats() | st.binary() | st.text(), lambda inner: st.lists(inner), max_leaves=5))
def test_every_safe_value_has_a_json_form(value: Any) -> None:
    safe = json_safe(value)
    assert msgspec.json.decode(msgspec.json.encode(safe)) == safe


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("go on?", "go on?"),
        ({"question": "go on?"}, "go on?"),
        ({"message": "go on?", "n": 1}, "go on?"),
        ({"n": 1}, '{"n":1}'),
        (3, "3"),
        ({"type": "tool_approval", "name": "delete", "args": {"f": 1}}, 'delete {"f":1}\nAnswer approve or reject.'),
        (
            {
                "action_requests": [{"name": "delete", "args": {}, "description": "Delete all?"}],
                "review_configs": [{"action_name": "delete", "allowed_decisions": ["approve"]}],
            },
            "Delete all?\nAnswer approve.",
        ),
        (
            [{"action_request": {"action": "send", "args": {}}, "config": {"allow_accept": True}}],
            "send {}\nAnswer accept.",
        ),
    ],
)
def test_a_question_is_put_in_words(value: Any, words: str) -> None:
    assert ask([Question(id="x", value=value)]).text == words


def test_several_questions_are_put_with_their_ids() -> None:
    asked = ask([FREE, COLOUR], "note")
    assert asked.text.splitlines() == [
        "note",
        "[q1] how many?",
        "[q2] which?",
        "Answer one of: red, blue.",
        'Answer by id with data: {"answers": {"<id>": <answer>}}.',
    ]
    assert asked.questions == (FREE, COLOUR)


SIGN_IN = Question(id="q3", value={"auth": {"question": "Sign in.", "url": "https://login.example"}})


@pytest.mark.parametrize(
    ("questions", "auth"),
    [([SIGN_IN], True), ([SIGN_IN, SIGN_IN], True), ([SIGN_IN, FREE], False), ([FREE], False), ([], False)],
)
def test_a_pause_is_for_a_sign_in_if_nothing_else_is_asked(questions: list[Question], auth: bool) -> None:
    assert ask(questions).auth is auth


def test_a_sign_in_is_put_in_its_own_words_and_answered_like_any_question() -> None:
    assert (ask([SIGN_IN]).text, ask([SIGN_IN]).questions) == ("Sign in.", (SIGN_IN,))
    assert decide_answer([SIGN_IN], CallerAnswer(text="done")) == Resume({"q3": "done"})


@pytest.mark.parametrize(
    ("answer", "values"),
    [
        (CallerAnswer(text="7"), {"q1": "7"}),
        (CallerAnswer(text=""), {"q1": ""}),
        (CallerAnswer(data=(False,)), {"q1": False}),
        (CallerAnswer(data=({},)), {"q1": {}}),
        (CallerAnswer(text="here:", data=(7,)), {"q1": 7}),
        (CallerAnswer(data=({"answers": {"q1": 7}},)), {"q1": 7}),
        (CallerAnswer(data=({"answers": [1, 2]},)), {"q1": {"answers": [1, 2]}}),
    ],
)
def test_one_question_is_answered(answer: CallerAnswer, values: dict[str, Any]) -> None:
    assert decide_answer([FREE], answer) == Resume(values)


@pytest.mark.parametrize(
    "answer",
    [
        CallerAnswer(),
        CallerAnswer(data=(None,)),
        CallerAnswer(data=(1, 2)),
        CallerAnswer(data=({"answers": {}},)),
        CallerAnswer(data=({"answers": {"other": 1}},)),
        CallerAnswer(data=({"answers": {"q1": 1, "other": 1}},)),
    ],
)
def test_an_answer_that_is_none_asks_again(answer: CallerAnswer) -> None:
    assert isinstance(decide_answer([FREE], answer), Unclear)


def test_several_questions_are_answered_by_id_and_in_part() -> None:
    both = CallerAnswer(data=({"answers": {"q1": 7, "q2": "red"}},))
    assert decide_answer([FREE, COLOUR], both) == Resume({"q1": 7, "q2": "red"})
    assert decide_answer([FREE, COLOUR], CallerAnswer(data=({"answers": {"q2": "red"}},))) == Resume({"q2": "red"})


@pytest.mark.parametrize(
    "answer", [CallerAnswer(text="yes"), CallerAnswer(data=("red",)), CallerAnswer(data=({"q1": 1},))]
)
def test_one_answer_is_never_spread_over_several_questions(answer: CallerAnswer) -> None:
    assert isinstance(decide_answer([FREE, COLOUR], answer), Unclear)


def test_one_wrong_answer_spoils_all() -> None:
    decided = decide_answer([FREE, COLOUR], CallerAnswer(data=({"answers": {"q1": 7, "q2": "green"}},)))
    assert decided == Unclear("That answer was not taken: it is none of the options.")


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, [1, {"a": [2**70]}]])
def test_a_number_that_no_checkpoint_holds_is_refused_before_anything_runs(value: Any) -> None:
    assert decide_answer([FREE], CallerAnswer(data=(value,))) == Unclear(
        "That answer was not taken: it holds an integer of more than 64 bits."
    )


@pytest.mark.parametrize("value", [2**64 - 1, -(2**63), 1e300, True])
def test_a_number_that_a_checkpoint_holds_is_taken(value: Any) -> None:
    assert decide_answer([FREE], CallerAnswer(data=(value,))) == Resume({"q1": value})


def test_a_number_that_is_written_as_text_is_held_to_the_same() -> None:
    typed = Question(id="q1", value="?", schema={"type": "integer"})
    assert isinstance(decide_answer([typed], CallerAnswer(text="9" * 30)), Unclear)


def test_an_unknown_id_is_named() -> None:
    decided = decide_answer([FREE], CallerAnswer(data=({"answers": {"gone": 1}},)))
    assert decided == Unclear("That answer was not taken: there is no pending question 'gone'.")


@pytest.mark.parametrize(
    ("parts", "answer"),
    [
        ((Text.of("yes"),), CallerAnswer("yes")),
        ((Data(data=False),), CallerAnswer(None, (False,))),
        ((Data(data=None),), CallerAnswer(None, (None,))),
        ((), CallerAnswer()),
    ],
)
def test_an_answer_is_read_from_a_message(parts: tuple[Part, ...], answer: CallerAnswer) -> None:
    prompt = "yes" if answer.text else ""
    assert CallerAnswer.of(Message(message_id="m", role=Role.USER, parts=parts), prompt) == answer


@pytest.mark.parametrize("file", [Raw(data=b"x"), Url(url="https://x")])
def test_a_file_is_no_answer_and_not_passed_over_either(file: Part) -> None:
    answer = CallerAnswer.of(Message(message_id="m", role=Role.USER, parts=(Text.of("5"), file)), "5")
    assert decide_answer([FREE], answer) == Unclear(
        "That answer was not taken: a file is no answer here, send text or data."
    )


REVIEW = {"action_name": "x", "allowed_decisions": ["approve", "edit"]}


@pytest.mark.parametrize(
    ("value", "schema", "offered"),
    [
        ("Sure?", None, []),
        (None, None, []),
        ({"question": "Sure?"}, None, []),
        ({"options": ["keep", 7, {"label": "Drop", "value": "d"}]}, None, ["keep", "7", "Drop"]),
        ({"choices": ["a"]}, None, ["a"]),
        ({"options": "a"}, None, []),
        ({"type": "tool_approval"}, None, ["approve", "reject"]),
        ({"action_requests": [{"name": "x"}], "review_configs": [REVIEW]}, None, ["approve"]),
        ({"action_requests": [{"name": "x"}] * 2, "review_configs": [REVIEW]}, None, ["approve all", "reject all"]),
        ({"action_request": {}, "config": {"allow_accept": True, "allow_ignore": False}}, None, ["approve"]),
        ([{"action_request": {}, "config": {}}] * 2, None, ["approve all", "reject all"]),
        ("Which?", {"enum": ["red", 3]}, ["red", "3"]),
        ("Sure?", {"type": "boolean"}, ["yes", "no"]),
        ("How many?", {"type": "integer"}, []),
    ],
)
def test_known_answers_go_along(value: Any, schema: dict[str, Any] | None, offered: list[str]) -> None:
    asked = question_of(GraphInterrupt(value, id="x", response_schema=schema))
    assert [choice.label for choice in asked.choices] == offered


@pytest.mark.parametrize(
    "value",
    [
        {"options": ["keep", 7, {"label": "Drop", "value": "d"}, {"name": "x"}]},
        {"type": "tool_approval"},
        {"action_requests": [{"name": "x"}], "review_configs": [{"action_name": "x", "allowed_decisions": ["reject"]}]},
        {"action_request": {}, "config": {"allow_accept": True, "allow_ignore": True}},
    ],
)
def test_each_choice_is_taken_in_words_and_as_data(value: Any) -> None:
    asked = question_of(GraphInterrupt(value, id="x"))
    assert asked.choices
    for choice in asked.choices:
        given = format_of(asked).from_data(choice.value)
        if choice.label:
            assert format_of(asked).from_text(choice.label) == given
