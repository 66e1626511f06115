"""Agents that are replaced while their runs go on."""

import asyncio

import pytest
from tests.unit.runs.serving import ASK, ask, heard, paused, rebuilt, request, serving

from llamon_agent.domain.errors import AgentIsGone
from llamon_agent.domain.events import Complete
from llamon_agent.domain.task import TaskState, answer_text
from llamon_agent.runs.ports.agent import Agent
from llamon_agent.runs.ports.run import Runtime, Target
from llamon_agent.runs.service import RunService
from llamon_agent.testing.scripted import Gate, ScriptedAgent


def replaced_by(service: RunService, agent: Agent, *, timeout_s: float = 60) -> None:
    target = Target(name="demo", adapter="scripted", target="", timeout_s=timeout_s)
    service.replace_runtimes({"demo": Runtime(target, agent)})


async def test_a_run_keeps_the_agent_that_it_began_with_and_the_next_one_has_the_new() -> None:
    gate = Gate()
    old, new = ScriptedAgent([gate, Complete(text="old")]), ScriptedAgent([Complete(text="new")])
    async with serving(old) as service:
        first = await service.submit_run(request(context="c1"))
        await gate.reached()
        replaced_by(service, new)
        other = await ask(service, context="c2")
        gate.open()
        assert answer_text((await first.wait_settled(5)).artifacts) == "old"
        assert answer_text(other.artifacts) == "new"


async def test_a_replaced_agent_is_idle_when_its_last_run_has_ended_and_not_before() -> None:
    gate = Gate()
    old = ScriptedAgent([gate, Complete()], [Complete(text="waited")])
    async with serving(old) as service:
        first = await service.submit_run(request(context="c1"))
        waiting = await service.submit_run(request(context="c1"))
        await gate.reached()
        replaced_by(service, ScriptedAgent())
        idle = asyncio.ensure_future(service.idle(old))
        await asyncio.sleep(0)
        assert not idle.done()
        gate.open()
        await idle
        assert first.has_ended
        assert answer_text((await waiting.wait_settled(5)).artifacts) == "waited"
        await service.idle(old)


async def test_a_pause_is_answered_by_the_agent_that_is_there_now() -> None:
    old, new = ScriptedAgent([ASK]), ScriptedAgent([Complete(text="done")])
    async with serving(old) as service:
        task = await paused(service)
        replaced_by(service, new)
        await service.idle(old)
        assert answer_text((await ask(service, "yes", task=task.id)).artifacts) == "done"
    assert new.turns[0].answers


async def test_the_tasks_of_an_agent_that_is_gone_can_be_read_and_take_no_messages() -> None:
    async with serving(ScriptedAgent([ASK])) as service:
        task = await paused(service)
        service.replace_runtimes({})
        for asked in (request(task=task.id), request(context="c1"), request(context="other")):
            with pytest.raises(AgentIsGone):
                await service.submit_run(asked)
        assert (await service.get("default", "demo", task.id)).status.state is TaskState.INPUT_REQUIRED
        subscription = await service.subscribe("default", "demo", task.id, after_seq=None, ended_ok=False)
        canceled = await service.cancel_run("default", "demo", task.id, again_ok=False)
        assert canceled.status.state is TaskState.CANCELED
        assert rebuilt(await heard(subscription)).status.state is TaskState.CANCELED


async def test_a_run_whose_agent_is_gone_goes_on_and_can_be_canceled() -> None:
    gate = Gate()
    agent = ScriptedAgent([gate])
    async with serving(agent) as service:
        run = await service.submit_run(request())
        await gate.reached()
        service.replace_runtimes({})
        await service.cancel_run("default", "demo", run.task.id, again_ok=False)
        await service.idle(agent)
    assert len(agent.cancelled) == 1
