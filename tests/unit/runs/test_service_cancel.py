"""Cancels: what they stop, and when they come too late."""

import asyncio

import pytest
from tests.unit.runs.serving import ASK, FlakyStore, ask, paused, request, serving

from llamon_agent.domain.errors import TaskNotCancelable
from llamon_agent.domain.events import Complete, Delta
from llamon_agent.domain.task import TaskState, answer_text
from llamon_agent.store.memory import MemoryTaskStore
from llamon_agent.testing.scripted import Gate, ScriptedAgent


async def test_cancel_stops_the_work_and_stays() -> None:
    """The agent is cancelled, and nothing that it says later changes the state."""
    gate = Gate()
    store = MemoryTaskStore()
    agent = ScriptedAgent([Delta(text="half"), gate, Complete(text="late")])
    async with serving(agent, store) as service:
        run = await service.submit_run(request())
        await gate.reached()
        canceled = await service.cancel_run("default", "demo", run.task.id, again_ok=False)
        gate.open()
        assert await run.wait_settled(5) == canceled
    assert canceled.status.state is TaskState.CANCELED
    assert canceled.artifacts[0].metadata == {"incomplete": True}
    assert answer_text(canceled.artifacts) == "half"
    assert len(agent.cancelled) == 1
    assert await store.get("default", "demo", run.task.id) == canceled


async def test_a_second_cancel_is_as_the_dialect_wants_it() -> None:
    """0.x answers a second cancel with the task, 1.0 with an error."""
    async with serving(ScriptedAgent([Gate()])) as service:
        run = await service.submit_run(request())
        canceled = await service.cancel_run("default", "demo", run.task.id, again_ok=False)
        assert await service.cancel_run("default", "demo", run.task.id, again_ok=True) == canceled
        with pytest.raises(TaskNotCancelable):
            await service.cancel_run("default", "demo", run.task.id, again_ok=False)


async def test_two_cancels_at_once_both_see_the_canceled_task() -> None:
    gate = Gate()
    async with serving(ScriptedAgent([gate])) as service:
        run = await service.submit_run(request())
        await gate.reached()
        calls = [service.cancel_run("default", "demo", run.task.id, again_ok=True) for _ in range(2)]
        tasks = await asyncio.gather(*calls)
    assert [task.status.state for task in tasks] == [TaskState.CANCELED] * 2


async def test_a_task_that_waits_is_canceled_without_ever_running() -> None:
    gate = Gate()
    agent = ScriptedAgent([gate, Complete()])
    async with serving(agent) as service:
        first = await service.submit_run(request(context="c1"))
        second = await service.submit_run(request(context="c1"))
        await gate.reached()
        canceled = await service.cancel_run("default", "demo", second.task.id, again_ok=False)
        assert canceled.status.state is TaskState.CANCELED
        gate.open()
        assert (await first.wait_settled(5)).status.state is TaskState.COMPLETED
    assert len(agent.turns) == 1


async def test_a_cancel_before_the_agent_has_begun_still_ends_the_task() -> None:
    agent = ScriptedAgent([Complete()])
    async with serving(agent) as service:
        run = await service.submit_run(request())
        task = await service.cancel_run("default", "demo", run.task.id, again_ok=False)
    assert task.status.state is TaskState.CANCELED
    assert agent.turns == []


async def test_canceling_a_pause_drops_the_question_and_frees_the_context() -> None:
    agent = ScriptedAgent([ASK], [Complete(text="new")])
    async with serving(agent) as service:
        task = await paused(service)
        canceled = await service.cancel_run("default", "demo", task.id, again_ok=False)
        fresh = await ask(service, "next", context="c1")
    assert canceled.status.state is TaskState.CANCELED
    assert agent.abandoned == ["c1"]
    assert (fresh.id != task.id, fresh.status.state) == (True, TaskState.COMPLETED)
    assert not agent.turns[1].answers


@pytest.mark.parametrize("how_far", ["before", "within"])
async def test_an_answer_that_is_canceled_leaves_no_question_behind(how_far: str) -> None:
    gate = Gate()
    agent = ScriptedAgent([ASK], [gate, Complete(text="late")])
    async with serving(agent) as service:
        task = await paused(service)
        await service.submit_run(request("yes", task=task.id))
        if how_far == "within":
            await gate.reached()
        canceled = await service.cancel_run("default", "demo", task.id, again_ok=False)
    assert canceled.status.state is TaskState.CANCELED
    assert agent.abandoned == ["c1"]


async def test_a_cancel_that_comes_while_the_end_is_recorded_is_too_late() -> None:
    store = FlakyStore()
    store.saving = Gate()
    async with serving(ScriptedAgent([Complete(text="done")]), store) as service:
        run = await service.submit_run(request())
        await store.saving.reached()
        cancel = asyncio.ensure_future(service.cancel_run("default", "demo", run.task.id, again_ok=True))
        await asyncio.sleep(0)
        store.saving.open()
        with pytest.raises(TaskNotCancelable):
            await cancel
        assert (await run.wait_settled(5)).status.state is TaskState.COMPLETED


async def test_a_cancel_that_comes_while_a_pause_is_recorded_ends_the_pause() -> None:
    store = FlakyStore()
    store.saving = Gate()
    agent = ScriptedAgent([ASK])
    async with serving(agent, store) as service:
        run = await service.submit_run(request(context="c1"))
        await store.saving.reached()
        cancel = asyncio.ensure_future(service.cancel_run("default", "demo", run.task.id, again_ok=False))
        await asyncio.sleep(0)
        store.saving.open()
        assert (await cancel).status.state is TaskState.CANCELED
    assert agent.abandoned == ["c1"]


async def test_a_cancel_while_a_waiting_task_is_recorded_as_working_is_no_conflict() -> None:
    store = FlakyStore()
    gate = Gate()
    async with serving(ScriptedAgent([gate, Complete()], [Gate()]), store) as service:
        first = await service.submit_run(request(context="c1"))
        second = await service.submit_run(request(context="c1"))
        await gate.reached()
        gate.open()
        await first.wait_settled(5)
        store.saving = Gate()
        await store.saving.reached()
        cancel = asyncio.ensure_future(service.cancel_run("default", "demo", second.task.id, again_ok=False))
        await asyncio.sleep(0)
        store.saving.open()
        assert (await cancel).status.state is TaskState.CANCELED
        assert await store.get("default", "demo", second.task.id) == await cancel
