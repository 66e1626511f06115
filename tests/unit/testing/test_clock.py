"""Time stands still until it is told; ids can be foretold."""

from llamon_agent.testing.clock import HandClock, counting_ids


def test_the_clock_moves_by_hand_only() -> None:
    clock = HandClock(now_ms=5)
    assert (clock(), clock()) == (5, 5)
    clock.advance(ms=10)
    assert clock() == 15


def test_ids_count_from_one_and_each_counter_by_itself() -> None:
    task_ids, run_ids = counting_ids("task"), counting_ids("run")
    assert [task_ids(), task_ids(), run_ids()] == ["task-1", "task-2", "run-1"]
