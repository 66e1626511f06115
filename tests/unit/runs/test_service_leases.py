"""Processes that die, stop, or seem to be dead: what becomes of their runs, in a store that outlives them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.unit.runs.serving import ASK, ask, heard, paused, rebuilt, request, serving, status_text

from llamon_agent.domain.errors import BackendError, Conflict, TaskNotCancelable
from llamon_agent.domain.events import Complete, Delta, Snapshot
from llamon_agent.domain.task import Task, TaskState, answer_text
from llamon_agent.runs.ports.run import Limits
from llamon_agent.runs.recovery import RESTARTED
from llamon_agent.runs.registry import STOPPED
from llamon_agent.runs.service import NOT_HERE, RunService
from llamon_agent.store.sqlite.store import SqliteTaskStore
from llamon_agent.testing.scripted import Gate, HandClock, ScriptedAgent

QUICK = Limits(snapshot_every_s=0, cancel_grace_s=5, lease_s=15)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tasks.sqlite"


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[SqliteTaskStore]:
    store = SqliteTaskStore.open(path, durability="normal")
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def process(
    path: Path, agent: ScriptedAgent, *, limits: Limits = QUICK, clock: HandClock | None = None, ids: str = "id"
) -> AsyncIterator[RunService]:
    """A process that serves the file, and that takes whoever had it before to be dead."""
    async with opened(path) as store, serving(agent, store, limits=limits, clock=clock, ids=ids) as service:
        await service.start()
        yield service


async def kept(path: Path, task_id: str) -> Task:
    async with opened(path) as store:
        task = await store.get("default", "demo", task_id)
    assert task is not None
    return task


async def at_its_end(service: RunService, task_id: str, *, owner: str = "default") -> Task:
    """The task once it is settled."""
    following = await service.subscribe(owner, "demo", task_id, after_seq=None, ended_ok=True)
    async for batch in following:
        if any(following.is_last(event) for event in batch):
            break
    following.close()
    return await service.get(owner, "demo", task_id)


@asynccontextmanager
async def dead(path: Path, *texts: str, survives_restart: bool = True) -> AsyncIterator[tuple[RunService, list[str]]]:
    """A process that was working on the first message, the others waiting behind it, and does no more; it wakes up only
    when the block ends.
    """
    gate = Gate()
    agent = ScriptedAgent([Delta(text="ha"), Delta(text="lf"), gate], survives_restart=survives_restart)
    async with opened(path) as store, serving(agent, store, limits=QUICK, ids="old") as service:
        await service.start()
        runs = [await service.submit_run(request(text, context="c1")) for text in texts]
        await gate.reached()
        yield service, [run.task.id for run in runs]


async def test_a_run_whose_process_died_goes_on_under_the_same_artifact(path: Path) -> None:
    agent = ScriptedAgent([Delta(text="wh"), Delta(text="ole"), Complete()], survives_restart=True)
    async with dead(path, "hi") as (_, [task_id]), process(path, agent) as service:
        before = await service.get("default", "demo", task_id)
        task = await at_its_end(service, task_id)
    assert (task.status.state, answer_text(task.artifacts)) == (TaskState.COMPLETED, "whole")
    assert [artifact.artifact_id for artifact in task.artifacts] == ["answer-1"]
    assert task.metadata == {"run": {"attempt": 2}}
    assert [(turn.attempt, turn.prompt, turn.task_id) for turn in agent.turns] == [(2, "hi", task_id)]
    assert before.seq > 1_000_000


async def test_an_event_id_from_before_the_crash_is_answered_by_the_task_as_it_is(path: Path) -> None:
    """The event log of the dead process is lost, the task is not."""
    gate = Gate()
    agent = ScriptedAgent([gate, Delta(text="whole"), Complete()], survives_restart=True)
    async with dead(path, "hi") as (_, [task_id]), process(path, agent) as service:
        await gate.reached()
        following = await service.subscribe("default", "demo", task_id, after_seq=3, ended_ok=False)
        gate.open()
        events = await heard(following)
        assert isinstance(events[0], Snapshot)
        assert rebuilt(events).artifacts == (await service.get("default", "demo", task_id)).artifacts


async def test_what_cannot_go_on_fails_with_the_reason_and_what_waited_begins(path: Path) -> None:
    agent = ScriptedAgent([Complete(text="second")])
    async with (
        dead(path, "first", "second", survives_restart=False) as (_, [first, second]),
        process(path, agent) as service,
    ):
        ended = await service.get("default", "demo", first)
        assert (ended.status.state, status_text(ended)) == (TaskState.FAILED, RESTARTED)
        assert [artifact.metadata for artifact in ended.artifacts] == [{"incomplete": True}]
        task = await at_its_end(service, second)
    assert (task.status.state, answer_text(task.artifacts), task.metadata) == (TaskState.COMPLETED, "second", None)
    assert [(turn.attempt, turn.prompt) for turn in agent.turns] == [(1, "second")]


async def test_what_had_begun_goes_on_before_what_waited_behind_it(path: Path) -> None:
    agent = ScriptedAgent([Complete(text="1")], [Complete(text="2")], [Complete(text="3")], survives_restart=True)
    async with dead(path, "first", "second", "third") as (_, ids), process(path, agent) as service:
        assert [answer_text((await at_its_end(service, each)).artifacts) for each in ids] == ["1", "2", "3"]
    assert [turn.prompt for turn in agent.turns] == ["first", "second", "third"]


async def test_a_run_that_ends_its_process_again_and_again_is_given_up(path: Path) -> None:
    stores = [SqliteTaskStore.open(path, durability="normal")]
    async with serving(ScriptedAgent([Gate()], survives_restart=True), stores[0]) as service:
        await service.start()
        run = await service.submit_run(request())
        for attempt in (2, 3):
            stores.append(SqliteTaskStore.open(path, durability="normal"))
            await stores[-1].renew(until_ms=10**15)
            assert [each.attempt for each in await stores[-1].take_over(now_ms=0, limit=9)] == [attempt]
        async with process(path, ScriptedAgent(survives_restart=True)) as last:
            task = await last.get("default", "demo", run.task.id)
    for store in stores:
        await store.close()
    assert task.status.state is TaskState.FAILED
    assert "3 times" in status_text(task)


async def test_a_pause_waits_on_and_what_waited_behind_it_still_does(path: Path) -> None:
    gate = Gate()
    asking = ScriptedAgent([gate, ASK])
    async with opened(path) as store, serving(asking, store, ids="old") as gone:
        await gone.start()
        run = await gone.submit_run(request("first", context="c1"))
        waiting = await gone.submit_run(request("second", context="c1"))
        await gate.reached()
        gate.open()
        asked = await run.wait_settled(5)
        agent = ScriptedAgent([Complete(text="yes")], [Complete(text="second")])
        async with process(path, agent) as service:
            assert await service.get("default", "demo", asked.id) == asked
            assert (await service.get("default", "demo", waiting.task.id)).status.state is TaskState.SUBMITTED
            await ask(service, "yes", task=asked.id)
            assert answer_text((await at_its_end(service, waiting.task.id)).artifacts) == "second"
    assert [turn.answers for turn in agent.turns] == [True, False]


async def test_a_process_that_was_taken_over_stops_its_runs_and_writes_nothing(path: Path) -> None:
    gate = Gate()
    agent = ScriptedAgent([Delta(text="old"), gate], survives_restart=True)
    async with opened(path) as store, serving(agent, store, limits=QUICK, ids="old") as service:
        await service.start()
        run = await service.submit_run(request(context="c1"))
        stream = run.follow()
        await gate.reached()
        async with process(path, ScriptedAgent([Complete(text="new")], survives_restart=True)) as other:
            task = await at_its_end(other, run.task.id)
            await service._lease.renew()
            assert run.has_ended
            assert len(agent.cancelled) == 1
            assert agent.abandoned == []
            assert stream.is_cut_off
            assert await service.get("default", "demo", run.task.id) == task
        assert (task.status.state, answer_text(task.artifacts)) == (TaskState.COMPLETED, "new")
        agent._scripts.append([Complete(text="and on")])
        assert answer_text((await ask(service)).artifacts) == "and on"


async def test_the_end_of_a_run_that_was_taken_over_is_not_told(path: Path) -> None:
    gate = Gate()
    async with opened(path) as store, serving(ScriptedAgent([gate, Complete(text="late")]), store) as service:
        await service.start()
        run = await service.submit_run(request())
        await gate.reached()
        async with opened(path) as other:
            await other.renew(until_ms=10**15)
            await other.take_over(now_ms=0, limit=1)
            gate.open()
            with pytest.raises(Conflict):
                await run.wait_settled(5)
    assert (await kept(path, run.task.id)).status.state is TaskState.WORKING


async def test_a_stop_hands_over_what_can_go_on_and_ends_the_rest(path: Path) -> None:
    gate = Gate()
    agent = ScriptedAgent([Delta(text="ha"), Delta(text="lf"), gate], survives_restart=True)
    async with process(path, agent) as service:
        run = await service.submit_run(request("first", context="c1"))
        waiting = await service.submit_run(request("second", context="c1"))
        stream = run.follow()
        await gate.reached()
        await service.drain(0)
        assert (await run.wait_settled(5)).status.state is TaskState.WORKING
        assert [type(event).__name__ for event in await heard(stream)][-1] == "ArtifactUpdate"
        assert stream.is_cut_off
    assert (agent.abandoned, len(agent.cancelled)) == ([], 1)
    assert (await kept(path, run.task.id)).status.state is TaskState.WORKING
    assert (await kept(path, waiting.task.id)).status.state is TaskState.SUBMITTED
    again = ScriptedAgent([Complete(text="whole")], [Complete(text="second")], survives_restart=True)
    async with process(path, again) as service:
        assert answer_text((await at_its_end(service, run.task.id)).artifacts) == "whole"
        assert answer_text((await at_its_end(service, waiting.task.id)).artifacts) == "second"


async def test_a_stop_ends_what_nobody_could_go_on_with_and_leaves_what_waited(path: Path) -> None:
    gate = Gate()
    agent = ScriptedAgent([gate])
    async with process(path, agent) as service:
        run = await service.submit_run(request("first", context="c1"))
        waiting = await service.submit_run(request("second", context="c1"))
        await gate.reached()
    ended = await kept(path, run.task.id)
    assert (ended.status.state, status_text(ended)) == (TaskState.FAILED, STOPPED)
    assert agent.abandoned == ["c1"]
    assert (await kept(path, waiting.task.id)).status.state is TaskState.SUBMITTED


async def test_what_waits_does_not_begin_while_the_edge_stops(path: Path) -> None:
    gate = Gate()
    agent = ScriptedAgent([gate, Complete(text="x")])
    async with process(path, agent) as service:
        run = await service.submit_run(request("first", context="c1"))
        waiting = await service.submit_run(request("second", context="c1"))
        await gate.reached()
        draining = asyncio.ensure_future(service.drain(5))
        await asyncio.sleep(0)
        gate.open()
        await draining
        assert (await run.wait_settled(5)).status.state is TaskState.COMPLETED
    assert (await kept(path, waiting.task.id)).status.state is TaskState.SUBMITTED
    assert len(agent.turns) == 1


@asynccontextmanager
async def two_processes(path: Path, agent: ScriptedAgent) -> AsyncIterator[tuple[RunService, RunService, HandClock]]:
    """Two that live at once. Shape: the agent is the first one's."""
    clock, limits = HandClock(), Limits(snapshot_every_s=0.01, cancel_grace_s=5)
    async with (
        opened(path) as one,
        opened(path) as other,
        serving(agent, one, limits=limits, clock=clock, ids="one") as first,
        serving(
            ScriptedAgent([Complete(text="new")], survives_restart=True), other, limits=limits, clock=clock
        ) as second,
    ):
        await first.start()
        await second.start()
        yield first, second, clock


async def test_a_task_of_another_process_is_read_and_followed_by_the_store(path: Path) -> None:
    """Two processes share one store, and a load balancer sends a caller to either."""
    gate = Gate()
    agent = ScriptedAgent([gate, Complete(text="done")])
    async with two_processes(path, agent) as (first, second, _):
        run = await first.submit_run(request())
        await gate.reached()
        assert await second.get("default", "demo", run.task.id) == run.task
        streams = [await second.subscribe("default", "demo", run.task.id, after_seq=1, ended_ok=False) for _ in "ab"]
        gate.open()
        task = await run.wait_settled(5)
        assert [rebuilt(await heard(stream)).artifacts for stream in streams] == [task.artifacts] * 2
        for stream in streams:
            stream.close()


async def test_streams_of_another_process_end_with_this_one(path: Path) -> None:
    async with two_processes(path, ScriptedAgent([Gate()])) as (first, second, _):
        run = await first.submit_run(request())
        stream = await second.subscribe("default", "demo", run.task.id, after_seq=None, ended_ok=False)
        await second.drain(0)
        assert [type(event) for event in await heard(stream)] == [Snapshot]
        assert stream.is_cut_off


async def test_what_another_process_works_on_is_not_canceled_from_here(path: Path) -> None:
    async with two_processes(path, ScriptedAgent([Gate()])) as (first, second, _):
        run = await first.submit_run(request())
        with pytest.raises(BackendError) as raised:
            await second.cancel_run("default", "demo", run.task.id, again_ok=False)
        assert raised.value.public == NOT_HERE
        canceled = await first.cancel_run("default", "demo", run.task.id, again_ok=False)
        assert await second.get("default", "demo", run.task.id) == canceled


@pytest.mark.parametrize("waits", [False, True])
async def test_what_a_dead_process_worked_on_is_canceled_once_its_lease_is_over(path: Path, waits: bool) -> None:
    gate = Gate()
    agent = ScriptedAgent([gate])
    async with two_processes(path, agent) as (first, second, clock):
        runs = [await first.submit_run(request(context="c1")) for _ in range(2)]
        await gate.reached()
        clock.advance(15_000)
        run = runs[waits]
        if waits:
            canceled = await second.cancel_run("default", "demo", run.task.id, again_ok=False)
            assert canceled.status.state is TaskState.CANCELED
        else:
            with pytest.raises(TaskNotCancelable):  # its agent could not go on, so it has failed
                await second.cancel_run("default", "demo", run.task.id, again_ok=False)


async def test_a_lease_is_renewed_and_what_is_abandoned_is_found_without_being_asked(path: Path) -> None:
    clock = HandClock()
    limits = Limits(lease_s=0.03, cancel_grace_s=5)
    async with opened(path) as one, opened(path) as other:
        await one.renew(until_ms=1)
        async with serving(ScriptedAgent([Complete(text="new")]), other, limits=limits, clock=clock) as service:
            await service.start()
            async with serving(ScriptedAgent([Gate()]), one) as first:
                run = await first.submit_run(request())
                waiting = await first.submit_run(request(context=run.task.context_id))
                await one.release_holder()
                assert answer_text((await at_its_end(service, waiting.task.id)).artifacts) == "new"
                assert status_text(await service.get("default", "demo", run.task.id)) == RESTARTED


async def test_an_answer_goes_on_after_a_crash_with_what_it_answers(path: Path) -> None:
    gate = Gate()
    async with (
        opened(path) as store,
        serving(ScriptedAgent([ASK], [gate], survives_restart=True), store, ids="old") as gone,
    ):
        await gone.start()
        asked = await paused(gone)
        await gone.submit_run(request("yes", task=asked.id))
        await gate.reached()
        agent = ScriptedAgent([Complete(text="done")], survives_restart=True)
        async with process(path, agent) as service:
            task = await at_its_end(service, asked.id)
    assert (task.status.state, answer_text(task.artifacts)) == (TaskState.COMPLETED, "done")
    assert [(turn.answers, turn.attempt, turn.prompt) for turn in agent.turns] == [(True, 2, "yes")]
