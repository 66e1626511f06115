"""A run in two halves: what its callers hold, and what its driver keeps of its execution."""

import asyncio
from collections.abc import Callable
from enum import Enum, auto
from typing import Self

import msgspec

from llamon_agent.domain.errors import BackendError, LlamonError
from llamon_agent.domain.events import Cancelled, Error
from llamon_agent.domain.message import Message
from llamon_agent.domain.task import Task
from llamon_agent.runs.live_task import LiveTask
from llamon_agent.runs.ports.agent import Agent, Turn
from llamon_agent.runs.ports.run import Runtime
from llamon_agent.runs.subscription import Subscription, ignore_close


class HandOver(msgspec.Struct, frozen=True):
    """The stop of a run that another process, or the next start, continues: its task stays as it is."""


Stop = Cancelled | Error | HandOver
"""How a run that was stopped from outside ends."""


class Phase(Enum):
    """How far an execution is: not started, the agent has it, or its end is being recorded."""

    WAITING = auto()
    EXECUTING = auto()
    ENDING = auto()


class Run:
    """A run from its submission to its end, which is a terminal task or a pause, as its callers see it.

    Where `reply` is set the agent has answered without a task; there is none and never was one.
    """

    def __init__(
        self, live: LiveTask, first: Task | None = None, on_close: Callable[[LiveTask], None] = ignore_close
    ) -> None:
        self.live = live
        self.reply: Message | None = None
        self._first = first or live.task
        self._on_close = on_close
        self._end: Task | None = None
        self._ended = asyncio.Event()

    @classmethod
    def over(cls, live: LiveTask) -> Self:
        """A run that ended earlier, with the task as it is now."""
        run = cls(live)
        run.end(live.task)
        return run

    @property
    def task(self) -> Task:
        """The task as it is now; after the end, as the run left it."""
        return self._end or self.live.snapshot()

    @property
    def has_ended(self) -> bool:
        return self._ended.is_set()

    async def wait_settled(self, timeout_s: float) -> Task:
        """Wait until the run has ended, at most `timeout_s`; the task as it is then.

        Raises: BackendError: the end could not be recorded.
        """
        if not self._ended.is_set():
            try:
                async with asyncio.timeout(timeout_s):
                    await self._ended.wait()
            except TimeoutError:
                return self.live.snapshot()
        if self._end is None:
            raise self.live.lost or BackendError()
        return self._end

    async def wait_ended(self) -> None:
        """Wait until the run is over, whatever became of it."""
        await self._ended.wait()

    def follow(self) -> Subscription:
        """The run's events since its submission: the task as it was then, and every update up to the run's end."""
        return Subscription(self.live, self._first, self._first.seq, ends_at_pause=True, on_close=self._on_close)

    def begin(self, reply: Message | None) -> None:
        """The run is a task after all, as it is now, or an answer without one."""
        self.reply, self._first = reply, self.live.task

    def end(self, task: Task | None) -> None:
        """Give the callers the task at the end, once; None: the end could not be recorded."""
        self._end = task
        self._ended.set()


class Execution:
    """A run as its driver has it: what it was begun with, and how far it is.

    Shape: runtime is the one that the agent had when the run was submitted, whatever the agent becomes meanwhile. An
           execution without a turn ends a paused task; then the runtime may be None, for an agent that is gone.

    `stopping` is how the run shall end once it was stopped: from then on nothing else counts, so that a late answer
    cannot overwrite a cancel. `was_cut_off` says that the agent was in the middle of its turn, and may have left its
    thread so.

    A run that may answer without a task is `opening` at first: nothing is recorded, and no other call can see it,
    until the agent has given a reply or anything else. The submission waits for that; a caller that leaves cancels the
    future.
    """

    def __init__(self, run: Run, turn: Turn | None, runtime: Runtime | None) -> None:
        self.run = run
        self.live = run.live
        self.turn = turn
        self.runtime = runtime
        self.phase = Phase.WAITING
        self.stopping: Stop | None = None
        self.was_cut_off = False
        self.opening: asyncio.Future[None] | None = None
        self.worker: asyncio.Task[None] | None = None
        self.timers: list[asyncio.TimerHandle] = []

    def is_by(self, agent: Agent) -> bool:
        """Whether this agent executes it."""
        return self.runtime is not None and self.runtime.agent is agent

    def open(self, reply: Message | None = None) -> None:
        """Let the submission return: with a reply, or with the task, which is recorded as it is now."""
        opening, self.opening = self.opening, None
        if opening is not None:
            self.run.begin(reply)
            if not opening.done():
                opening.set_result(None)

    def refuse(self, error: LlamonError) -> None:
        """The task could not be recorded: let the submission raise, if it still waits."""
        opening, self.opening = self.opening, None
        self.live.lost = error
        if opening is not None and not opening.done():
            opening.set_exception(error)

    def end(self, task: Task | None) -> None:
        """The run has ended; see `Run.end`."""
        for timer in self.timers:
            timer.cancel()
        self.run.end(task)
