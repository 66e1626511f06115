import msgspec
import pytest
from tests.unit.runs.living import task_of, turn_of

from llamon_agent.domain.message import Text
from llamon_agent.domain.task import Artifact, TaskState
from llamon_agent.runs.ports.run import Runtime, Target
from llamon_agent.runs.ports.store import Abandoned
from llamon_agent.runs.recovery import RESTARTED, Again, GiveUp, cut_off, decide_recovery, in_order, resumed
from llamon_agent.testing.scripted import ScriptedAgent

WORKING, SUBMITTED = TaskState.WORKING, TaskState.SUBMITTED


def runtime_of(survives_restart: bool) -> Runtime:
    return Runtime(
        Target(name="demo", adapter="scripted", target=""),
        ScriptedAgent(survives_restart=survives_restart),
    )


@pytest.mark.parametrize(
    ("state", "attempt", "survives_restart", "goes_on_as"),
    [
        (SUBMITTED, 1, False, 1),
        (SUBMITTED, 1, True, 1),
        (WORKING, 2, True, 2),
        (WORKING, 3, True, 3),
        (WORKING, 4, True, None),
        (WORKING, 2, False, None),
    ],
)
def test_what_only_waited_begins_and_what_worked_goes_on_where_its_agent_can_and_not_for_ever(
    state: TaskState, attempt: int, survives_restart: bool, goes_on_as: int | None
) -> None:
    abandoned = Abandoned(task=task_of(state=state), turn=turn_of(), attempt=attempt)
    decision = decide_recovery(abandoned, runtime_of(survives_restart), max_attempts=3)
    if goes_on_as is None:
        assert isinstance(decision, GiveUp)
        assert ("3 times" in decision.public) == (attempt == 4)
    else:
        assert decision == Again(msgspec.structs.replace(turn_of(), attempt=goes_on_as))


@pytest.mark.parametrize("state", [WORKING, SUBMITTED])
def test_without_its_turn_or_its_agent_no_run_goes_on(state: TaskState) -> None:
    task = task_of(state=state)
    for abandoned, runtime in (
        (Abandoned(task=task, turn=None, attempt=2), runtime_of(True)),
        (Abandoned(task=task, turn=turn_of(), attempt=2), None),
    ):
        assert decide_recovery(abandoned, runtime, max_attempts=3) == GiveUp(RESTARTED)


def test_what_had_begun_comes_before_what_waited_and_else_the_order_stays() -> None:
    states = [SUBMITTED, WORKING, SUBMITTED, WORKING]
    found = [Abandoned(task=task_of(f"t{n}", state), turn=None, attempt=1) for n, state in enumerate(states)]
    assert [each.task.id for each in in_order(found)] == ["t1", "t3", "t0", "t2"]


def test_another_attempt_is_told_in_the_metadata_and_goes_on_far_behind_the_record() -> None:
    task = msgspec.structs.replace(task_of(seq=5), metadata={"history": {"seeded": 1}, "run": {"attempt": 2}})
    after = resumed(task, 3)
    assert after.metadata == {"history": {"seeded": 1}, "run": {"attempt": 3}}
    assert after.seq > task.seq + 1_000_000


def test_only_the_answer_that_was_being_given_is_marked_as_cut_off() -> None:
    made = tuple(
        Artifact(artifact_id=name, parts=(Text.of(name),), metadata={"n": 1}) for name in ("answer-1", "answer-2")
    )
    after = cut_off(msgspec.structs.replace(task_of(seq=5), artifacts=made), "answer-2")
    assert [artifact.metadata for artifact in after.artifacts] == [{"n": 1}, {"n": 1, "incomplete": True}]
    assert after.seq > 1_000_000
