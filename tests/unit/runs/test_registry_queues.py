import pytest
from tests.unit.runs.living import execution_of, live_of, task_of

from llamon_agent.domain.errors import ContextIsBusy
from llamon_agent.runs.registry import ContextQueues, context_key

KEY = ("ann", "demo", "c1")


def test_a_context_belongs_to_one_owner_and_agent() -> None:
    assert context_key(task_of()) == KEY


def test_the_first_task_holds_its_context() -> None:
    queues, first = ContextQueues(most_waiting=8), live_of(task_of("t1"))
    assert queues.is_free(KEY)
    queues.hold(first)
    queues.hold(live_of(task_of("t2")))
    assert (queues.is_free(KEY), queues.holder(KEY)) == (False, first)
    assert queues.is_free(("bob", "demo", "c1"))


def test_runs_start_in_the_order_in_which_they_came() -> None:
    queues = ContextQueues(most_waiting=8)
    one, two, three = (execution_of(task_of(name)) for name in ("t1", "t2", "t3"))
    queues.hold(one.live)
    queues.wait(two)
    queues.wait(three)
    assert queues.blocks(one.live)
    assert [queues.advance(one.live, one), queues.holder(KEY)] == [two, two.live]
    assert [queues.advance(two.live, two), queues.advance(three.live, three)] == [three, None]
    assert queues.is_free(KEY)


def test_a_waiting_run_that_leaves_starts_no_other() -> None:
    queues = ContextQueues(most_waiting=8)
    one, two = execution_of(task_of("t1")), execution_of(task_of("t2"))
    queues.hold(one.live)
    queues.wait(two)
    assert queues.advance(two.live, two) is None
    assert (queues.blocks(one.live), queues.holder(KEY)) == (False, one.live)


def test_no_more_runs_may_wait_than_the_limit() -> None:
    queues = ContextQueues(most_waiting=1)
    queues.check_capacity(KEY)
    queues.hold(live_of(task_of("t1")))
    queues.check_capacity(KEY)
    queues.wait(execution_of(task_of("t2")))
    with pytest.raises(ContextIsBusy):
        queues.check_capacity(KEY)


def test_a_holder_that_leaves_frees_its_context_and_another_task_does_not() -> None:
    queues, holder = ContextQueues(most_waiting=8), live_of(task_of("t1"))
    queues.hold(holder)
    queues.advance(live_of(task_of("t2")))
    assert queues.holder(KEY) is holder
    queues.advance(holder)
    queues.advance(holder)
    assert queues.holder(KEY) is None
