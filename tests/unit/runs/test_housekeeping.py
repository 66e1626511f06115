"""The housekeeper forgets what is old enough, batch by batch, and finishes what it began."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.contract.task_store import a_key, a_task

from llamon_agent.domain.errors import BackendError
from llamon_agent.domain.task import Retention, Task, TaskQuery, TaskState
from llamon_agent.runs.housekeeping import BATCH, Housekeeper, Upkeep
from llamon_agent.runs.ports.store import ContextKey, Pruned
from llamon_agent.store.memory import MemoryTaskStore
from llamon_agent.testing.scripted import HandClock

S = TaskState
DAY_MS = 86_400_000


class Keeping(Upkeep):
    """An upkeep that says what it was asked, and ends no task whose id begins with `busy`."""

    def __init__(self) -> None:
        self.expired: list[str] = []
        self.deleted_threads: list[ContextKey] = []
        self.began = asyncio.Event()
        self.may_go_on = asyncio.Event()
        self.may_go_on.set()

    async def expire(self, task: Task) -> bool:
        self.expired.append(task.id)
        return not task.id.startswith("busy")

    async def forget(self, context: ContextKey) -> None:
        self.began.set()
        await self.may_go_on.wait()
        self.deleted_threads.append(context)


def housekeeper(store: MemoryTaskStore, upkeep: Keeping, *, every_s: float = 60, **kept_s: float) -> Housekeeper:
    return Housekeeper(store, upkeep, Retention(**kept_s), clock=HandClock(10 * DAY_MS), every_s=every_s)


async def total(store: MemoryTaskStore) -> int:
    return (await store.list(TaskQuery(owner="ann", agent="demo"))).total


async def test_what_ended_long_ago_goes_with_the_threads_of_conversations_that_are_over() -> None:
    store, upkeep = MemoryTaskStore(), Keeping()
    await store.create(a_task("old", context_id="c1", state=S.COMPLETED, at_ms=9 * DAY_MS - 1))
    await store.create(a_task("older", context_id="c2", state=S.FAILED, at_ms=1))
    await store.create(a_task("young", context_id="c2", state=S.COMPLETED, at_ms=9 * DAY_MS))
    await housekeeper(store, upkeep, tasks_s=86_400).sweep()
    assert upkeep.deleted_threads == [("ann", "demo", "c1")]
    assert [task.id for task in (await store.list(TaskQuery(owner="ann", agent="demo"))).tasks] == ["young"]


async def test_without_a_limit_everything_stays() -> None:
    store, upkeep = MemoryTaskStore(), Keeping()
    await store.create(a_task("old", state=S.COMPLETED, at_ms=1), key=a_key(at_ms=1))
    await store.create(a_task("paused", state=S.INPUT_REQUIRED, at_ms=1))
    await housekeeper(store, upkeep).sweep()
    assert (await total(store), upkeep.expired, upkeep.deleted_threads) == (2, [], [])
    assert await store.find_key("ann", "demo", "key-1") is not None


async def test_pauses_end_by_a_limit_of_their_own() -> None:
    store, upkeep = MemoryTaskStore(), Keeping()
    await store.create(a_task("asks", state=S.INPUT_REQUIRED, at_ms=1))
    await store.create(a_task("works", state=S.WORKING, at_ms=1))
    await store.create(a_task("asks since today", state=S.INPUT_REQUIRED, at_ms=10 * DAY_MS))
    await housekeeper(store, upkeep, paused_s=86_400).sweep()
    assert upkeep.expired == ["asks"]


async def test_keys_go_by_a_limit_of_their_own() -> None:
    store = MemoryTaskStore()
    await store.create(a_task("a", state=S.COMPLETED), key=a_key("old", at_ms=9 * DAY_MS - 1))
    await store.create(a_task("b", state=S.COMPLETED), key=a_key("young", at_ms=9 * DAY_MS))
    await housekeeper(store, Keeping(), keys_s=86_400).sweep()
    assert await store.find_key("ann", "demo", "old") is None
    assert await store.find_key("ann", "demo", "young") is not None
    assert await total(store) == 2


async def test_many_go_batch_by_batch_until_none_is_left() -> None:
    store, upkeep = MemoryTaskStore(), Keeping()
    for number in range(2 * BATCH + 1):
        await store.create(a_task(f"{number}", context_id=f"c{number}", state=S.COMPLETED, at_ms=number))
    async with asyncio.timeout(5):
        await housekeeper(store, upkeep, tasks_s=1).sweep()
    assert (await total(store), len(upkeep.deleted_threads)) == (0, 2 * BATCH + 1)


async def test_pauses_that_cannot_be_ended_do_not_keep_a_sweep_from_ending() -> None:
    store, upkeep = MemoryTaskStore(), Keeping()
    for number in range(BATCH):
        await store.create(a_task(f"busy-{number}", state=S.INPUT_REQUIRED, at_ms=1))
    async with asyncio.timeout(5):
        await housekeeper(store, upkeep, paused_s=1).sweep()
    assert len(upkeep.expired) == BATCH


async def test_a_batch_that_was_begun_is_finished_when_the_edge_stops() -> None:
    store, upkeep = MemoryTaskStore(), Keeping()
    upkeep.may_go_on.clear()
    await store.create(a_task("old", state=S.COMPLETED, at_ms=1))
    async with asyncio.timeout(5), housekeeper(store, upkeep, tasks_s=1):
        await upkeep.began.wait()
        asyncio.get_running_loop().call_later(0.01, upkeep.may_go_on.set)
    assert upkeep.deleted_threads == [("ann", "demo", "context-1")]


class AwayAtFirst(MemoryTaskStore):
    """A store whose first pruning fails."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    async def prune(self, *, before_ms: int, limit: int) -> Pruned:
        self.asked += 1
        if self.asked == 1:
            raise BackendError
        return await super().prune(before_ms=before_ms, limit=limit)


@asynccontextmanager
async def kept(store: MemoryTaskStore, upkeep: Keeping) -> AsyncIterator[None]:
    async with asyncio.timeout(5), housekeeper(store, upkeep, every_s=0.01, tasks_s=1):
        yield


async def test_a_store_that_is_away_is_asked_again() -> None:
    store, upkeep = AwayAtFirst(), Keeping()
    await store.create(a_task("old", state=S.COMPLETED, at_ms=1))
    async with kept(store, upkeep):
        await upkeep.began.wait()
    assert (store.asked >= 2, len(upkeep.deleted_threads)) == (True, 1)


async def test_stopping_does_not_wait_for_the_next_round() -> None:
    async with asyncio.timeout(5), housekeeper(MemoryTaskStore(), Keeping(), every_s=3600):
        await asyncio.sleep(0)


class Together(Keeping):
    """An upkeep whose work goes on only when ten are at it."""

    def __init__(self) -> None:
        super().__init__()
        self.all_there = asyncio.Barrier(10)
        self.error: BackendError | None = None
        self.ended = 0

    async def expire(self, task: Task) -> bool:
        await self.all_there.wait()
        if task.id == "task-0" and self.error:
            raise self.error
        self.ended += 1
        return await super().expire(task)

    async def forget(self, context: ContextKey) -> None:
        await self.all_there.wait()
        await super().forget(context)


async def test_pauses_and_threads_of_a_batch_go_together_so_that_their_writes_share_a_commit() -> None:
    store, upkeep = MemoryTaskStore(), Together()
    for number in range(10):
        await store.create(a_task(f"task-{number}", context_id=f"c{number}", state=S.INPUT_REQUIRED, at_ms=number))
        await store.create(a_task(f"ended-{number}", context_id=f"e{number}", state=S.COMPLETED, at_ms=number))
    async with asyncio.timeout(5):
        await housekeeper(store, upkeep, paused_s=86_400, tasks_s=86_400).sweep()
    assert (len(upkeep.expired), len(upkeep.deleted_threads)) == (10, 10)


async def test_a_pause_that_cannot_be_ended_ends_the_batch_after_those_that_were_begun() -> None:
    store, upkeep = MemoryTaskStore(), Together()
    upkeep.error = BackendError()
    for number in range(10):
        await store.create(a_task(f"task-{number}", state=S.INPUT_REQUIRED, at_ms=number))
    async with asyncio.timeout(5):
        with pytest.raises(BackendError):
            await housekeeper(store, upkeep, paused_s=86_400).sweep()
    assert upkeep.ended == 9
