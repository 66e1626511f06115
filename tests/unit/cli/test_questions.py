from typing import Any

import pytest

from llamon_agent.cli.questions import Asked, Choice, answer_parts, pick, read_questions
from llamon_agent.domain.message import Data, Message, Part, Role, Text


def asked(value: Any, schema: dict[str, Any] | None = None) -> Asked:
    question = {"id": "q1", "value": value, **({"schema": schema} if schema is not None else {})}
    (one,) = read_questions(said(Text.of("Well?"), Data(data={"questions": [question]})))
    return one


def said(*parts: Part) -> Message:
    return Message(message_id="m", role=Role.AGENT, parts=parts)


def labels(one: Asked) -> list[str]:
    return [choice.label for choice in one.choices]


@pytest.mark.parametrize(
    ("value", "schema", "offered"),
    [
        ("Sure?", None, []),
        (None, None, []),
        ({"question": "Sure?"}, None, []),
        ({"options": ["keep", 7, {"label": "Drop", "value": "d"}]}, None, ["keep", "7", "Drop"]),
        ({"choices": ["a"]}, None, ["a"]),
        ({"breakpoint": "node"}, None, ["yes", "no"]),
        ({"type": "tool_approval"}, {"oneOf": []}, ["approve", "reject"]),
        (
            {"action_requests": [{"name": "x"}], "review_configs": [{"allowed_decisions": ["approve", "edit"]}]},
            None,
            ["approve"],
        ),
        ({"action_requests": [{}, {}], "review_configs": [{}, {}]}, None, ["approve all", "reject all"]),
        ({"action_request": {}, "config": {"allow_accept": True, "allow_ignore": False}}, None, ["approve"]),
        ("Which?", {"enum": ["red", 3]}, ["red", "3"]),
        ("Sure?", {"type": "boolean"}, ["yes", "no"]),
        ("How many?", {"type": "integer"}, []),
    ],
)
def test_known_answers_are_offered(value: Any, schema: dict[str, Any] | None, offered: list[str]) -> None:
    assert labels(asked(value, schema)) == offered


@pytest.mark.parametrize(
    "message",
    [
        None,
        said(Text.of("Well?")),
        said(Data(data=[1])),
        said(Data(data={"questions": "x"})),
        said(Data(data={"questions": [1]})),
    ],
)
def test_a_pause_without_questions_as_data_is_one_free_question(message: Message | None) -> None:
    assert read_questions(message) == (Asked("", ()),)


MENU = Asked("q1", (Choice("Keep", "k"), Choice("2", 22), Choice("drop", "d")))


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("keep", "k"),
        (" DROP ", "d"),
        ("1", "k"),
        ("3", "d"),
        ("2", 22),
        ("4", "4"),
        ("0", "0"),
        ("yes, keep", "yes, keep"),
    ],
)
def test_a_name_goes_before_a_number_and_all_else_is_itself(line: str, value: object) -> None:
    assert pick(MENU, line).value == value


@pytest.mark.parametrize(("line", "value"), [("7", 7), ('{"a": 1}', {"a": 1}), ("plain", "plain")])
def test_an_answer_with_a_schema_may_be_typed_as_json(line: str, value: object) -> None:
    assert pick(Asked("q", (), typed=True), line).value == value


def test_one_question_is_answered_in_words_and_several_by_id() -> None:
    yes, no = Choice("yes", True), Choice("no", False)
    one, other = Asked("q1", (yes, no)), Asked("q2", (yes, no))
    assert answer_parts([one], [yes]) == (Text.of("yes"),)
    assert answer_parts([one, other], [yes, no]) == (Data(data={"answers": {"q1": True, "q2": False}}),)
