import asyncio

import pytest
from tests.unit.runs.living import execution_of, live_of, task_of
from tests.unit.runs.serving import FlakyStore

from llamon_agent.domain.errors import BackendError, Conflict
from llamon_agent.domain.events import Complete, Delta, Error, SeedOutcome, Snapshot, Started, StatusUpdate
from llamon_agent.domain.task import Task, TaskState, answer_text
from llamon_agent.runs.live_task import LiveTask
from llamon_agent.runs.task_recorder import TaskRecorder, finish_write
from llamon_agent.testing.scripted import HandClock, counting_ids


class Desk:
    """A recorder, its store, and what the store has of the task."""

    def __init__(self) -> None:
        self.store = FlakyStore()
        self.recorder = TaskRecorder(self.store, clock=HandClock(), new_id=counting_ids())

    async def create(self, live: LiveTask) -> None:
        live.saved_seq = 0
        await self.recorder.create(live, None)

    async def kept(self) -> Task:
        task = await self.store.get("ann", "demo", "t1")
        assert task is not None
        return task


async def test_a_state_is_kept_and_then_told() -> None:
    desk, live = Desk(), live_of(task_of(state=TaskState.SUBMITTED))
    await desk.create(live)
    await desk.recorder.working(live)
    assert (await desk.kept()).status.state is TaskState.WORKING
    assert live.event_log.after(1) == [StatusUpdate(seq=2, status=live.task.status)]


async def test_a_new_task_is_kept_once() -> None:
    desk, live = Desk(), live_of(task_of())
    await desk.create(live)
    await desk.recorder.create(live, None)
    assert (await desk.kept(), live.saved_seq) == (task_of(), 1)


async def test_a_run_that_opens_is_a_task_from_its_record_on() -> None:
    desk, execution = Desk(), execution_of(task_of())
    execution.live.saved_seq = 0
    opening = execution.opening = asyncio.get_running_loop().create_future()
    execution.live.apply(Started(history=SeedOutcome(seeded=1, skipped=0, reason="cold_start")))
    await desk.recorder.open(execution)
    assert (opening.done(), execution.run.reply) == (True, None)
    first = await anext(execution.run.follow())
    assert first == [Snapshot(task=await desk.kept())]


async def test_a_run_that_cannot_be_recorded_is_refused() -> None:
    desk, execution = Desk(), execution_of(task_of())
    execution.live.saved_seq = 0
    opening = execution.opening = asyncio.get_running_loop().create_future()
    desk.store.away = True
    with pytest.raises(BackendError) as caught:
        await desk.recorder.open(execution)
    assert (opening.exception(), execution.live.lost) == (caught.value, caught.value)


async def test_what_could_not_be_kept_is_not_told() -> None:
    desk, live = Desk(), live_of(task_of(state=TaskState.SUBMITTED))
    await desk.create(live)
    desk.store.away = True
    with pytest.raises(BackendError):
        await desk.recorder.working(live)
    assert (live.event_log.seq, live.task.status.state) == (1, TaskState.SUBMITTED)


async def test_a_record_that_has_changed_meanwhile_is_left_alone() -> None:
    desk, live = Desk(), live_of(task_of())
    await desk.store.create(task_of(seq=5))
    with pytest.raises(Conflict):
        await desk.recorder.state(live, task_of(seq=2))
    assert (await desk.kept()).seq == 5


@pytest.mark.parametrize(("away", "kept_seq"), [(False, 3), (True, 1)])
async def test_the_answer_so_far_is_kept_if_the_store_is_there(away: bool, kept_seq: int) -> None:
    desk, live = Desk(), live_of(task_of())
    await desk.create(live)
    live.open_answer("answer-1")
    for text in ("a", "b"):
        live.apply(Delta(text=text))
    desk.store.away = away
    await desk.recorder.snapshot(live)
    desk.store.away = False
    assert ((await desk.kept()).seq, live.saved_seq) == (kept_seq, kept_seq)


async def test_an_end_is_kept_with_the_whole_answer_and_only_once() -> None:
    desk, execution = Desk(), execution_of(task_of())
    await desk.create(execution.live)
    execution.live.open_answer("answer-1")
    await desk.recorder.end(execution, Complete(text="Hello"))
    await desk.recorder.end(execution, Error(public="late"))
    kept = await desk.kept()
    assert (kept.status.state, answer_text(kept.artifacts), execution.run.task) == (TaskState.COMPLETED, "Hello", kept)
    assert [update.seq for update in execution.live.event_log.after(1)] == [2, 3]


async def test_an_orphan_fails_with_the_reason() -> None:
    desk = Desk()
    await desk.store.create(task_of())
    after = await desk.recorder.orphan(task_of(), Error(public="gone"))
    assert (after.status.state, await desk.kept()) == (TaskState.FAILED, after)


@pytest.mark.parametrize("fails", [False, True])
async def test_a_write_runs_to_its_end_though_its_run_is_stopped(fails: bool, caplog: pytest.LogCaptureFixture) -> None:
    begun, go_on, written = asyncio.Event(), asyncio.Event(), list[str]()

    async def write() -> None:
        begun.set()
        await go_on.wait()
        if fails:
            raise BackendError
        written.append("all of it")

    running = asyncio.create_task(finish_write(write()))
    async with asyncio.timeout(5):
        await begun.wait()
        running.cancel()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert (bool(written), bool(caplog.records)) == (not fails, fails)
