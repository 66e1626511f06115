"""What a test drives by hand: an agent that plays scripts, a clock, and ids that can be foretold.

gate = Gate()
agent = ScriptedAgent(
    [Delta(text="Hel"), gate, Delta(text="lo"), Complete()],   # the first turn
    [AgentError("out of paper")],                              # the second one fails
)
...
await gate.reached()       # the first turn waits here
gate.open()
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from itertools import count

from llamon_agent.domain.errors import AgentError
from llamon_agent.domain.events import Outcome, RunEvent
from llamon_agent.runs.ports.agent import Turn
from llamon_agent.runs.ports.run import NewId


class Gate:
    """A place in a script to wait at. Never opened, it holds the turn until the turn is cancelled."""

    def __init__(self) -> None:
        self._reached = asyncio.Event()
        self._open = asyncio.Event()

    def open(self) -> None:
        self._open.set()

    async def reached(self) -> None:
        """Wait until a turn has come here."""
        await self._reached.wait()

    async def wait(self) -> None:
        self._reached.set()
        await self._open.wait()


Step = RunEvent | AgentError | Gate
"""An event to yield, an error to raise, or a gate to wait at."""


class ScriptedAgent:
    """An `Agent` that takes one script per turn, in the order of the turns.

    Shape: `turns` are those it was given, `cancelled` those that were cut short, `abandoned` the threads that were to
           be repaired, `forgotten` those that were to be deleted, each in order. A turn that is taken again gets the
           next script, like any other.
    """

    def __init__(self, *scripts: Sequence[Step], survives_restart: bool = False) -> None:
        self.survives_restart = survives_restart
        self._scripts = list(scripts)
        self.turns: list[Turn] = []
        self.cancelled: list[Turn] = []
        self.abandoned: list[str] = []
        self.forgotten: list[str] = []

    async def run(self, turn: Turn) -> AsyncGenerator[RunEvent]:
        """Play the next script. Raises: AssertionError when there is none left."""
        self.turns.append(turn)
        assert self._scripts, f"there is no script for turn {len(self.turns)}"
        step: Step | None = None
        try:
            for step in self._scripts.pop(0):
                if isinstance(step, Gate):
                    await step.wait()
                elif isinstance(step, AgentError):
                    raise step
                else:
                    yield step
        except (GeneratorExit, asyncio.CancelledError):
            if not isinstance(step, Outcome):  # an agent that is closed after its outcome was not cut short
                self.cancelled.append(turn)
            raise

    async def close_turn(self, thread_id: str) -> None:
        self.abandoned.append(thread_id)

    async def delete_thread(self, thread_id: str) -> None:
        self.forgotten.append(thread_id)


class HandClock:
    """A `Clock` that stands still until it is advanced. Units: now_ms and ms are milliseconds."""

    def __init__(self, now_ms: int = 1_000) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        return self.now_ms

    def advance(self, ms: int) -> None:
        self.now_ms += ms


def counting_ids(prefix: str = "id") -> NewId:
    """Ids that a test can foretell: `id-1`, `id-2`, ..."""
    numbers = count(1)
    return lambda: f"{prefix}-{next(numbers)}"
