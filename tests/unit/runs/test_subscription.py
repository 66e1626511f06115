import asyncio

import pytest
from tests.unit.runs.living import live_of, task_of

from llamon_agent.domain.errors import BackendError
from llamon_agent.domain.events import Delta, Snapshot, StatusUpdate, Update
from llamon_agent.domain.task import TaskState, TaskStatus
from llamon_agent.runs.live_task import LiveTask
from llamon_agent.runs.subscription import Subscription


def status_at(seq: int, state: TaskState) -> StatusUpdate:
    return StatusUpdate(seq=seq, status=TaskStatus(state=state, at_ms=1))


def reading(live: LiveTask, *, ends_at_pause: bool = False) -> Subscription:
    return Subscription(live, live.snapshot(), live.event_log.seq, ends_at_pause=ends_at_pause, on_close=lambda _: None)


async def all_of(subscription: Subscription) -> list[Snapshot | Update]:
    async with asyncio.timeout(5):
        return [event async for batch in subscription for event in batch]


async def test_a_snapshot_comes_first_and_then_every_update_up_to_the_end() -> None:
    live = live_of(task_of())
    subscription = reading(live)
    updates = [status_at(2, TaskState.WORKING), status_at(3, TaskState.COMPLETED), status_at(4, TaskState.COMPLETED)]
    for update in updates:
        live.event_log.publish(update)
    assert await all_of(subscription) == [Snapshot(task=task_of()), *updates[:2]]


@pytest.mark.parametrize("ends_at_pause", [True, False])
async def test_a_pause_is_an_end_for_those_who_want_it(ends_at_pause: bool) -> None:
    live = live_of(task_of())
    subscription = reading(live, ends_at_pause=ends_at_pause)
    live.event_log.publish(status_at(2, TaskState.INPUT_REQUIRED))
    live.event_log.publish(status_at(3, TaskState.WORKING))
    live.event_log.close()
    assert len(await all_of(subscription)) == (2 if ends_at_pause else 3)
    assert subscription.is_last(status_at(2, TaskState.INPUT_REQUIRED)) is ends_at_pause


async def test_a_reader_that_fell_out_of_the_window_gets_all_as_it_is_now() -> None:
    live = live_of(task_of(), window_bytes=300)
    live.open_answer("answer-1")
    subscription = reading(live)
    for _ in range(20):
        live.apply(Delta(text="x" * 50))
    live.event_log.close()
    events = await all_of(subscription)
    assert events == [Snapshot(task=task_of()), *live.resync()]


async def test_a_task_that_was_lost_ends_its_streams_by_an_error() -> None:
    live = live_of(task_of())
    subscription = reading(live)
    live.lost = BackendError()
    live.event_log.close()
    with pytest.raises(BackendError):
        await all_of(subscription)


async def test_closing_lets_go_once_and_ends_the_reading() -> None:
    live, let_go = live_of(task_of()), list[LiveTask]()
    subscription = Subscription(live, None, 1, ends_at_pause=False, on_close=let_go.append)
    assert live.event_log.readers == 1
    subscription.close()
    subscription.close()
    assert (live.event_log.readers, let_go) == (0, [live])
    assert await all_of(subscription) == []
