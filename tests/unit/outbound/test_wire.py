"""The official SDK's messages and the domain's."""

import pytest
from a2a.types import a2a_pb2 as pb
from google.protobuf.json_format import MessageToDict, ParseDict

from llamon_agent.domain.events import Question, SeedOutcome
from llamon_agent.domain.message import Data, Part, Raw, Text, Url
from llamon_agent.domain.task import TaskState
from llamon_agent.outbound.replies import UNNAMED
from llamon_agent.outbound.wire import (
    LOSSES,
    artifact_in,
    parts_in,
    questions_in,
    request_out,
    seed_outcome_in,
    state_in,
)

PARTS: list[Part] = [
    Text.of("hi"),
    Text(text="hi", metadata={"lang": "en"}, filename="a.txt", media_type="text/plain"),
    Raw(data=b"\x00\xff", media_type="application/pdf", filename="a.pdf"),
    Url(url="https://example.com/a.png", media_type="image/png"),
    Data(data={"amount": 3, "rate": 2.5, "ok": True, "none": None, "list": [1, "a"]}),
    Data(data=None),
    Data(data=False),
    Data(data="text"),
]


@pytest.mark.parametrize("part", PARTS)
def test_a_part_comes_back_as_it_went(part: Part) -> None:
    assert parts_in(request_out([part]).message.parts) == (part,)


def test_a_whole_number_beyond_a_double_is_the_named_loss() -> None:
    [part] = parts_in(request_out([Data(data=2**53 + 1)]).message.parts)
    assert part == Data(data=2**53)
    assert "data.integer" in LOSSES


def test_a_part_without_content_is_nothing() -> None:
    assert parts_in([pb.Part()]) == ()


def test_a_request_names_its_context_its_task_and_its_metadata() -> None:
    message = request_out(
        [Text.of("hi")], context_id="c", task_id="t", metadata={"history": [{"role": "user"}]}
    ).message
    assert (message.context_id, message.task_id, message.role) == ("c", "t", pb.Role.ROLE_USER)
    assert message.message_id
    assert MessageToDict(message.metadata) == {"history": [{"role": "user"}]}


@pytest.mark.parametrize("state", list(TaskState))
def test_every_state_is_known(state: TaskState) -> None:
    assert state_in(pb.TaskState.Value(f"TASK_STATE_{state.name}")) is state


def test_a_state_that_nobody_knows_is_work() -> None:
    assert state_in(0) is TaskState.WORKING


def test_an_artifact_keeps_what_is_said_about_it() -> None:
    read = artifact_in(pb.Artifact(artifact_id="a", name="n", description="d", parts=[pb.Part(text="x")]))
    assert (read.artifact_id, read.name, read.description, read.parts) == ("a", "n", "d", (Text.of("x"),))


def asked(*parts: object) -> tuple[Question, ...]:
    return questions_in(ParseDict({"parts": list(parts)}, pb.Message()))


def test_questions_that_are_told_as_data_keep_their_ids_values_and_schemas() -> None:
    value = {"question": "Delete?", "options": ["approve", "reject"]}
    listed = [{"id": "q1", "value": value}, {"id": "q2", "value": 1, "schema": {"type": "integer"}}]
    assert asked({"text": "Delete?"}, {"data": {"questions": listed}}) == (
        Question(id="q1", value=value),
        Question(id="q2", value=1, schema={"type": "integer"}),
    )


def test_any_other_question_is_one_without_a_name() -> None:
    assert asked({"text": "Which"}, {"text": "one?"}) == (Question(id=UNNAMED, value="Which\none?"),)
    assert asked({"data": {"form": 1}}) == (Question(id=UNNAMED, value={"form": 1}),)
    mixed = asked({"text": "Which?"}, {"data": {"questions": "none"}})
    assert mixed == (Question(id=UNNAMED, value={"question": "Which?", "data": [{"questions": "none"}]}),)


def test_what_became_of_a_history_is_read_where_it_is_told() -> None:
    told = ParseDict({"metadata": {"history": {"seeded": 2, "skipped": 0, "reason": "cold_start"}}}, pb.Task())
    assert seed_outcome_in(told) == SeedOutcome(seeded=2, skipped=0, reason="cold_start")
    assert seed_outcome_in(pb.Task()) is None
    assert seed_outcome_in(ParseDict({"metadata": {"history": "yes"}}, pb.Task())) is None
