"""Pauses: what a task asks, and what becomes of the answers."""

import asyncio

import pytest
from tests.unit.runs.serving import ASK, FlakyStore, ask, heard, paused, request, serving, status_text

from llamon_agent.domain.errors import BackendError, TaskHasEnded, TaskIsBusy
from llamon_agent.domain.events import Complete, Delta, Interrupt, Rejected, Snapshot
from llamon_agent.domain.message import Role
from llamon_agent.domain.task import TaskState, answer_text
from llamon_agent.runs.run import Run
from llamon_agent.store.memory import MemoryTaskStore
from llamon_agent.testing.scripted import Gate, ScriptedAgent


@pytest.mark.parametrize("by", ["task", "context"])
async def test_the_answer_goes_on_with_the_same_task_and_thread(by: str) -> None:
    """An answer may name only the task, or only the context."""
    agent = ScriptedAgent([Delta(text="I want to delete it."), ASK], [Complete(text="Deleted.")])
    async with serving(agent) as service:
        task = await paused(service)
        done = await ask(service, "yes", **({"task": task.id} if by == "task" else {"context": "c1"}))
    assert (done.id, done.context_id, done.status.state) == (task.id, "c1", TaskState.COMPLETED)
    assert [turn.thread_id for turn in agent.turns] == ["c1", "c1"]
    assert [(a.artifact_id, answer_text([a])) for a in done.artifacts] == [
        ("answer-1", "I want to delete it."),
        ("answer-2", "Deleted."),
    ]
    assert [said.role for said in done.history] == [Role.USER, Role.AGENT, Role.USER]


@pytest.mark.parametrize("by", ["task", "context"])
async def test_a_sign_in_is_asked_for_and_answered_by_a_message(by: str) -> None:
    sign_in = Interrupt(text="Sign in at https://login.example.", questions=(), auth=True)
    agent = ScriptedAgent([sign_in], [Complete(text="Welcome.")])
    async with serving(agent) as service:
        task = await ask(service, context="c1")
        assert (task.status.state, status_text(task)) == (TaskState.AUTH_REQUIRED, sign_in.text)
        done = await ask(service, "done", **({"task": task.id} if by == "task" else {"context": "c1"}))
    assert (done.id, done.status.state, answer_text(done.artifacts)) == (task.id, TaskState.COMPLETED, "Welcome.")
    assert [turn.answers for turn in agent.turns] == [False, True]


async def test_an_agent_may_reject_the_task_when_it_has_the_answer() -> None:
    async with serving(ScriptedAgent([ASK], [Rejected(public="Then not.")])) as service:
        task = await paused(service)
        after = await ask(service, "no", task=task.id)
    assert (after.status.state, status_text(after)) == (TaskState.REJECTED, "Then not.")


async def test_an_answer_that_does_not_fit_is_asked_again() -> None:
    agent = ScriptedAgent([ASK], [Interrupt(text="Yes or no?", questions=())], [Complete(text="ok")])
    async with serving(agent) as service:
        task = await paused(service)
        again = await ask(service, "hm", task=task.id)
        assert (again.status.state, status_text(again)) == (TaskState.INPUT_REQUIRED, "Yes or no?")
        assert (await ask(service, "yes", task=task.id)).status.state is TaskState.COMPLETED


async def test_two_answers_to_one_question_start_one_run() -> None:
    """A host that sends an answer twice must not run the tool twice."""
    gate = Gate()
    agent = ScriptedAgent([ASK], [gate, Complete(text="ok")])
    async with serving(agent) as service:
        task = await paused(service)
        answers = [service.submit_run(request("yes", task=task.id)) for _ in range(3)]
        results = await asyncio.gather(*answers, return_exceptions=True)
        gate.open()
        runs = [result for result in results if isinstance(result, Run)]
        assert [type(result) for result in results if not isinstance(result, Run)] == [TaskIsBusy, TaskIsBusy]
        assert (await runs[0].wait_settled(5)).status.state is TaskState.COMPLETED
    assert len(agent.turns) == 2


async def test_an_answer_after_the_end_is_refused_and_nothing_runs() -> None:
    """A late answer must not become a new message."""
    agent = ScriptedAgent([ASK], [Complete(text="ok")])
    async with serving(agent) as service:
        task = await paused(service)
        await ask(service, "yes", task=task.id)
        with pytest.raises(TaskHasEnded):
            await service.submit_run(request("yes", task=task.id))
    assert len(agent.turns) == 2


async def test_a_paused_task_is_answered_by_another_service_on_the_same_store() -> None:
    store = MemoryTaskStore()
    async with serving(ScriptedAgent([ASK]), store) as service:
        task = await paused(service)
    agent = ScriptedAgent([Complete(text="after the restart")])
    async with serving(agent, store) as service:
        done = await ask(service, "yes", context="c1")
    assert (done.id, answer_text(done.artifacts)) == (task.id, "after the restart")
    assert agent.turns[0].answers


async def test_a_store_that_is_away_leaves_the_question_open() -> None:
    store = FlakyStore()
    async with serving(ScriptedAgent([ASK], [Complete(text="ok")]), store) as service:
        task = await paused(service)
        store.away = True
        with pytest.raises(BackendError):
            await service.submit_run(request("yes", task=task.id))
        store.away = False
        assert (await ask(service, "yes", task=task.id)).status.state is TaskState.COMPLETED


async def test_a_record_that_somebody_else_changed_is_read_again() -> None:
    store = MemoryTaskStore()
    async with serving(ScriptedAgent([ASK]), store) as service:
        task = await paused(service)
        stream = await service.subscribe("default", "demo", task.id, after_seq=None, ended_ok=False)
        async with serving(ScriptedAgent(), store) as elsewhere:
            await elsewhere.cancel_run("default", "demo", task.id, again_ok=False)
        with pytest.raises(TaskHasEnded):
            await service.submit_run(request("yes", task=task.id))
        assert [type(event) for event in await heard(stream)] == [Snapshot]
