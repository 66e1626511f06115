"""Subscriptions: what their readers hear, and when it is forgotten."""

import asyncio

import pytest
from tests.unit.runs.serving import ASK, FlakyStore, ask, heard, paused, rebuilt, request, serving

from llamon_agent.domain.errors import AgentError, TaskNotFound, UnsupportedOperation
from llamon_agent.domain.events import ArtifactUpdate, Complete, Delta, Snapshot, StatusUpdate
from llamon_agent.domain.message import Text
from llamon_agent.domain.task import TaskState, answer_text
from llamon_agent.runs.ports.run import Limits
from llamon_agent.testing.scripted import Gate, ScriptedAgent


async def test_a_subscription_starts_with_a_snapshot_and_misses_nothing() -> None:
    gate = Gate()
    agent = ScriptedAgent([Delta(text="a"), Delta(text="b"), gate, Delta(text="c"), Complete()])
    async with serving(agent) as service:
        run = await service.submit_run(request())
        await gate.reached()
        stream = await service.subscribe("default", "demo", run.task.id, after_seq=None, ended_ok=False)
        gate.open()
        events = await heard(stream)
        task = await run.wait_settled(5)
    assert rebuilt(events).artifacts == task.artifacts
    assert isinstance(events[-1], StatusUpdate)


async def test_a_subscription_stays_open_through_a_pause() -> None:
    agent = ScriptedAgent([ASK], [Delta(text="done"), Complete()])
    async with serving(agent) as service:
        task = await paused(service)
        stream = await service.subscribe("default", "demo", task.id, after_seq=None, ended_ok=False)
        reading = asyncio.ensure_future(heard(stream))
        await ask(service, "yes", task=task.id)
        events = await reading
    assert [e.status.state for e in events if isinstance(e, StatusUpdate)] == [TaskState.WORKING, TaskState.COMPLETED]


async def test_a_send_stream_ends_at_the_pause() -> None:
    async with serving(ScriptedAgent([ASK])) as service:
        run = await service.submit_run(request())
        events = await heard(run.follow())
    assert isinstance(events[-1], StatusUpdate)
    assert events[-1].status.state is TaskState.INPUT_REQUIRED


async def test_a_reader_that_comes_back_gets_only_what_it_missed() -> None:
    gate = Gate()
    agent = ScriptedAgent([Delta(text="a"), Delta(text="b"), Delta(text="c"), gate, Complete()])
    async with serving(agent) as service:
        run = await service.submit_run(request())
        await gate.reached()
        stream = await service.subscribe("default", "demo", run.task.id, after_seq=2, ended_ok=False)
        gate.open()
        events = await heard(stream)
    assert not any(isinstance(event, Snapshot) for event in events)
    assert [event.seq for event in events if not isinstance(event, Snapshot)] == list(range(3, run.task.seq + 1))


@pytest.mark.parametrize("after_seq", [99, -5])
async def test_a_place_that_the_log_does_not_know_gets_a_snapshot(after_seq: int) -> None:
    gate = Gate()
    async with serving(ScriptedAgent([Delta(text="a"), gate, Complete()])) as service:
        run = await service.submit_run(request())
        await gate.reached()
        stream = await service.subscribe("default", "demo", run.task.id, after_seq=after_seq, ended_ok=False)
        gate.open()
        assert isinstance((await heard(stream))[0], Snapshot)


async def test_a_finished_task_is_shown_or_refused_as_the_dialect_wants_it() -> None:
    """One dialect shows a finished task to a subscriber, the other refuses."""
    async with serving(ScriptedAgent([Complete(text="x")])) as service:
        task = await ask(service)
        with pytest.raises(UnsupportedOperation):
            await service.subscribe("default", "demo", task.id, after_seq=None, ended_ok=False)
        stream = await service.subscribe("default", "demo", task.id, after_seq=1, ended_ok=True)
        assert await heard(stream) == [Snapshot(task=task)]
        with pytest.raises(TaskNotFound):
            await service.subscribe("default", "demo", "nope", after_seq=None, ended_ok=True)


async def test_hanging_up_ends_the_subscription_and_not_the_run() -> None:
    """A client may lose its connection at any time."""
    gate = Gate()
    async with serving(ScriptedAgent([gate, Complete(text="x")])) as service:
        run = await service.submit_run(request())
        stream = run.follow()
        await anext(stream)
        stream.close()
        stream.close()
        assert await heard(stream) == []
        gate.open()
        assert (await run.wait_settled(5)).status.state is TaskState.COMPLETED


async def test_a_reader_that_fell_behind_loses_detail_and_no_text() -> None:
    """A slow reader is given whole artifacts in place of the deltas that it missed."""
    words = [f"word{number} " for number in range(500)]
    agent = ScriptedAgent([*(Delta(text=word) for word in words), Complete()])
    async with serving(agent, limits=Limits(window_bytes=4_000)) as service:
        run = await service.submit_run(request())
        stream = run.follow()
        await run.wait_settled(5)
        events = await heard(stream)
    assert len(events) < 100
    assert answer_text(rebuilt(events).artifacts) == "".join(words)


async def test_text_is_sent_at_once_and_the_status_closes_it() -> None:
    gate = Gate()
    async with serving(ScriptedAgent([Delta(text="wait"), gate, Complete()])) as service:
        run = await service.submit_run(request())
        stream = run.follow()
        await anext(stream)
        [chunk] = await anext(stream)
        assert isinstance(chunk, ArtifactUpdate)
        assert (chunk.parts, chunk.last) == ((Text.of("wait"),), False)
        gate.open()
        [status] = await anext(stream)
        assert isinstance(status, StatusUpdate)
        assert [each.parts for each in status.closes] == [(Text.of("wait"),)]


async def test_a_paused_task_that_nobody_follows_is_forgotten() -> None:
    """What is never answered does not stay in memory."""
    async with serving(ScriptedAgent([ASK])) as service:
        task = await paused(service)
        assert len(service._registry.tasks) == 0
        stream = await service.subscribe("default", "demo", task.id, after_seq=None, ended_ok=False)
        assert [live.task.id for live in service._registry.tasks] == [task.id]
        stream.close()
        assert len(service._registry.tasks) == 0
        assert len(service._registry.queues) == 0


async def test_nothing_of_an_ended_task_stays_in_memory() -> None:
    async with serving(ScriptedAgent([Complete()], [AgentError("x")], [ASK])) as service:
        for _ in range(3):
            await ask(service)
        assert (len(service._registry.tasks), service._registry._executions, service._registry.queues._queues) == (
            0,
            {},
            {},
        )


async def test_a_reader_that_joins_while_the_end_is_recorded_hears_no_text_twice() -> None:
    store = FlakyStore()
    agent = ScriptedAgent([Delta(text="Hel"), Delta(text="lo"), Complete()])
    async with serving(agent, store) as service:
        store.saving = Gate()
        run = await service.submit_run(request())
        await store.saving.reached()
        joined = await service.subscribe("default", "demo", run.task.id, after_seq=None, ended_ok=False)
        assert answer_text((await service.get("default", "demo", run.task.id)).artifacts) == "Hello"
        store.saving.open()
        events = await heard(joined)
    assert answer_text(rebuilt(events).artifacts) == "Hello"
