"""What agents do in threads is waited for when they are stopped, and starves nobody."""

import asyncio
import gc
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from functools import partial

import pytest
import uvloop

from llamon_agent.adapters import worker_threads
from llamon_agent.adapters.worker_threads import joining, sleep_in_run


class Hold:
    """A step that waits in its thread until it is let go. Made on the loop, called in any thread."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self.has_ended = False
        self.thread: threading.Thread | None = None
        self._go = threading.Event()
        self._loop = asyncio.get_running_loop()

    def __call__(self) -> str:
        self.thread = threading.current_thread()
        self._loop.call_soon_threadsafe(self.entered.set)
        assert self._go.wait(5)
        self.has_ended = True
        return "done"

    def release(self) -> None:
        self._go.set()


async def stepping(*doing: Callable[[], object]) -> AsyncGenerator[object]:
    """An agent that does one step after the other, and gives what they give."""
    for step in doing:
        yield await asyncio.to_thread(step)


async def given(work: AsyncGenerator[object]) -> list[object]:
    async with asyncio.timeout(5), aclosing(joining(work)) as items:
        return [item async for item in items]


def begin(*doing: Callable[[], object]) -> asyncio.Task[list[object]]:
    return asyncio.create_task(given(stepping(*doing)))


async def begun(hold: Hold) -> asyncio.Task[list[object]]:
    """A run that is in the middle of its step."""
    run = begin(hold)
    async with asyncio.timeout(5):
        await hold.entered.wait()
    return run


async def breathe() -> None:
    """Let everything that can go on go on."""
    for _ in range(20):
        await asyncio.sleep(0)


def breathing() -> None:
    """The same in a thread that belongs to no run, while the loop waits."""
    asyncio.run(breathe())


async def stopped(run: asyncio.Task[list[object]]) -> None:
    await asyncio.wait([run], timeout=5)
    assert run.cancelled()


@pytest.fixture
def one_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_threads, "MAX_WORKERS", 1)


async def test_work_in_threads_gives_what_it_gives() -> None:
    assert await given(stepping(lambda: 1, lambda: "two")) == [1, "two"]


async def test_an_error_in_a_job_is_raised_where_it_is_awaited() -> None:
    def fail() -> None:
        raise ValueError("x")

    async def catching() -> AsyncGenerator[object]:
        try:
            await asyncio.to_thread(fail)
        except ValueError as exc:
            yield str(exc)

    assert await given(catching()) == ["x"]


async def test_a_cancelled_run_ends_when_its_job_has_ended_and_starts_no_other() -> None:
    hold, after = Hold(), Hold()
    run = begin(hold, after)
    await hold.entered.wait()
    run.cancel()
    await breathe()
    assert not run.done()
    hold.release()
    await stopped(run)
    assert hold.has_ended
    assert not after.entered.is_set()


async def test_a_closed_run_ends_when_its_job_in_another_task_has_ended() -> None:
    hold = Hold()

    async def beside() -> AsyncGenerator[str]:
        waiting = asyncio.create_task(asyncio.to_thread(hold))
        await hold.entered.wait()
        try:
            yield "begun"
        finally:
            waiting.cancel()
            raise ValueError("broken while it cleans up")

    items = joining(beside())
    assert await anext(items) == "begun"
    closing = asyncio.create_task(items.aclose())
    await breathe()
    assert not closing.done()
    hold.release()
    with pytest.raises(ValueError, match="cleans up"):
        await closing
    assert hold.has_ended


async def test_a_run_whose_code_makes_an_error_of_its_cancel_waits_all_the_same() -> None:
    hold = Hold()

    async def stubborn() -> AsyncGenerator[str]:
        try:
            yield str(await asyncio.to_thread(hold))
        except asyncio.CancelledError as exc:
            raise ValueError("not now") from exc

    run = asyncio.create_task(given(stubborn()))
    await hold.entered.wait()
    run.cancel()
    await breathe()
    assert not run.done()
    hold.release()
    with pytest.raises(ValueError, match="not now"):
        await run
    assert hold.has_ended


async def test_code_that_is_stopped_may_clean_up_in_a_thread() -> None:
    hold, cleaned = Hold(), list[str]()

    async def careful() -> AsyncGenerator[object]:
        try:
            yield await asyncio.to_thread(hold)
        finally:
            await asyncio.to_thread(cleaned.append, "clean")

    run = asyncio.create_task(given(careful()))
    await hold.entered.wait()
    run.cancel()
    hold.release()
    await stopped(run)
    assert cleaned == ["clean"]


async def test_a_task_that_outlives_its_stopped_run_starts_no_job() -> None:
    go, refused = asyncio.Event(), asyncio.Event()
    late: list[str] = []

    async def linger() -> None:
        await go.wait()
        try:
            await asyncio.to_thread(late.append, "late")
        except RuntimeError:
            refused.set()

    async def leaving_a_task() -> AsyncGenerator[asyncio.Task[None]]:
        yield asyncio.create_task(linger())

    items = joining(leaving_a_task())
    task = await anext(items)
    await items.aclose()
    go.set()
    await task
    assert refused.is_set()
    assert late == []


async def test_a_run_that_ends_by_itself_waits_for_nothing_that_it_did_not_wait_for() -> None:
    hold = Hold()

    async def impatient() -> AsyncGenerator[str]:
        waiting = asyncio.create_task(asyncio.to_thread(hold))
        await hold.entered.wait()
        waiting.cancel()
        yield "too slow"

    assert await given(impatient()) == ["too slow"]
    assert not hold.has_ended
    hold.release()


async def test_a_second_cancel_does_not_wait_for_the_job() -> None:
    hold = Hold()
    run = await begun(hold)
    run.cancel()
    await breathe()
    run.cancel()
    await stopped(run)
    assert not hold.has_ended
    hold.release()


async def test_of_two_runs_at_once_each_waits_for_its_own_jobs() -> None:
    mine, theirs = Hold(), Hold()
    ours, other = await begun(mine), await begun(theirs)
    ours.cancel()
    mine.release()
    await stopped(ours)
    assert not other.done()
    theirs.release()
    assert await other == ["done"]


async def test_between_two_items_the_caller_is_in_no_run() -> None:
    hold = Hold()
    items = joining(stepping(lambda: 1, lambda: 2))
    assert await anext(items) == 1
    callers = asyncio.create_task(asyncio.to_thread(hold))
    await hold.entered.wait()
    await items.aclose()
    assert not callers.done()
    hold.release()
    assert await callers == "done"


async def test_what_belongs_to_no_run_has_threads_of_its_own() -> None:
    (own,) = await given(stepping(lambda: threading.current_thread().name))
    assert own == "llamon-agent-worker"
    assert (await asyncio.to_thread(lambda: threading.current_thread().name)).startswith("asyncio")


@pytest.mark.usefixtures("one_worker")
async def test_jobs_wait_for_a_worker_in_their_order() -> None:
    first, order = Hold(), list[int]()
    run = await begun(first)
    waiting = []
    for number in range(3):
        waiting.append(begin(partial(order.append, number)))
        await breathe()
    assert order == []
    first.release()
    await asyncio.gather(run, *waiting)
    assert order == [0, 1, 2]


@pytest.mark.usefixtures("one_worker")
async def test_a_thread_is_used_again() -> None:
    names = await given(stepping(threading.get_ident, threading.get_ident, threading.get_ident))
    assert len(set(names)) == 1


@pytest.mark.usefixtures("one_worker")
async def test_a_job_that_has_not_started_when_its_run_is_stopped_never_starts() -> None:
    first, second = Hold(), Hold()
    run = await begun(first)
    waiting = begin(second)
    await breathe()
    waiting.cancel()
    await stopped(waiting)
    first.release()
    await run
    assert await given(stepping(lambda: 1)) == [1]
    assert not second.entered.is_set()


@pytest.mark.usefixtures("one_worker")
async def test_a_job_that_waits_for_a_worker_never_starts_after_its_run_was_stopped() -> None:
    first, second = Hold(), Hold()
    run = await begun(first)

    async def leaving_a_task() -> AsyncGenerator[asyncio.Task[str]]:
        yield asyncio.create_task(asyncio.to_thread(second))

    items = joining(leaving_a_task())
    task = await anext(items)
    await breathe()
    await items.aclose()
    first.release()
    await run
    await asyncio.wait([task], timeout=5)
    assert task.cancelled()
    assert not second.entered.is_set()


async def test_of_two_jobs_at_once_the_second_does_not_wait_for_the_thread_of_the_first() -> None:
    await given(stepping(lambda: 1))
    await asyncio.to_thread(breathing)  # its thread has gone idle meanwhile
    first, second = Hold(), Hold()
    runs = [begin(first), begin(second)]
    async with asyncio.timeout(5):
        await first.entered.wait()
        await second.entered.wait()
    first.release()
    second.release()
    await asyncio.gather(*runs)


@pytest.mark.usefixtures("one_worker")
async def test_an_abandoned_job_gives_its_one_worker_away_until_it_ends() -> None:
    hanging = Hold()
    run = await begun(hanging)
    behind, last = Hold(), Hold()
    runs = [begin(behind), begin(last)]
    await breathe()
    assert not behind.entered.is_set()
    run.cancel()
    async with asyncio.timeout(5):
        await behind.entered.wait()
    hanging.release()
    await stopped(run)
    await breathe()
    assert not last.entered.is_set()
    behind.release()
    last.release()
    assert await asyncio.gather(*runs) == [["done"], ["done"]]


@pytest.mark.usefixtures("one_worker")
async def test_so_many_jobs_give_their_worker_away_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_threads, "MAX_ABANDONED", 2)
    holds = [Hold(), Hold(), Hold()]
    for hold in holds:
        (await begun(hold)).cancel()
        await breathe()
    starved = begin(lambda: "at last")
    await breathe()
    assert not starved.done()
    holds[0].release()
    assert await starved == ["at last"]
    for hold in holds:
        hold.release()


@pytest.mark.parametrize("make_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_job_that_hangs_does_not_keep_the_loop_and_idle_threads_end(
    make_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    hanging: list[Hold] = []
    idle: list[threading.Thread] = []

    async def leave_one_behind() -> None:
        await given(stepping(lambda: idle.append(threading.current_thread())))
        hanging.append(Hold())
        run, other = await begun(hanging[0]), Hold()
        beside = await begun(other)
        run.cancel()
        await breathe()
        run.cancel()
        await stopped(run)
        other.release()
        await beside
        assert other.thread is not None
        idle.append(other.thread)

    with asyncio.Runner(loop_factory=make_loop) as runner:
        runner.run(leave_one_behind())
    assert not hanging[0].has_ended
    hanging[0].release()
    for thread in [*idle, hanging[0].thread]:
        assert thread is not None
        assert thread.daemon  # Python's exit does not wait for it
        thread.join(5)
        assert not thread.is_alive()
    gc.collect()  # nothing is left that would warn


async def test_a_sleep_in_a_run_says_whether_the_run_goes_on() -> None:
    async def run() -> AsyncGenerator[bool]:
        outcomes.append(await sleep_in_run(0.001))
        yield True
        asleep = asyncio.create_task(sleep_in_run(60))
        await asyncio.sleep(0)
        current = asyncio.current_task()
        assert current is not None
        current.cancel()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            async with asyncio.timeout(10):
                outcomes.append(await asleep)
            raise

    async def drive() -> None:
        outcomes.extend([each async for each in joining(run())])

    outcomes: list[bool] = []
    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(drive())
    assert outcomes == [True, False]


async def test_nothing_sleeps_outside_of_a_run() -> None:
    assert not await sleep_in_run(60)
