"""Messages whose ids do not fit, and tasks of somebody else."""

import pytest
from tests.unit.runs.serving import ASK, paused, request, serving

from llamon_agent.domain.errors import BadParams, TaskNotFound
from llamon_agent.domain.events import Complete
from llamon_agent.domain.task import TaskState
from llamon_agent.store.memory import MemoryTaskStore
from llamon_agent.testing.scripted import Gate, ScriptedAgent


async def test_names_that_do_not_fit_write_nothing_and_run_nothing() -> None:
    """Field report 23."""
    store = MemoryTaskStore()
    agent = ScriptedAgent([ASK])
    async with serving(agent, store) as service:
        task = await paused(service)
        for names, error in (
            ({"task": "nope"}, TaskNotFound),
            ({"task": "nope", "context": "c1"}, TaskNotFound),
            ({"task": task.id, "context": "other"}, BadParams),
            ({"task": task.id, "owner": "alice"}, TaskNotFound),
        ):
            with pytest.raises(error):
                await service.submit_run(request(**names))
        assert await store.get("default", "demo", task.id) == task
    assert (len(agent.turns), len(store._tasks)) == (1, 1)


async def test_somebody_elses_task_is_not_found_for_any_call() -> None:
    """Field report 11."""
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
        assert (await run.settled(5)).status.state is TaskState.COMPLETED
