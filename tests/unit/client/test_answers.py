"""The parts that answer a question."""

from typing import Any

import pytest

from llamon_agent.client.answers import UNNAMED, Answer, answer_parts, questions_of
from llamon_agent.domain.events import Choice, Question
from llamon_agent.domain.message import Data, Message, Part, Raw, Role, Text
from llamon_agent.domain.task import Artifact, TaskState


def asking(*ids: str) -> Answer:
    questions = tuple(Question(id=each, value="?") for each in ids)
    return Answer(text="", state=TaskState.INPUT_REQUIRED, questions=questions, task_id="t1")


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        ("approve", (Text.of("approve"), Data(data={"answers": {"q1": "approve"}}))),
        (True, (Data(data={"answers": {"q1": True}}),)),
        ({"amount": 3}, (Data(data={"answers": {"q1": {"amount": 3}}}),)),
        ("", (Text.of(""), Data(data={"answers": {"q1": ""}}))),
    ],
)
def test_an_answer_names_its_question_and_keeps_its_type(value: Any, parts: tuple[Part, ...]) -> None:
    assert answer_parts(asking("q1"), value) == parts


@pytest.mark.parametrize(
    ("value", "part"), [("blue", Text.of("blue")), (7, Data(data=7)), ({"a": 1}, Data(data={"a": 1}))]
)
def test_a_question_without_a_name_is_answered_as_it_stands(value: Any, part: Part) -> None:
    assert answer_parts(asking(UNNAMED), value) == (part,)


def test_several_questions_are_answered_by_name() -> None:
    assert answer_parts(asking("a", "b"), {"a": 1, "b": "x"}) == (Data(data={"answers": {"a": 1, "b": "x"}}),)


def test_text_for_several_questions_goes_as_it_stands() -> None:
    assert answer_parts(asking("a", "b"), "approve all") == (Text.of("approve all"),)


@pytest.mark.parametrize("state", list(TaskState))
def test_an_answer_knows_what_it_is(state: TaskState) -> None:
    answer = Answer(text="", state=state)
    assert answer.asks is (state.value in ("input-required", "auth-required"))
    assert answer.failed is (state.value in ("failed", "canceled", "rejected"))
    assert answer.was_stopped is (state.value in ("canceled", "rejected"))


@pytest.mark.parametrize(
    ("artifacts", "unreadable"),
    [
        ([], False),
        ([()], True),
        ([(Raw(data=b""),)], False),
        ([(), (Text.of(""),)], False),
    ],
)
def test_an_answer_of_which_nothing_can_be_read_says_so(artifacts: list[tuple[Part, ...]], unreadable: bool) -> None:
    made = tuple(Artifact(artifact_id=str(n), parts=parts) for n, parts in enumerate(artifacts))
    assert Answer(text="", state=TaskState.COMPLETED, artifacts=made).is_unreadable is unreadable
    assert not Answer(text="", state=TaskState.INPUT_REQUIRED, artifacts=made).is_unreadable


def asked(*parts: Part) -> tuple[Question, ...]:
    return questions_of(Message(message_id="m", role=Role.AGENT, parts=parts))


def test_questions_that_are_told_as_data_keep_their_ids_values_and_schemas() -> None:
    value = {"question": "Delete?", "options": ["approve", "reject"]}
    listed = [{"id": "q1", "value": value}, {"id": "q2", "value": 1, "schema": {"type": "integer"}}]
    assert asked(Text.of("Delete?"), Data(data={"questions": listed})) == (
        Question(id="q1", value=value),
        Question(id="q2", value=1, schema={"type": "integer"}),
    )


def test_questions_in_the_metadata_are_read_first_with_their_choices() -> None:
    listed = [{"id": "q1", "value": "Which?", "choices": [{"label": "Red", "value": "r"}]}]
    parts = (Text.of("Not that. Which?"), Data(data={"questions": [{"id": "other", "value": 1}]}))
    message = Message(message_id="m", role=Role.AGENT, parts=parts, metadata={"questions": listed})
    assert questions_of(message) == (Question(id="q1", value="Which?", choices=(Choice("Red", "r"),)),)


def test_any_other_question_is_one_without_a_name() -> None:
    assert asked(Text.of("Which"), Text.of("one?")) == (Question(id=UNNAMED, value="Which\none?"),)
    assert asked(Data(data={"form": 1})) == (Question(id=UNNAMED, value={"form": 1}),)
    mixed = asked(Text.of("Which?"), Data(data={"questions": "none"}))
    assert mixed == (Question(id=UNNAMED, value={"question": "Which?", "data": [{"questions": "none"}]}),)
    assert questions_of(None) == (Question(id=UNNAMED, value=""),)
