"""How runs end, through the service: agents that fail, do not stop, or whose end cannot be recorded."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.unit.runs.serving import ASK, FlakyStore, ask, heard, paused, request, serving, status_text

from llamon_agent.domain.errors import AgentError, BackendError, CannotBeKept, Conflict
from llamon_agent.domain.events import (
    AgentEvent,
    ArtifactMade,
    Complete,
    Delta,
    Interrupt,
    Progress,
    Question,
    Rejected,
    Reply,
)
from llamon_agent.domain.message import Data, Text
from llamon_agent.domain.task import Artifact, Task, TaskState, answer_text
from llamon_agent.runs.driver import AGENT_BROKE, CANNOT_BE_KEPT
from llamon_agent.runs.ports.agent import Turn
from llamon_agent.runs.ports.run import Limits
from llamon_agent.runs.takeover import LOST
from llamon_agent.store.memory import MemoryTaskStore
from llamon_agent.store.sqlite.store import SqliteTaskStore
from llamon_agent.testing.scripted import Gate, ScriptedAgent, Step


class Stubborn:
    """An agent that cannot be stopped before it wants to."""

    survives_restart = False

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.may_end = asyncio.Event()
        self.said_late = False

    async def run(self, turn: Turn) -> AsyncGenerator[AgentEvent]:
        yield Delta(text="part")
        self.started.set()
        while not self.may_end.is_set():
            try:
                await self.may_end.wait()
            except asyncio.CancelledError:
                continue
        self.said_late = True
        yield Delta(text=" late")
        yield Complete(text="late")

    async def close_turn(self, thread_id: str) -> None: ...

    async def delete_thread(self, thread_id: str) -> None: ...


class Exits(ScriptedAgent):
    """An agent that raises what is no Exception."""

    def __init__(self, raised: BaseException) -> None:
        super().__init__()
        self.raised = raised

    async def run(self, turn: Turn) -> AsyncGenerator[AgentEvent]:
        if turn.prompt == "fine":
            yield Complete(text="fine")
        raise self.raised

    async def close_turn(self, thread_id: str) -> None:
        raise self.raised


async def test_an_agents_error_is_the_tasks_failure_and_keeps_what_was_said() -> None:
    agent = ScriptedAgent([Delta(text="half"), AgentError("The model is away.")])
    async with serving(agent) as service:
        task = await ask(service)
    assert task.status.state is TaskState.FAILED
    assert status_text(task) == "The model is away."
    assert task.history[-1] == task.status.message
    assert task.artifacts[0].metadata == {"incomplete": True}
    assert answer_text(task.artifacts) == "half"


async def test_an_agents_bug_fails_the_task_and_tells_nothing_of_it(caplog: pytest.LogCaptureFixture) -> None:
    class Buggy(ScriptedAgent):
        async def run(self, turn: Turn) -> AsyncGenerator[AgentEvent]:
            yield Delta(text="x")
            raise ZeroDivisionError("secret")

    async with serving(Buggy()) as service:
        task = await ask(service)
    assert status_text(task) == AGENT_BROKE
    assert "ZeroDivisionError" in caplog.text


async def test_a_run_that_takes_too_long_fails_with_the_reason() -> None:
    agent = ScriptedAgent([Delta(text="half"), Gate()])
    async with serving(agent, timeout_s=0.05) as service:
        task = await ask(service)
    assert task.status.state is TaskState.FAILED
    assert status_text(task) == "The agent did not finish within 0.05 seconds."
    assert len(agent.cancelled) == 1


async def test_an_agent_that_cannot_drop_its_question_is_canceled_all_the_same() -> None:
    class Clinging(ScriptedAgent):
        async def close_turn(self, thread_id: str) -> None:
            raise AgentError("no")

    async with serving(Clinging([ASK])) as service:
        task = await paused(service)
        assert (await service.cancel_run("default", "demo", task.id, again_ok=False)).status.state is TaskState.CANCELED


async def test_an_agent_that_does_not_stop_is_abandoned(caplog: pytest.LogCaptureFixture) -> None:
    agent = Stubborn()
    store = MemoryTaskStore()
    async with serving(agent, store, limits=Limits(cancel_grace_s=0.02)) as service:
        run = await service.submit_run(request(context="c1"))
        await agent.started.wait()
        task = await service.cancel_run("default", "demo", run.task.id, again_ok=False)
        assert task.status.state is TaskState.CANCELED
        agent.may_end.set()
    assert agent.said_late
    assert await store.get("default", "demo", task.id) == task
    assert answer_text(task.artifacts) == "part"
    assert "abandoned" in caplog.text


async def test_the_service_ends_without_what_was_left_behind() -> None:
    """A thread that hangs is waited for by nobody in the end."""
    started, stopped = asyncio.Event(), asyncio.Event()

    class Waiting(ScriptedAgent):
        async def run(self, turn: Turn) -> AsyncGenerator[AgentEvent]:
            yield Delta(text="part")
            started.set()
            try:
                await asyncio.Event().wait()
            finally:
                try:
                    await asyncio.Event().wait()
                finally:
                    stopped.set()

    agent = Waiting()
    async with serving(agent, limits=Limits(cancel_grace_s=0.02)) as service:
        run = await service.submit_run(request(context="c1"))
        await started.wait()
        task = await service.cancel_run("default", "demo", run.task.id, again_ok=False)
        assert task.status.state is TaskState.CANCELED
        assert not stopped.is_set()  # what it is in the middle of is left alone as long as the service lives
    assert stopped.is_set()
    assert agent.abandoned == []


async def test_the_service_ends_though_what_was_left_behind_never_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llamon_agent.runs.driver._LAST_MOMENT_S", 0.01)
    agent = Stubborn()
    async with serving(agent, limits=Limits(cancel_grace_s=0.02)) as service:
        await service.submit_run(request(context="c1"))
        await agent.started.wait()
    assert not agent.said_late
    agent.may_end.set()


@pytest.mark.parametrize("at", ["its work", "its end"])
async def test_a_run_that_is_being_stopped_already_has_no_longer_than_the_others(at: str) -> None:
    hangs = asyncio.Event()

    class Hanging(ScriptedAgent):
        async def close_turn(self, thread_id: str) -> None:
            hangs.set()
            await asyncio.Event().wait()

    stubborn, hanging = Stubborn(), Hanging([Gate()])
    started = stubborn.started if at == "its work" else hangs
    async with serving(stubborn if at == "its work" else hanging, limits=Limits(cancel_grace_s=60)) as service:
        run = await service.submit_run(request(context="c1"))
        if at == "its work":
            await started.wait()
        canceling = asyncio.ensure_future(service.cancel_run("default", "demo", run.task.id, again_ok=False))
        await started.wait()
        await asyncio.sleep(0)
        await service.drain(0, stop_within_s=0.02)
        assert (await canceling).status.state is TaskState.CANCELED
        stubborn.may_end.set()


async def test_an_end_that_cannot_be_recorded_is_not_told() -> None:
    """The call and the stream end in bounded time, with an error and without a false answer."""
    store = FlakyStore()
    gate = Gate()
    agent = ScriptedAgent([gate, Complete(text="x")], [Complete(text="y")])
    async with serving(agent, store, limits=Limits(record_again_s=())) as service:
        run = await service.submit_run(request(context="c1"))
        waiting = await service.submit_run(request(context="c1"))
        stream = run.follow()
        await gate.reached()
        store.away = True
        gate.open()
        with pytest.raises(BackendError):
            await run.wait_settled(5)
        with pytest.raises(BackendError):
            await heard(stream)
        with pytest.raises(BackendError):
            await waiting.wait_settled(5)
        store.away = False
        for lost in (run, waiting):
            kept = await service.get("default", "demo", lost.task.id)
            assert (kept.status.state, status_text(kept)) == (TaskState.FAILED, LOST)
        assert await service.get("default", "demo", run.task.id) == await store.get("default", "demo", run.task.id)


async def test_an_end_is_recorded_as_soon_as_the_store_is_back() -> None:
    store = FlakyStore()
    gate = Gate()
    agent = ScriptedAgent([gate, Complete(text="x")], [Complete(text="y")])
    async with serving(agent, store, limits=Limits(record_again_s=(0.001,) * 10_000)) as service:
        run = await service.submit_run(request(context="c1"))
        waiting = await service.submit_run(request(context="c1"))
        await gate.reached()
        store.away = True
        gate.open()
        await store.refused_often.wait()
        assert not run.has_ended
        store.away = False
        assert answer_text((await run.wait_settled(5)).artifacts) == "x"
        assert answer_text((await waiting.wait_settled(5)).artifacts) == "y"


async def test_a_conflict_at_the_end_is_not_told_as_success(caplog: pytest.LogCaptureFixture) -> None:
    store = MemoryTaskStore()
    gate = Gate()
    async with serving(ScriptedAgent([gate, Complete(text="x")]), store) as service:
        run = await service.submit_run(request())
        await gate.reached()
        await store.save(msgspec.structs.replace(run.task, seq=7), expect=1)
        gate.open()
        with pytest.raises(Conflict):
            await run.wait_settled(5)
        kept = await service.get("default", "demo", run.task.id)
        assert (kept.status.state, status_text(kept)) == (TaskState.FAILED, LOST)  # nobody else holds it in this store
    assert "could not be recorded" in caplog.text


@pytest.mark.parametrize(
    "raised", [SystemExit(3), GeneratorExit(), BaseExceptionGroup("x", [SystemExit()]), asyncio.CancelledError()]
)
async def test_whatever_an_agent_raises_ends_its_own_task_only(raised: BaseException) -> None:
    async with serving(Exits(raised)) as service:
        task = await ask(service)
        assert (task.status.state, status_text(task)) == (TaskState.FAILED, AGENT_BROKE)
        assert answer_text((await ask(service, "fine")).artifacts) == "fine"


async def test_a_run_that_was_left_behind_touches_the_thread_no_more() -> None:
    class LateStubborn(Stubborn):
        def __init__(self) -> None:
            super().__init__()
            self.abandoned = 0

        async def run(self, turn: Turn) -> AsyncGenerator[AgentEvent]:
            if not turn.answers:
                yield ASK
                return
            async for event in super().run(turn):
                yield event

        async def close_turn(self, thread_id: str) -> None:
            self.abandoned += 1

    agent = LateStubborn()
    async with serving(agent, limits=Limits(cancel_grace_s=0.02)) as service:
        task = await paused(service)
        await service.submit_run(request("yes", task=task.id))
        await agent.started.wait()
        await service.cancel_run("default", "demo", task.id, again_ok=False)
        agent.may_end.set()
    assert (agent.said_late, agent.abandoned) == (True, 0)


NO_VALUE = Artifact(artifact_id="odd", parts=(Data(data=object()),))
FINE = Artifact(artifact_id="fine", parts=(Text.of("x"),))


@pytest.mark.parametrize(
    "said",
    [
        [ArtifactMade(artifact=FINE), ArtifactMade(artifact=NO_VALUE), Complete()],
        [ArtifactMade(artifact=FINE), Reply(parts=NO_VALUE.parts)],
        [ArtifactMade(artifact=FINE), Interrupt(text="?", questions=(Question(id="q", value=object()),))],
    ],
    ids=["artifact", "reply", "question"],
)
async def test_a_value_that_no_store_takes_fails_its_own_task_and_at_once(
    tmp_path: Path, said: list[AgentEvent], caplog: pytest.LogCaptureFixture
) -> None:
    store = SqliteTaskStore.open(tmp_path / "tasks.sqlite")
    async with serving(ScriptedAgent(said, [Complete(text="fine")]), store) as service:
        task = await ask(service, context="c1")
        assert (task.status.state, status_text(task)) == (TaskState.FAILED, CANNOT_BE_KEPT)
        assert [artifact.artifact_id for artifact in task.artifacts] == ["fine"]
        assert answer_text((await ask(service, context="c1")).artifacts) == "fine"
    assert "the store is away" not in caplog.text
    assert "cannot be written" not in caplog.text
    await store.close()


class Narrow(MemoryTaskStore):
    """As one whose process has no memory for a task with artifacts."""

    async def save(self, task: Task, **given: Any) -> None:
        if task.is_terminal and task.artifacts:
            raise MemoryError
        await super().save(task, **given)


async def test_an_end_that_memory_does_not_suffice_for_is_recorded_without_what_was_made() -> None:
    async with serving(ScriptedAgent([Delta(text="long"), ArtifactMade(artifact=FINE)]), Narrow()) as service:
        task = await ask(service)
    assert (task.status.state, status_text(task)) == (TaskState.FAILED, CANNOT_BE_KEPT)
    assert task.artifacts == ()


async def test_a_name_that_no_store_keeps_refuses_the_message_and_no_store_is_away() -> None:
    async with serving(ScriptedAgent([Complete(text="fine")])) as service:
        with pytest.raises(CannotBeKept):
            await service.submit_run(request(context="\ud800"))
        assert answer_text((await ask(service)).artifacts) == "fine"


class Words(str): ...


async def test_texts_of_other_classes_are_kept_and_told(tmp_path: Path) -> None:
    store = SqliteTaskStore.open(tmp_path / "tasks.sqlite")
    script: list[list[Step]] = [
        [Progress(text=Words("thinking")), Delta(text=Words("a")), Complete()],
        [Complete(text=Words("b"))],
        [Rejected(public=Words("no"))],
        [AgentError(Words("never"))],
    ]
    async with serving(ScriptedAgent(*script), store) as service:
        assert [answer_text((await ask(service)).artifacts) for _ in range(2)] == ["a", "b"]
        assert [status_text(await ask(service)) for _ in range(2)] == ["no", "never"]
    await store.close()
