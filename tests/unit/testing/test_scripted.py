"""The scripted agent plays its scripts, waits where it is told, and remembers what was done to it."""

import asyncio

import pytest

from llamon_agent.domain.errors import AgentError
from llamon_agent.domain.events import Complete, Delta, Interrupt, Rejected, Reply, RunEvent
from llamon_agent.domain.message import Message, Role, Text
from llamon_agent.runs.ports.agent import Agent, Turn
from llamon_agent.testing.scripted import Gate, HandClock, ScriptedAgent, counting_ids


def a_turn(prompt: str = "hello") -> Turn:
    message = Message(message_id="m", role=Role.USER, parts=(Text.of(prompt),))
    return Turn(task_id="t", context_id="c", thread_id="c", session_id="c", message=message, prompt=prompt)


async def played(agent: Agent, turn: Turn) -> list[RunEvent]:
    return [event async for event in agent.run(turn)]


async def test_each_turn_plays_the_next_script() -> None:
    agent = ScriptedAgent([Delta(text="one"), Complete()], [Complete(text="two")])
    assert await played(agent, a_turn("a")) == [Delta(text="one"), Complete()]
    assert await played(agent, a_turn("b")) == [Complete(text="two")]
    assert [turn.prompt for turn in agent.turns] == ["a", "b"]
    assert agent.cancelled == []


async def test_a_turn_without_a_script_is_a_mistake_in_the_test() -> None:
    with pytest.raises(AssertionError, match="turn 1"):
        await played(ScriptedAgent(), a_turn())


async def test_an_error_in_the_script_is_raised() -> None:
    with pytest.raises(AgentError, match="out of paper"):
        await played(ScriptedAgent([Delta(text="x"), AgentError("out of paper")]), a_turn())


async def test_a_gate_holds_the_turn_until_it_is_opened() -> None:
    gate = Gate()
    task = asyncio.create_task(played(ScriptedAgent([gate, Complete()]), a_turn()))
    async with asyncio.timeout(5):
        await gate.reached()
        assert not task.done()
        gate.open()
        assert await task == [Complete()]


async def test_a_turn_that_is_cancelled_at_a_gate_is_remembered() -> None:
    gate = Gate()
    agent = ScriptedAgent([Delta(text="x"), gate, Complete()])
    task = asyncio.create_task(played(agent, a_turn()))
    async with asyncio.timeout(5):
        await gate.reached()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert agent.cancelled == agent.turns == [a_turn()]


@pytest.mark.parametrize(
    ("events", "cut_short"),
    [
        ([Delta(text="x"), Delta(text="y")], True),
        ([Complete()], False),
        ([Interrupt(text="?", questions=())], False),
        ([Reply(parts=(Text.of("hi"),))], False),
        ([Rejected(public="no")], False),
    ],
)
async def test_a_turn_that_is_closed_early_is_cut_short_unless_it_had_ended(
    events: list[RunEvent], cut_short: bool
) -> None:
    agent = ScriptedAgent(events)
    run = agent.run(a_turn())
    await anext(run)
    await run.aclose()
    assert bool(agent.cancelled) is cut_short


async def test_abandoned_threads_are_remembered() -> None:
    agent = ScriptedAgent()
    await agent.close_turn("thread-1")
    assert agent.abandoned == ["thread-1"]


async def test_forgotten_threads_are_remembered() -> None:
    agent = ScriptedAgent()
    await agent.delete_thread("thread-1")
    assert agent.forgotten == ["thread-1"]


def test_the_clock_moves_by_hand_only() -> None:
    clock = HandClock(now_ms=5)
    assert (clock(), clock()) == (5, 5)
    clock.advance(ms=10)
    assert clock() == 15


def test_ids_count_from_one_and_each_counter_by_itself() -> None:
    task_ids, run_ids = counting_ids("task"), counting_ids("run")
    assert [task_ids(), task_ids(), run_ids()] == ["task-1", "task-2", "run-1"]
