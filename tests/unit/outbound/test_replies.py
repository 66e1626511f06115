"""The parts that answer a question."""

from typing import Any

import pytest

from llamon_agent.domain.events import Question
from llamon_agent.domain.message import Data, Part, Raw, Text
from llamon_agent.domain.task import Artifact, TaskState
from llamon_agent.outbound.replies import UNNAMED, Answer, answer_parts


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
        ([(Raw(data=b""),)], True),
        ([(Raw(data=b"x"),)], False),
        ([(Raw(data=b""),), (Text.of(""),)], False),
    ],
)
def test_an_answer_of_which_nothing_can_be_read_says_so(artifacts: list[tuple[Part, ...]], unreadable: bool) -> None:
    made = tuple(Artifact(artifact_id=str(n), parts=parts) for n, parts in enumerate(artifacts))
    assert Answer(text="", state=TaskState.COMPLETED, artifacts=made).is_unreadable is unreadable
    assert not Answer(text="", state=TaskState.INPUT_REQUIRED, artifacts=made).is_unreadable
