import pytest

from llamon_agent.domain.lifecycle import FOLLOWS, may_follow
from llamon_agent.domain.task import PAUSED, TERMINAL, TaskState


def test_every_state_has_a_row() -> None:
    assert set(FOLLOWS) == set(TaskState)


@pytest.mark.parametrize("state", sorted(TERMINAL))
def test_a_terminal_state_is_never_left(state: TaskState) -> None:
    assert not any(may_follow(state, then) for then in TaskState)


@pytest.mark.parametrize("state", sorted(set(TaskState) - TERMINAL))
def test_every_other_state_can_be_canceled_and_can_fail(state: TaskState) -> None:
    assert may_follow(state, TaskState.CANCELED)
    assert may_follow(state, TaskState.FAILED)


@pytest.mark.parametrize("state", sorted(PAUSED))
def test_a_pause_never_completes_without_work(state: TaskState) -> None:
    assert not may_follow(state, TaskState.COMPLETED)
    assert may_follow(state, TaskState.WORKING)
