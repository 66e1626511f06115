import asyncio
from collections.abc import Sequence

import pytest
from tests.unit.runs.living import execution_of, task_of, turn_of

from llamon_agent.domain.errors import AgentError
from llamon_agent.domain.events import (
    Cancelled,
    Complete,
    Delta,
    Error,
    Interrupt,
    NodeLost,
    Outcome,
    Progress,
    Rejected,
    Reply,
    Started,
)
from llamon_agent.domain.message import Text
from llamon_agent.domain.task import answer_text
from llamon_agent.runs.driver import consume
from llamon_agent.runs.ports.run import Runtime, Target
from llamon_agent.runs.run import Execution, Stop
from llamon_agent.runs.task_recorder import TaskRecorder
from llamon_agent.store.memory import MemoryTaskStore
from llamon_agent.testing.scripted import HandClock, ScriptedAgent, Step, counting_ids


async def consumed(script: Sequence[Step], execution: Execution, *, snapshot_every_s: float = 60) -> Outcome | Stop:
    store = MemoryTaskStore()
    await store.create(execution.live.task)
    execution.live.open_answer("answer-1")
    runtime = Runtime(Target(name="demo", adapter="scripted", target=""), ScriptedAgent(script))
    recorder = TaskRecorder(store, clock=HandClock(), new_id=counting_ids())
    return await consume(execution, turn_of(), runtime, recorder, snapshot_every_s=snapshot_every_s)


@pytest.mark.parametrize(
    "end",
    [
        Complete(text="x"),
        Interrupt(text="?", questions=()),
        Reply(parts=(Text.of("x"),)),
        Rejected(public="no"),
        Error(public="no"),
        Cancelled(),
        NodeLost(),
    ],
)
async def test_the_event_that_ends_a_run_is_its_outcome_and_what_follows_is_ignored(end: Outcome) -> None:
    execution = execution_of(task_of())
    assert await consumed([Delta(text="a"), end, Delta(text="b"), Progress(text="p")], execution) == end
    assert execution.live.end_updates(Complete())[0].artifacts[0].parts[0].text == "a"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("script", "opens"),
    [([Started()], False), ([Started(), Reply(parts=(Text.of("x"),))], False), ([Progress(text="p")], True)],
    ids=repr,
)
async def test_a_run_opens_with_the_first_event_other_than_start_and_end(script: Sequence[Step], opens: bool) -> None:
    execution = execution_of(task_of())
    opening = execution.opening = asyncio.get_running_loop().create_future()
    await consumed(script, execution)
    assert opening.done() is opens


async def test_an_agent_that_gives_no_end_completes() -> None:
    assert await consumed([Delta(text="a")], execution_of(task_of())) == Complete()


async def test_a_stopped_run_ignores_later_events() -> None:
    execution = execution_of(task_of())
    execution.stopping = Cancelled()
    assert await consumed([Delta(text="a"), Complete(text="late")], execution) == Cancelled()
    assert execution.live.end_updates(Cancelled())[0].artifacts == ()


async def test_what_an_agent_raises_is_passed_on() -> None:
    with pytest.raises(AgentError, match="out of paper"):
        await consumed([AgentError("out of paper")], execution_of(task_of()))


async def test_the_answer_so_far_is_recorded_when_it_is_time() -> None:
    execution = execution_of(task_of())
    await consumed([Delta(text="a"), Delta(text="b"), Complete()], execution, snapshot_every_s=0)
    assert execution.live.saved_seq == 3
    assert answer_text(execution.live.snapshot().artifacts) == "ab"
