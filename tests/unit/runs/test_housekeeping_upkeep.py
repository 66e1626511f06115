"""Pauses that nobody answers end, and threads go, without getting in the way of anybody's run."""

import asyncio

import pytest
from tests.contract.task_store import a_task
from tests.unit.runs.serving import ASK, ask, request, serving, status_text

from llamon_agent.domain.errors import AgentError, BackendError
from llamon_agent.domain.events import Complete, StatusUpdate
from llamon_agent.domain.task import TaskState
from llamon_agent.runs.housekeeping import EXPIRED
from llamon_agent.store.memory import MemoryTaskStore
from llamon_agent.testing.scripted import Gate, ScriptedAgent


async def test_a_pause_that_nobody_answered_fails_with_words_and_its_question_is_dropped() -> None:
    agent = ScriptedAgent([ASK])
    async with serving(agent) as service:
        task = await ask(service, context="c1")
        assert await service.upkeep.expire(task)
        after = await service.get("default", "demo", task.id)
    assert (after.status.state, status_text(after)) == (TaskState.FAILED, EXPIRED)
    assert agent.abandoned == ["c1"]


async def test_whoever_follows_a_pause_hears_of_its_end() -> None:
    async with serving(ScriptedAgent([ASK])) as service:
        task = await ask(service)
        following = await service.subscribe("default", "demo", task.id, after_seq=None, ended_ok=False)
        await service.upkeep.expire(task)
        events = [event async for batch in following for event in batch]
    last = events[-1]
    assert isinstance(last, StatusUpdate)
    assert last.status.state is TaskState.FAILED


async def test_what_waits_behind_a_pause_goes_on_when_it_ends() -> None:
    gate = Gate()
    async with serving(ScriptedAgent([gate, ASK], [Complete(text="later")])) as service:
        first = await service.submit_run(request(context="c1"))
        await gate.reached()
        second = await service.submit_run(request(context="c1"))
        gate.open()
        paused = await first.wait_settled(5)
        assert await service.upkeep.expire(paused)
        assert (await second.wait_settled(5)).status.state is TaskState.COMPLETED


async def test_a_pause_that_was_answered_meanwhile_is_left_alone() -> None:
    gate = Gate()
    async with serving(ScriptedAgent([ASK], [gate, Complete(text="done")])) as service:
        paused = await ask(service)
        run = await service.submit_run(request("yes", task=paused.id))
        await gate.reached()
        assert not await service.upkeep.expire(paused)
        gate.open()
        assert (await run.wait_settled(5)).status.state is TaskState.COMPLETED


async def test_a_pause_that_asks_anew_waits_anew() -> None:
    async with serving(ScriptedAgent([ASK], [ASK])) as service:
        paused = await ask(service)
        following = await service.subscribe("default", "demo", paused.id, after_seq=None, ended_ok=False)
        again = await ask(service, "maybe", task=paused.id)
        assert not await service.upkeep.expire(paused)
        assert await service.upkeep.expire(again)
        following.close()


async def test_the_pause_of_an_agent_that_is_gone_ends_too() -> None:
    store, agent = MemoryTaskStore(), ScriptedAgent()
    await store.create(paused := a_task(agent="gone", state=TaskState.INPUT_REQUIRED))
    async with serving(agent, store) as service:
        assert await service.upkeep.expire(paused)
    assert agent.abandoned == []


async def test_a_thread_is_deleted_by_its_name() -> None:
    agent = ScriptedAgent()
    async with serving(agent) as service:
        await service.upkeep.forget(("default", "demo", "c1"))
        await service.upkeep.forget(("ann", "demo", "c1"))
        await service.upkeep.forget(("default", "gone", "c1"))
    assert agent.forgotten == ["c1", "principal:3:ann:c1"]


async def test_the_thread_of_a_context_that_is_in_use_again_stays() -> None:
    gate = Gate()
    agent = ScriptedAgent([gate, Complete()])
    async with serving(agent) as service:
        run = await service.submit_run(request(context="c1"))
        await gate.reached()
        await service.upkeep.forget(("default", "demo", "c1"))
        gate.open()
        await run.wait_settled(5)
    assert agent.forgotten == []


class Slow(ScriptedAgent):
    """An agent that takes its time to delete a thread."""

    def __init__(self) -> None:
        super().__init__([Complete(text="fresh")])
        self.gate = Gate()

    async def delete_thread(self, thread_id: str) -> None:
        await self.gate.wait()
        await super().delete_thread(thread_id)


async def test_a_message_waits_while_the_thread_of_its_context_is_being_deleted() -> None:
    agent = Slow()
    async with serving(agent) as service:
        forgetting = asyncio.create_task(service.upkeep.forget(("default", "demo", "c1")))
        await agent.gate.reached()
        submitting = asyncio.create_task(service.submit_run(request(context="c1")))
        for _ in range(20):  # turns of the loop, in which it would begin if it did not wait
            await asyncio.sleep(0)
        assert agent.turns == []
        agent.gate.open()
        await forgetting
        assert (await (await submitting).wait_settled(5)).status.state is TaskState.COMPLETED
    assert agent.forgotten == ["c1"]


@pytest.mark.parametrize("error", [AgentError, BackendError])
async def test_an_agent_that_cannot_delete_is_told_of_and_nothing_waits_for_it(
    error: type[AgentError | BackendError], caplog: pytest.LogCaptureFixture
) -> None:
    class Clinging(ScriptedAgent):
        async def delete_thread(self, thread_id: str) -> None:
            raise error from OSError("read-only")

    async with serving(Clinging([Complete()])) as service:
        await service.upkeep.forget(("default", "demo", "c1"))
        assert (await ask(service, context="c1")).status.state is TaskState.COMPLETED
    assert "could not be deleted" in caplog.text
