"""The store is away or knows better, the edge stops, and what a dead process left."""

import asyncio

import pytest
from tests.unit.runs.serving import ASK, FlakyStore, ask, heard, paused, request, serving, status_text

from llamon_agent.domain.errors import BackendError, TaskHasEnded
from llamon_agent.domain.events import Complete, Delta, Interrupt, Snapshot
from llamon_agent.domain.task import Task, TaskState, answer_text
from llamon_agent.runs.ports.run import Limits
from llamon_agent.runs.registry import STOPPED
from llamon_agent.runs.takeover import LOST
from llamon_agent.store.memory import MemoryTaskStore
from llamon_agent.testing.scripted import Gate, ScriptedAgent


async def test_a_store_that_is_away_refuses_the_message_and_nothing_runs() -> None:
    store = FlakyStore()
    store.away = True
    agent = ScriptedAgent([Complete()])
    async with serving(agent, store) as service:
        with pytest.raises(BackendError):
            await service.submit_run(request(context="c1"))
        store.away = False
        assert (await ask(service, context="c1")).status.state is TaskState.COMPLETED
    assert len(agent.turns) == 1


async def test_two_readers_of_a_lost_task_agree_on_its_end() -> None:
    store, gate = FlakyStore(), Gate()
    agent = ScriptedAgent([gate, Complete(text="x")])
    async with serving(agent, store, limits=Limits(record_again_s=())) as service:
        run = await service.submit_run(request())
        await gate.reached()
        store.away = True
        gate.open()
        await run.wait_ended()
        with pytest.raises(BackendError):
            await service.get("default", "demo", run.task.id)
        store.away = False
        reads = [service.get("default", "demo", run.task.id) for _ in range(3)]
        first, *others = await asyncio.gather(*reads)
        assert status_text(await service.get("default", "demo", run.task.id)) == LOST
    assert {task.seq for task in (first, *others)} <= {1, first.seq}


async def test_a_snapshot_that_cannot_be_recorded_does_not_end_the_run() -> None:
    store = FlakyStore()
    gate = Gate()
    agent = ScriptedAgent([gate, Delta(text="a"), Delta(text="b"), Complete()])
    async with serving(agent, store, limits=Limits(snapshot_every_s=0)) as service:
        run = await service.submit_run(request())
        await gate.reached()
        store.away = True
        stream = run.follow()
        await anext(stream)
        gate.open()
        await anext(stream)
        store.away = False
        task = await run.wait_settled(5)
    assert (task.status.state, answer_text(task.artifacts)) == (TaskState.COMPLETED, "ab")


async def test_stopping_the_edge_ends_every_run_and_its_streams() -> None:
    gate = Gate()
    store = MemoryTaskStore()
    agent = ScriptedAgent([ASK], [gate])
    async with serving(agent, store) as service:
        asked = await paused(service, "c0")
        following = await service.subscribe("default", "demo", asked.id, after_seq=None, ended_ok=False)
        running = await service.submit_run(request(context="c1"))
        waiting = await service.submit_run(request(context="c1"))
        await gate.reached()
    ends = [await store.get("default", "demo", run.task.id) for run in (running, waiting)]
    assert [end and (end.status.state, status_text(end)) for end in ends] == [(TaskState.FAILED, STOPPED)] * 2
    assert await store.get("default", "demo", asked.id) == asked
    assert [type(event) for event in await heard(following)] == [Snapshot]
    with pytest.raises(BackendError):
        await service.submit_run(request())


async def test_a_draining_edge_lets_its_runs_finish_and_takes_no_more() -> None:
    gate = Gate()
    agent = ScriptedAgent([gate, Complete(text="in time")])
    async with serving(agent) as service:
        run = await service.submit_run(request())
        await gate.reached()
        draining = asyncio.ensure_future(service.drain(5))
        await asyncio.sleep(0)
        with pytest.raises(BackendError):
            await service.submit_run(request())
        gate.open()
        await draining
        assert (await run.wait_settled(5)).status.state is TaskState.COMPLETED


@pytest.mark.parametrize("end", [Complete(text="told"), ASK])
async def test_what_the_store_has_lost_of_a_task_ends_it(
    end: Complete | Interrupt, caplog: pytest.LogCaptureFixture
) -> None:
    store, gate = MemoryTaskStore(), Gate()
    async with serving(ScriptedAgent([gate, end]), store) as service:
        run = await service.submit_run(request(context="c1"))
        await gate.reached()
        early = run.task
        gate.open()
        await run.wait_settled(5)
        store._put(early)
        task = await service.get("default", "demo", early.id)
        assert (task.status.state, status_text(task)) == (TaskState.FAILED, LOST)
        assert await store.get("default", "demo", early.id) == task
    assert "lost a newer record" in caplog.text


async def test_an_answer_to_a_pause_that_the_store_has_lost_finds_the_task_ended() -> None:
    store, gate = MemoryTaskStore(), Gate()
    async with serving(ScriptedAgent([gate, ASK]), store) as service:
        run = await service.submit_run(request(context="c1"))
        await gate.reached()
        early = run.task
        following = run.follow()  # keeps the pause in memory
        gate.open()
        await run.wait_settled(5)
        store._put(early)
        with pytest.raises(TaskHasEnded):
            await service.submit_run(request("yes", task=early.id))
        following.close()


async def test_a_lost_task_that_is_worked_on_again_is_not_ended() -> None:
    gate = Gate()
    async with serving(ScriptedAgent([gate, Complete(text="x")])) as service:
        run = await service.submit_run(request())
        await gate.reached()
        service._registry.mark_lost(run.task)
        await service._takeover.end_all_lost()
        gate.open()
        assert answer_text((await run.wait_settled(5)).artifacts) == "x"
        assert service._registry.lost() == []


async def test_a_message_that_was_still_being_looked_at_is_refused_by_a_service_that_has_stopped() -> None:
    class Slow(MemoryTaskStore):
        looking = Gate()

        async def paused_in(self, owner: str, agent: str, context_id: str) -> Task | None:
            await self.looking.wait()
            return await super().paused_in(owner, agent, context_id)

    store = Slow()
    async with serving(ScriptedAgent([Complete()]), store) as service:
        submitting = asyncio.ensure_future(service.submit_run(request(context="c1")))
        await store.looking.reached()
        await service.drain(0)
        store.looking.open()
        with pytest.raises(BackendError):
            await submitting


async def test_a_record_that_was_read_too_early_is_read_again() -> None:
    class Slow(MemoryTaskStore):
        delay: Gate | None = None

        async def get(self, owner: str, agent: str, task_id: str) -> Task | None:
            task = await super().get(owner, agent, task_id)
            delay, self.delay = self.delay, None
            if delay is not None:
                await delay.wait()
            return task

    store = Slow()
    async with serving(ScriptedAgent([ASK]), store) as service:
        task = await paused(service)
        delay = store.delay = Gate()
        late = asyncio.ensure_future(service.get("default", "demo", task.id))
        await delay.reached()
        canceled = await service.cancel_run("default", "demo", task.id, again_ok=False)
        delay.open()
        assert await late == canceled
