"""The thread of a task that has ended is pruned, and no caller waits for that."""

import asyncio

import pytest
from tests.unit.runs.serving import ASK, ask, paused, request, serving

from llamon_agent.domain.errors import AgentError, BackendError
from llamon_agent.domain.events import AgentEvent, Complete, Reply
from llamon_agent.domain.message import Text
from llamon_agent.domain.task import TaskState
from llamon_agent.testing.scripted import Gate, ScriptedAgent


class Pruning(ScriptedAgent):
    """An agent whose threads are pruned. Shape: more says how often there is more; gate holds the first one up."""

    def __init__(self, *scripts: list[AgentEvent | Gate], more: int = 0, gate: Gate | None = None) -> None:
        super().__init__(*scripts)
        self.pruned: list[tuple[str, str | None]] = []
        self.more = more
        self.gate = gate

    async def prune_thread(self, thread_id: str, *, completed: str | None) -> bool:
        self.pruned.append((thread_id, completed))
        if self.gate is not None and len(self.pruned) == 1:
            await self.gate.wait()
        return len(self.pruned) <= self.more


async def test_a_thread_is_pruned_until_nothing_is_left_to_go() -> None:
    agent = Pruning([Complete(text="done")], more=2)
    async with serving(agent) as service:
        task = await ask(service, context="c1")
        await service.idle(agent)
    assert agent.pruned == [("c1", task.id)] * 3


async def test_a_task_that_was_not_completed_is_not_given_as_completed() -> None:
    agent = Pruning([ASK])
    async with serving(agent) as service:
        task = await paused(service)
        await service.idle(agent)
        assert agent.pruned == []
        await service.cancel_run("default", "demo", task.id, again_ok=False)
        await service.idle(agent)
    assert agent.pruned == [("c1", None)]


async def test_an_answer_without_a_task_prunes_nothing() -> None:
    agent = Pruning([Reply(parts=(Text.of("hi"),))])
    async with serving(agent, direct_messages=True) as service:
        assert (await service.submit_run(request(context="c1"))).reply is not None
        await service.idle(agent)
    assert agent.pruned == []


async def test_a_context_with_another_run_is_pruned_at_the_next_end() -> None:
    gate = Gate()
    agent = Pruning([gate, Complete(text="one")], [Complete(text="two")])
    async with serving(agent) as service:
        first = await service.submit_run(request(context="c1"))
        await gate.reached()
        second = await service.submit_run(request(context="c1"))
        gate.open()
        await first.wait_settled(5)
        last = await second.wait_settled(5)
        await service.idle(agent)
    assert agent.pruned == [("c1", last.id)]


async def test_a_message_does_not_wait_for_pruning_which_stops_for_it() -> None:
    gate, running = Gate(), Gate()
    agent = Pruning([Complete(text="one")], [running, Complete(text="two")], more=5, gate=gate)
    async with serving(agent) as service:
        await ask(service, context="c1")
        await gate.reached()
        second = await service.submit_run(request(context="c1"))
        await running.reached()
        gate.open()
        await asyncio.sleep(0)
        assert len(agent.pruned) == 1
        running.open()
        assert (await second.wait_settled(5)).status.state is TaskState.COMPLETED


async def test_an_agent_is_not_idle_while_it_prunes() -> None:
    gate = Gate()
    agent = Pruning([Complete(text="one")], gate=gate)
    async with serving(agent) as service:
        await ask(service, context="c1")
        await gate.reached()
        idle = asyncio.ensure_future(service.idle(agent))
        await asyncio.sleep(0)
        assert not idle.done()
        gate.open()
        await idle


@pytest.mark.parametrize("error", [AgentError, BackendError])
async def test_a_thread_that_cannot_be_pruned_is_reported_and_goes_on(
    error: type[AgentError | BackendError], caplog: pytest.LogCaptureFixture
) -> None:
    class Clinging(Pruning):
        async def prune_thread(self, thread_id: str, *, completed: str | None) -> bool:
            raise error from OSError("read-only")

    agent = Clinging([Complete()], [Complete()])
    async with serving(agent) as service:
        assert (await ask(service, context="c1")).status.state is TaskState.COMPLETED
        await service.idle(agent)
        assert (await ask(service, context="c1")).status.state is TaskState.COMPLETED
    assert "could not be pruned" in caplog.text
