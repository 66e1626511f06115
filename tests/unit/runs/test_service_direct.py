"""Agents that may answer a message without a task: what becomes a message, what a task, and that nothing is lost."""

import asyncio
from collections.abc import AsyncGenerator

import pytest
from tests.unit.runs.serving import ASK, FlakyStore, ask, heard, rebuilt, request, serving, status_text

from llamon_agent.domain.errors import AgentError, BackendError, TaskNotFound
from llamon_agent.domain.events import (
    ArtifactMade,
    Complete,
    Delta,
    Progress,
    Rejected,
    Reply,
    RunEvent,
    SeedOutcome,
    Snapshot,
    Started,
)
from llamon_agent.domain.message import Data, Message, Role, Text
from llamon_agent.domain.task import Artifact, Task, TaskQuery, TaskState
from llamon_agent.runs.driver import AGENT_BROKE
from llamon_agent.runs.ports.agent import Turn
from llamon_agent.runs.ports.run import Limits
from llamon_agent.runs.ports.store import IdempotencyKey
from llamon_agent.runs.registry import STOPPED
from llamon_agent.runs.service import RunService
from llamon_agent.store.memory import MemoryTaskStore
from llamon_agent.testing.scripted import Gate, ScriptedAgent, Step

HELLO = Reply(parts=(Text.of("hello"), Data(data=[1])), metadata={"model": "m"})
ANSWER = Artifact(artifact_id="answer-1", parts=HELLO.parts, metadata=HELLO.metadata)


async def listed(service: RunService) -> tuple[Task, ...]:
    return (await service.list(TaskQuery(owner="default", agent="demo"))).tasks


def nothing_is_left(service: RunService) -> bool:
    return not (len(service._registry.tasks) or len(service._registry) or len(service._registry.queues))


@pytest.mark.parametrize("start", [[], [Started()]], ids=repr)
async def test_a_reply_is_a_message_and_there_never_was_a_task(start: list[Step]) -> None:
    agent = ScriptedAgent([*start, HELLO], [HELLO])
    async with serving(agent, direct_messages=True) as service:
        run = await service.submit_run(request(context="c1"))
        assert run.reply is not None
        assert run.reply == Message(
            message_id=run.reply.message_id,
            role=Role.AGENT,
            parts=HELLO.parts,
            context_id="c1",
            metadata={"model": "m"},
        )
        with pytest.raises(TaskNotFound):
            await service.get("default", "demo", agent.turns[0].task_id)
        await run.wait_ended()
        assert nothing_is_left(service)
        again = await service.submit_run(request(context="c1"))
        assert again.reply is not None
        assert again.reply.message_id != run.reply.message_id
        assert await listed(service) == ()
    assert agent.cancelled == []


async def test_a_context_that_nobody_named_is_minted_and_told() -> None:
    async with serving(ScriptedAgent([HELLO]), direct_messages=True) as service:
        run = await service.submit_run(request())
    assert run.reply is not None
    assert run.reply.context_id == run.live.task.context_id


async def test_what_became_of_the_history_is_told_with_the_reply() -> None:
    seeded = Started(history=SeedOutcome(seeded=1, skipped=0, reason="cold_start"))
    async with serving(ScriptedAgent([seeded, HELLO]), direct_messages=True) as service:
        run = await service.submit_run(request())
    assert run.reply is not None
    assert run.reply.metadata == {
        "history": {"seeded": 1, "skipped": 0, "reason": "cold_start"},
        "model": "m",
    }


TABLE = ArtifactMade(artifact=Artifact(artifact_id="table", parts=(Data(data=[1]),)))

TASKS: list[tuple[list[Step], TaskState]] = [
    ([Delta(text="Hel"), Delta(text="lo"), Complete()], TaskState.COMPLETED),
    ([Progress(text="looking"), HELLO], TaskState.COMPLETED),
    ([TABLE, Complete(text="see")], TaskState.COMPLETED),
    ([Complete(text="whole")], TaskState.COMPLETED),
    ([], TaskState.COMPLETED),
    ([ASK], TaskState.INPUT_REQUIRED),
    ([Rejected(public="Not me.")], TaskState.REJECTED),
    ([AgentError("No luck.")], TaskState.FAILED),
]


@pytest.mark.parametrize(("script", "state"), TASKS, ids=repr)
@pytest.mark.parametrize("seeded", [False, True])
async def test_whatever_is_no_reply_at_once_is_a_task(script: list[Step], state: TaskState, seeded: bool) -> None:
    outcome = SeedOutcome(seeded=1, skipped=0, reason="cold_start") if seeded else None
    store = MemoryTaskStore()
    async with serving(ScriptedAgent([Started(history=outcome), *script]), store, direct_messages=True) as service:
        run = await service.submit_run(request())
        assert run.reply is None
        assert await store.get("default", "demo", run.task.id) is not None
        events = await heard(run.follow())
        task = await run.wait_settled(5)
        assert await store.get("default", "demo", task.id) == task
    assert task.status.state is state
    assert isinstance(events[0], Snapshot)
    assert (events[0].task.status.state, events[0].task.seq, events[0].task.artifacts) == (TaskState.WORKING, 1, ())
    assert (events[0].task.metadata is not None) is seeded
    assert rebuilt(events).status == task.status


async def test_nobody_is_told_of_a_task_before_it_is_recorded() -> None:
    store = FlakyStore()
    store.creating = Gate()
    agent = ScriptedAgent([Delta(text="a"), Complete()])
    async with serving(agent, store, direct_messages=True) as service:
        submitting = asyncio.ensure_future(service.submit_run(request()))
        await store.creating.reached()
        with pytest.raises(TaskNotFound):
            await service.get("default", "demo", agent.turns[0].task_id)
        assert not submitting.done()
        store.creating.open()
        run = await submitting
        assert await service.get("default", "demo", run.task.id) is not None


async def test_a_run_that_has_said_nothing_yet_is_unknown() -> None:
    gate = Gate()
    agent = ScriptedAgent([Started(), gate, HELLO])
    async with serving(agent, direct_messages=True) as service:
        submitting = asyncio.ensure_future(service.submit_run(request(context="c1")))
        await gate.reached()
        task_id = agent.turns[0].task_id
        with pytest.raises(TaskNotFound):
            await service.cancel_run("default", "demo", task_id, again_ok=True)
        with pytest.raises(TaskNotFound):
            await service.subscribe("default", "demo", task_id, after_seq=None, ended_ok=True)
        with pytest.raises(TaskNotFound):
            await service.submit_run(request(task=task_id))
        assert await listed(service) == ()
        gate.open()
        assert (await submitting).reply is not None


async def test_a_reply_that_nobody_waits_for_any_more_is_kept_as_a_task() -> None:
    gate = Gate()
    agent = ScriptedAgent([gate, HELLO])
    async with serving(agent, direct_messages=True) as service:
        submitting = asyncio.ensure_future(service.submit_run(request(context="c1")))
        await gate.reached()
        submitting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await submitting
        gate.open()
        await service.idle(agent)
        (task,) = await listed(service)
        assert nothing_is_left(service)
    assert (task.context_id, task.status.state, task.artifacts) == ("c1", TaskState.COMPLETED, (ANSWER,))
    assert agent.cancelled == []


async def test_a_task_whose_caller_hangs_up_while_it_is_recorded_goes_on() -> None:
    store = FlakyStore()
    store.creating = Gate()
    agent = ScriptedAgent([Delta(text="a"), Complete()])
    async with serving(agent, store, direct_messages=True) as service:
        submitting = asyncio.ensure_future(service.submit_run(request()))
        await store.creating.reached()
        submitting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await submitting
        store.creating.open()
        await service.idle(agent)
        (task,) = await listed(service)
    assert task.status.state is TaskState.COMPLETED


async def test_an_agent_that_breaks_before_it_says_anything_has_failed_a_task() -> None:
    class Buggy(ScriptedAgent):
        async def run(self, turn: Turn) -> AsyncGenerator[RunEvent]:
            if turn.prompt:
                raise ZeroDivisionError
            yield Started()

    async with serving(Buggy(), direct_messages=True) as service:
        task = await ask(service)
        assert await listed(service) == (task,)
    assert (task.status.state, status_text(task)) == (TaskState.FAILED, AGENT_BROKE)


async def test_an_agent_that_says_nothing_in_time_has_failed_a_task() -> None:
    agent = ScriptedAgent([Started(), Gate()])
    async with serving(agent, timeout_s=0.01, direct_messages=True) as service:
        task = await ask(service)
        assert await listed(service) == (task,)
    assert task.status.state is TaskState.FAILED
    assert "did not finish within" in status_text(task)
    assert len(agent.cancelled) == 1


async def test_an_agent_that_neither_speaks_nor_stops_is_left_behind_with_a_failed_task() -> None:
    class Deaf(ScriptedAgent):
        may_end = asyncio.Event()

        async def run(self, turn: Turn) -> AsyncGenerator[RunEvent]:
            while not self.may_end.is_set():
                try:
                    await self.may_end.wait()
                except asyncio.CancelledError:
                    continue
            yield HELLO

    agent = Deaf()
    async with serving(agent, timeout_s=0.01, limits=Limits(cancel_grace_s=0.01), direct_messages=True) as service:
        run = await service.submit_run(request())
        task = await run.wait_settled(5)
        assert (run.reply, task.status.state) == (None, TaskState.FAILED)
        agent.may_end.set()
        assert await listed(service) == (task,)


@pytest.mark.parametrize("where", ["before its first event", "while it is recorded"])
async def test_a_stopping_edge_fails_the_task_that_a_run_had_not_said_to_be(where: str) -> None:
    store = FlakyStore()
    gate = store.creating = Gate()
    script: list[Step] = [Delta(text="a"), Complete()]
    if where == "before its first event":
        store.creating, script = None, [gate, HELLO]
    async with serving(ScriptedAgent(script), store, direct_messages=True) as service:
        submitting = asyncio.ensure_future(service.submit_run(request()))
        await gate.reached()
        draining = asyncio.ensure_future(service.drain(0))
        await asyncio.sleep(0)
        if store.creating is not None:
            gate.open()
        await draining
        task = await (await submitting).wait_settled(5)
        assert await store.get("default", "demo", task.id) == task
    assert (task.status.state, status_text(task)) == (TaskState.FAILED, STOPPED)


async def test_a_draining_edge_waits_for_a_reply() -> None:
    gate = Gate()
    async with serving(ScriptedAgent([gate, HELLO]), direct_messages=True) as service:
        submitting = asyncio.ensure_future(service.submit_run(request()))
        await gate.reached()
        draining = asyncio.ensure_future(service.drain(5))
        await asyncio.sleep(0)
        gate.open()
        await draining
        assert (await submitting).reply is not None


@pytest.mark.parametrize("event", [Delta(text="a"), Complete(text="a")], ids=repr)
async def test_a_task_that_cannot_be_recorded_is_refused_and_its_run_stops(event: RunEvent) -> None:
    store = FlakyStore()
    store.away = True
    agent = ScriptedAgent([event, Gate()], [Complete(text="there")])
    async with serving(agent, store, direct_messages=True) as service:
        with pytest.raises(BackendError):
            await service.submit_run(request(context="c1"))
        store.away = False
        await service.idle(agent)
        assert nothing_is_left(service)
        assert await listed(service) == ()
        assert (await ask(service, context="c1")).status.state is TaskState.COMPLETED
    assert len(agent.cancelled) == isinstance(event, Delta)


async def test_a_store_that_breaks_leaves_no_caller_waiting() -> None:
    class Broken(MemoryTaskStore):
        async def create(self, task: Task, *, turn: Turn | None = None, key: IdempotencyKey | None = None) -> None:
            raise ZeroDivisionError

    async with serving(ScriptedAgent([Delta(text="a")]), Broken(), direct_messages=True) as service:
        with pytest.raises(BackendError):
            await service.submit_run(request())
        await asyncio.sleep(0)
        assert nothing_is_left(service)


async def test_a_reply_needs_no_store() -> None:
    store = FlakyStore()
    store.away = True
    async with serving(ScriptedAgent([HELLO]), store, direct_messages=True) as service:
        assert (await service.submit_run(request())).reply is not None


async def test_a_message_that_waits_behind_another_is_a_task_whatever_its_answer() -> None:
    gate = Gate()
    agent = ScriptedAgent([gate, HELLO], [HELLO])
    async with serving(agent, direct_messages=True) as service:
        first = asyncio.ensure_future(service.submit_run(request("1", context="c1")))
        await gate.reached()
        second = await service.submit_run(request("2", context="c1"))
        assert second.task.status.state is TaskState.SUBMITTED
        gate.open()
        assert (await first).reply is not None
        task = await second.wait_settled(5)
        assert await listed(service) == (task,)
    assert (second.reply, task.status.state, task.artifacts) == (None, TaskState.COMPLETED, (ANSWER,))
    assert [turn.prompt for turn in agent.turns] == ["1", "2"]


async def test_a_reply_to_an_answer_completes_the_task_that_asked() -> None:
    async with serving(ScriptedAgent([ASK], [HELLO]), direct_messages=True) as service:
        asked = await ask(service, context="c1")
        run = await service.submit_run(request("yes", context="c1"))
        task = await run.wait_settled(5)
    assert (run.reply, task.id, task.status.state) == (None, asked.id, TaskState.COMPLETED)
    assert task.artifacts == (ANSWER,)


async def test_where_it_is_not_allowed_a_reply_completes_a_task() -> None:
    async with serving(ScriptedAgent([HELLO])) as service:
        run = await service.submit_run(request())
        events = await heard(run.follow())
        task = await run.wait_settled(5)
    assert (run.reply, task.status.state, task.artifacts) == (None, TaskState.COMPLETED, (ANSWER,))
    assert task.status.message is None
    assert rebuilt(events).status == task.status
