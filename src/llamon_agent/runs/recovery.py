"""What becomes of a run whose process died or handed it over, as pure functions over values.

Theory. Readers may have events that were never recorded, so the next process does not know the last `seq` that was
published. It continues far after the recorded one. An old event id then never names a new event, and a reader that
comes back with one gets the task as it is. The text so far is that of the first attempt; the next attempt sends it
again under the same artifact id, in its place.
"""

import msgspec

from llamon_agent.domain.task import Task, TaskState
from llamon_agent.runs.ports.agent import Turn
from llamon_agent.runs.ports.run import Runtime
from llamon_agent.runs.ports.store import Abandoned

RESTARTED = "The agent was restarted before it could finish."

INCOMPLETE = {"incomplete": True}
"""The metadata of an answer, or of another artifact, that ended in the middle."""

_SEQ_JUMP = 1 << 20
"""How far after the recorded `seq` a task continues: more than a run can publish between two of its records."""


class Again(msgspec.Struct, frozen=True):
    """Take this turn: once more, or for the first time if the task only waited."""

    turn: Turn


class GiveUp(msgspec.Struct, frozen=True):
    """End the task as failed. Shape: public says why."""

    public: str


def decide_recovery(abandoned: Abandoned, runtime: Runtime | None, *, max_attempts: int) -> Again | GiveUp:
    """Whether a run that was taken over is continued, given the runtime that would execute it now.

    A task that only waited is begun with any agent. One that worked continues if its agent can do that, a few times at
    most: it may be the run itself that ends the process.
    """
    turn, attempt = abandoned.turn, abandoned.attempt
    if turn is None or runtime is None:
        return GiveUp(RESTARTED)
    if abandoned.task.status.state is TaskState.SUBMITTED:
        return Again(turn)
    if not runtime.agent.survives_restart:
        return GiveUp(RESTARTED)
    if attempt > max_attempts:
        return GiveUp(f"The agent was restarted {attempt - 1} times before it could finish, and is not tried again.")
    return Again(msgspec.structs.replace(turn, attempt=attempt))


def in_order(found: list[Abandoned]) -> list[Abandoned]:
    """What was taken over, in order: in each context the run that had begun comes before those that waited for it."""
    return sorted(found, key=lambda each: each.task.status.state is TaskState.SUBMITTED)


def resumed(task: Task, attempt: int) -> Task:
    """The task at the start of another attempt; its metadata has the attempt's number."""
    metadata = {**(task.metadata or {}), "run": {"attempt": attempt}}
    return msgspec.structs.replace(task, seq=task.seq + _SEQ_JUMP, metadata=metadata)


def cut_off(task: Task, answer_id: str | None) -> Task:
    """The task whose run is not continued; the answer that it was giving is marked as incomplete."""
    artifacts = tuple(
        msgspec.structs.replace(each, metadata={**(each.metadata or {}), **INCOMPLETE})
        if each.artifact_id == answer_id
        else each
        for each in task.artifacts
    )
    return msgspec.structs.replace(task, seq=task.seq + _SEQ_JUMP, artifacts=artifacts)
