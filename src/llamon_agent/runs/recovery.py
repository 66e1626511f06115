"""What becomes of a run whose process died or handed it over, as pure functions over values.

Theory. A reader may have heard events that were never recorded, so the next process does not know how far the task's
`seq` was told. It goes on far behind the record: an event id from before can then never name an event of after, and
who comes back with one is given the task as it is. What the run has said until then is its first attempt's; the next
one says it again under the same artifact, in its place.
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
"""How far behind the record a task goes on: more than a run can have told between two of its records."""


class Again(msgspec.Struct, frozen=True):
    """Take this turn: for the first time, where the task only waited, or once more."""

    turn: Turn


class GiveUp(msgspec.Struct, frozen=True):
    """End the task as failed. Shape: public says why."""

    public: str


def decide_recovery(abandoned: Abandoned, runtime: Runtime | None, *, max_attempts: int) -> Again | GiveUp:
    """Whether a run that was taken over is taken up, given what would execute it now.

    A task that only waited is begun whatever drives it; one that worked goes on where its agent can, and not for ever:
    it may be the run itself that ends the process.
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
    """What was taken over, so that of each context the run that had begun comes before those that waited behind it."""
    return sorted(found, key=lambda each: each.task.status.state is TaskState.SUBMITTED)


def resumed(task: Task, attempt: int) -> Task:
    """The task at the begin of another attempt; its metadata says which."""
    metadata = {**(task.metadata or {}), "run": {"attempt": attempt}}
    return msgspec.structs.replace(task, seq=task.seq + _SEQ_JUMP, metadata=metadata)


def cut_off(task: Task, answer_id: str | None) -> Task:
    """The task whose run goes on no more; the answer that it was giving is marked as incomplete."""
    artifacts = tuple(
        msgspec.structs.replace(each, metadata={**(each.metadata or {}), **INCOMPLETE})
        if each.artifact_id == answer_id
        else each
        for each in task.artifacts
    )
    return msgspec.structs.replace(task, seq=task.seq + _SEQ_JUMP, artifacts=artifacts)
