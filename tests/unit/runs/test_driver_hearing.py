import asyncio
from collections.abc import Sequence

import pytest
from tests.unit.runs.living import run_of, task_of, turn_of

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
from llamon_agent.runs.driver import hear_out
from llamon_agent.runs.ports.run import Runtime, Target
from llamon_agent.runs.run import Run, Stop
from llamon_agent.runs.task_recorder import Recorder
from llamon_agent.store.memory import MemoryTaskStore
from llamon_agent.testing.clock import HandClock, counting_ids
from llamon_agent.testing.scripted import ScriptedAgent, Step


async def heard_out(script: Sequence[Step], run: Run, *, snapshot_every_s: float = 60) -> Outcome | Stop:
    store = MemoryTaskStore()
    await store.create(run.live.task)
    run.live.open_answer("answer-1")
    runtime = Runtime(Target(name="demo", adapter="scripted", target=""), ScriptedAgent(script))
    recorder = Recorder(store, clock=HandClock(), new_id=counting_ids())
    return await hear_out(run, turn_of(), runtime, recorder, snapshot_every_s=snapshot_every_s)


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
async def test_the_event_that_ends_a_run_is_its_outcome_and_what_follows_is_not_heard(end: Outcome) -> None:
    run = run_of(task_of())
    assert await heard_out([Delta(text="a"), end, Delta(text="b"), Progress(text="p")], run) == end
    assert run.live.closing(Complete())[0].artifacts[0].parts[0].text == "a"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("script", "opens"),
    [([Started()], False), ([Started(), Reply(parts=(Text.of("x"),))], False), ([Progress(text="p")], True)],
    ids=repr,
)
async def test_a_run_opens_with_the_first_thing_that_it_says(script: Sequence[Step], opens: bool) -> None:
    run = run_of(task_of())
    opening = run.opening = asyncio.get_running_loop().create_future()
    await heard_out(script, run)
    assert opening.done() is opens


async def test_an_agent_that_just_stops_talking_is_done() -> None:
    assert await heard_out([Delta(text="a")], run_of(task_of())) == Complete()


async def test_a_run_that_was_stopped_hears_nothing_more() -> None:
    run = run_of(task_of())
    run.stopping = Cancelled()
    assert await heard_out([Delta(text="a"), Complete(text="late")], run) == Cancelled()
    assert run.live.closing(Cancelled())[0].artifacts == ()


async def test_what_an_agent_raises_is_passed_on() -> None:
    with pytest.raises(AgentError, match="out of paper"):
        await heard_out([AgentError("out of paper")], run_of(task_of()))


async def test_the_answer_so_far_is_recorded_when_it_is_time() -> None:
    run = run_of(task_of())
    await heard_out([Delta(text="a"), Delta(text="b"), Complete()], run, snapshot_every_s=0)
    assert run.live.saved_seq == 2
    assert answer_text(run.live.snapshot().artifacts) == "a"
