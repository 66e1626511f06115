import pytest
from tests.unit.runs.living import live_of, run_of, task_of

from llamon_agent.domain.errors import ContextIsBusy
from llamon_agent.runs.registry import Lanes, lane_key

KEY = ("ann", "demo", "c1")


def test_a_lane_is_a_context_of_one_owner_and_agent() -> None:
    assert lane_key(live_of(task_of())) == KEY


def test_who_comes_first_holds_the_lane() -> None:
    lanes, first = Lanes(most_waiting=8), live_of(task_of("t1"))
    assert lanes.is_free(KEY)
    lanes.hold(first)
    lanes.hold(live_of(task_of("t2")))
    assert (lanes.is_free(KEY), lanes.holder(KEY)) == (False, first)
    assert lanes.is_free(("bob", "demo", "c1"))


def test_runs_go_in_the_order_in_which_they_came() -> None:
    lanes = Lanes(most_waiting=8)
    one, two, three = (run_of(task_of(name)) for name in ("t1", "t2", "t3"))
    lanes.hold(one.live)
    lanes.queue(two)
    lanes.queue(three)
    assert lanes.blocks(one.live)
    assert [lanes.leave(one), lanes.holder(KEY)] == [two, two.live]
    assert [lanes.leave(two), lanes.leave(three)] == [three, None]
    assert lanes.is_free(KEY)


def test_one_that_waits_may_leave_and_nobody_goes_for_it() -> None:
    lanes = Lanes(most_waiting=8)
    one, two = run_of(task_of("t1")), run_of(task_of("t2"))
    lanes.hold(one.live)
    lanes.queue(two)
    assert lanes.leave(two) is None
    assert (lanes.blocks(one.live), lanes.holder(KEY)) == (False, one.live)


def test_no_more_may_wait_than_there_is_room_for() -> None:
    lanes = Lanes(most_waiting=1)
    lanes.check_room(KEY)
    lanes.hold(live_of(task_of("t1")))
    lanes.check_room(KEY)
    lanes.queue(run_of(task_of("t2")))
    with pytest.raises(ContextIsBusy):
        lanes.check_room(KEY)


def test_a_holder_that_is_forgotten_frees_its_lane_and_a_stranger_does_not() -> None:
    lanes, holder = Lanes(most_waiting=8), live_of(task_of("t1"))
    lanes.hold(holder)
    lanes.forget(live_of(task_of("t2")))
    assert lanes.holder(KEY) is holder
    lanes.forget(holder)
    lanes.forget(holder)
    assert lanes.holder(KEY) is None
