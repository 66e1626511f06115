"""Messages whose ids do not fit, and tasks of somebody else."""

import asyncio

import pytest
from tests.unit.runs.serving import ASK, paused, request, serving

from llamon_agent.domain.caller import Caller
from llamon_agent.domain.errors import BadParams, TaskHasEnded, TaskNotFound
from llamon_agent.domain.events import Complete
from llamon_agent.domain.task import TaskState
from llamon_agent.runs.ports.run import Target
from llamon_agent.store.memory import MemoryTaskStore
from llamon_agent.testing.scripted import Gate, ScriptedAgent


async def test_names_that_do_not_fit_write_nothing_and_run_nothing() -> None:
    """Neither an unknown task nor a wrong context creates a task."""
    store = MemoryTaskStore()
    agent = ScriptedAgent([ASK])
    async with serving(agent, store) as service:
        task = await paused(service)
        for names, error in (
            ({"task": "nope"}, TaskNotFound),
            ({"task": "nope", "context": "c1"}, TaskNotFound),
            ({"task": task.id, "context": "other"}, BadParams),
            ({"task": task.id, "caller": Caller(principal="alice")}, TaskNotFound),
        ):
            with pytest.raises(error):
                await service.submit_run(request(**names))
        assert await store.get("default", "demo", task.id) == task
    assert (len(agent.turns), len(store._tasks)) == (1, 1)


async def test_somebody_elses_task_is_not_found_for_any_call() -> None:
    """The error must not say that the task exists."""
    gate = Gate()
    async with serving(ScriptedAgent([gate, Complete()])) as service:
        run = await service.submit_run(request(context="c1"))
        for call in (
            service.get("alice", "demo", run.task.id),
            service.get("default", "other", run.task.id),
            service.cancel_run("alice", "demo", run.task.id, again_ok=True),
            service.subscribe("alice", "demo", run.task.id, after_seq=None, ended_ok=True),
        ):
            with pytest.raises(TaskNotFound):
                await call
        gate.open()
        assert (await run.wait_settled(5)).status.state is TaskState.COMPLETED


CHOSEN = Target(name="demo", adapter="scripted", target="", task_ids="client")


async def test_a_caller_may_name_a_new_task_where_the_agent_lets_it() -> None:
    async with serving(ScriptedAgent([ASK], [Complete()]), target=CHOSEN) as service:
        first = await service.submit_run(request(task="mine", context="c1"))
        assert first.task.id == "mine"
        assert (await first.wait_settled(5)).status.state is TaskState.INPUT_REQUIRED
        answer = await service.submit_run(request(task="mine"))
        assert (await answer.wait_settled(5)).status.state is TaskState.COMPLETED
        with pytest.raises(TaskHasEnded):
            await service.submit_run(request(task="mine"))


async def test_a_name_that_somebody_elses_task_has_is_not_found() -> None:
    gate = Gate()
    async with serving(ScriptedAgent([gate, Complete()]), target=CHOSEN) as service:
        theirs = await service.submit_run(request(task="mine", caller=Caller(principal="alice")))
        for _ in range(2):  # while it is worked on, and when only the store has it
            with pytest.raises(TaskNotFound):
                await service.submit_run(request(task="mine"))
            gate.open()
            await theirs.wait_settled(5)
        assert (await service.get("alice", "demo", "mine")).status.state is TaskState.COMPLETED


@pytest.mark.parametrize("name", ["x" * 129, "a\nb", "\x00"])
async def test_a_name_that_could_not_be_kept_is_not_found(name: str) -> None:
    async with serving(ScriptedAgent(), target=CHOSEN) as service:
        with pytest.raises(TaskNotFound):
            await service.submit_run(request(task=name))


async def test_a_message_to_a_working_task_waits_for_its_question_where_the_agent_lets_it() -> None:
    gate = Gate()
    patient = Target(name="demo", adapter="scripted", target="", when_busy="wait")
    agent = ScriptedAgent([gate, ASK], [Complete()])
    async with serving(agent, target=patient) as service:
        run = await service.submit_run(request())
        await gate.reached()
        early = asyncio.create_task(service.submit_run(request(task=run.task.id)))
        gate.open()
        assert (await (await early).wait_settled(5)).status.state is TaskState.COMPLETED
    assert [turn.answers for turn in agent.turns] == [False, True]


async def test_a_message_that_waited_for_a_task_that_then_ended_is_refused() -> None:
    gate = Gate()
    patient = Target(name="demo", adapter="scripted", target="", when_busy="wait")
    async with serving(ScriptedAgent([gate, Complete()]), target=patient) as service:
        run = await service.submit_run(request())
        await gate.reached()
        late = asyncio.create_task(service.submit_run(request(task=run.task.id)))
        gate.open()
        with pytest.raises(TaskHasEnded):
            await late
