"""Which state may follow which: one table, and the one function that reads it.

Source: A2A 1.0 §4.1.3; a terminal state is never left (§3.1.1), a paused task goes on with an answer or is canceled.
"""

from collections.abc import Mapping

from llamon_agent.domain.task import TaskState

S = TaskState

FOLLOWS: Mapping[TaskState, frozenset[TaskState]] = {
    S.SUBMITTED: frozenset({S.WORKING, S.FAILED, S.CANCELED, S.REJECTED}),
    S.WORKING: frozenset({S.WORKING, S.INPUT_REQUIRED, S.AUTH_REQUIRED, S.COMPLETED, S.FAILED, S.CANCELED, S.REJECTED}),
    S.INPUT_REQUIRED: frozenset({S.WORKING, S.FAILED, S.CANCELED}),
    S.AUTH_REQUIRED: frozenset({S.WORKING, S.FAILED, S.CANCELED}),
    S.COMPLETED: frozenset(),
    S.FAILED: frozenset(),
    S.CANCELED: frozenset(),
    S.REJECTED: frozenset(),
}


def may_follow(now: TaskState, then: TaskState) -> bool:
    """Whether a task in state `now` may go to `then`; working may follow working (a progress note)."""
    return then in FOLLOWS[now]
