"""Two rules of docs/architecture.md: a canceled run ends canceled, and a stop leaves what waits to the next start."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import pytest
from tests.unit.runs.serving import request, serving
from typing_extensions import override

from llamon_agent.domain.errors import AgentError
from llamon_agent.domain.events import Complete, Delta, RunEvent
from llamon_agent.domain.task import TaskState, answer_text
from llamon_agent.runs.ports.agent import Turn
from llamon_agent.store.memory import MemoryTaskStore
from llamon_agent.store.sqlite.store import SqliteTaskStore
from llamon_agent.testing.scripted import Gate, ScriptedAgent

Answer = Literal["raises", "returns", "completes"]


class AnswersCancel(ScriptedAgent):
    """An agent that catches its cancellation, as code with a broad `except` does, and ends in another way."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self.working = asyncio.Event()
        self._answer = answer

    @override
    async def run(self, turn: Turn) -> AsyncGenerator[RunEvent]:
        yield Delta(text="half")
        self.working.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if self._answer == "raises":
                raise AgentError("out of paper") from None
            if self._answer == "completes":
                yield Complete(text="late")


@pytest.mark.parametrize("answer", ["raises", "returns", "completes"])
async def test_a_canceled_run_ends_canceled_whatever_its_agent_answers(answer: Answer) -> None:
    store, agent = MemoryTaskStore(), AnswersCancel(answer)
    async with serving(agent, store) as service:
        run = await service.submit_run(request())
        await agent.working.wait()
        canceled = await service.cancel_run("default", "demo", run.task.id, again_ok=False)
        assert await run.wait_settled(5) == canceled
    assert canceled.status.state is TaskState.CANCELED
    assert answer_text(canceled.artifacts) == "half"
    assert await store.get("default", "demo", run.task.id) == canceled


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[SqliteTaskStore]:
    store = SqliteTaskStore.open(path, durability="normal")
    try:
        yield store
    finally:
        await store.close()


async def test_a_draining_edge_leaves_a_waiting_message_to_the_next_start(tmp_path: Path) -> None:
    path, gate, hold = tmp_path / "tasks.sqlite", Gate(), Gate()
    stopping = ScriptedAgent([gate, Complete(text="one")], [hold, Complete()])
    async with opened(path) as store, serving(stopping, store) as service:
        await service.start()
        first, second = [await service.submit_run(request(text, context="c1")) for text in ("one", "two")]
        await service.submit_run(request("longer", context="c2"))  # as long as it runs, the edge is not at its end
        await hold.reached()
        await gate.reached()
        draining = asyncio.create_task(service.drain(5))
        gate.open()  # the run wakes up after the drain has begun
        assert answer_text((await first.wait_settled(5)).artifacts) == "one"
        hold.open()
        await draining
        left = await store.get("default", "demo", second.task.id)
    assert left is not None
    assert left.status.state is TaskState.SUBMITTED
    assert [turn.prompt for turn in stopping.turns] == ["one", "longer"]

    starting = ScriptedAgent([Complete(text="two")])
    async with opened(path) as store, serving(starting, store, ids="new") as service:
        await service.start()
        stream = await service.subscribe("default", "demo", left.id, after_seq=None, ended_ok=True)
        async for _ in stream:
            pass
        task = await service.get("default", "demo", left.id)
    assert (task.status.state, answer_text(task.artifacts)) == (TaskState.COMPLETED, "two")
