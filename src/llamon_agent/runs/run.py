"""One execution of an agent for a task, as its caller sees it."""

import asyncio
from collections.abc import Callable
from enum import Enum, auto
from typing import Self

import msgspec

from llamon_agent.domain.errors import BackendError
from llamon_agent.domain.events import Cancelled, Error
from llamon_agent.domain.message import Message
from llamon_agent.domain.task import Task
from llamon_agent.runs.live_task import LiveTask
from llamon_agent.runs.ports.agent import Turn
from llamon_agent.runs.ports.run import Runtime
from llamon_agent.runs.subscription import Subscription


class HandOver(msgspec.Struct, frozen=True):
    """How a run is stopped that another process, or the next start, goes on with: its task stays as it is."""


Stop = Cancelled | Error | HandOver
"""How a run ends that somebody stopped."""


class Phase(Enum):
    """How far a run is: nothing has happened, the agent has it, or its end is being recorded."""

    WAITING = auto()
    EXECUTING = auto()
    ENDING = auto()


class Run:
    """A run from its submission to its end, which is a terminal task or a pause.

    The service drives it, with the runtime that its agent had when it was submitted, whatever the agent becomes
    meanwhile; None for an agent that is gone, and then only to cancel its task. `stopping` is how it shall end once
    somebody stopped it: from then on nothing else counts, so that an answer that comes late cannot overwrite a cancel.
    `was_cut_off` says that the agent was in the middle of its turn, and may have left its thread so.

    A run that may answer without a task is `opening` at first: nothing is recorded and nobody knows of it, until it has
    said whether it is a task or a reply. The submission waits for that; the future is cancelled if its caller is gone.
    Where `reply` is set there is no task and never was one; then `ended` is all that still means anything here.
    """

    def __init__(
        self,
        live: LiveTask,
        runtime: Runtime | None,
        turn: Turn | None,
        first: Task,
        on_close: Callable[[LiveTask], None],
    ) -> None:
        self.live = live
        self.runtime = runtime
        self.turn = turn
        self.phase = Phase.WAITING
        self.stopping: Stop | None = None
        self.was_cut_off = False
        self.opening: asyncio.Future[None] | None = None
        self.reply: Message | None = None
        self.driver: asyncio.Task[None] | None = None
        self.timers: list[asyncio.TimerHandle] = []
        self._first = first
        self._on_close = on_close
        self._end: Task | None = None
        self._ended = asyncio.Event()

    @classmethod
    def over(cls, live: LiveTask) -> Self:
        """A run that ended before, as its task is now."""
        run = cls(live, None, None, live.task, lambda _live: None)
        run.end(live.task)
        return run

    @property
    def task(self) -> Task:
        """The task as it is now; after the end, as the run left it."""
        return self._end or self.live.snapshot()

    @property
    def has_ended(self) -> bool:
        return self._ended.is_set()

    def open(self, reply: Message | None = None) -> None:
        """Let the submission return: with a reply, or with the task, which is recorded as it is now."""
        opening, self.opening = self.opening, None
        if opening is not None:
            self.reply, self._first = reply, self.live.task
            if not opening.done():
                opening.set_result(None)

    def refuse(self, error: BackendError) -> None:
        """The task could not be recorded: let the submission raise, if it waits still."""
        opening, self.opening = self.opening, None
        self.live.lost = error
        if opening is not None and not opening.done():
            opening.set_exception(error)

    async def settled(self, timeout_s: float) -> Task:
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

    async def ended(self) -> None:
        """Wait until the run is over, whatever became of it."""
        await self._ended.wait()

    def follow(self) -> Subscription:
        """The run's events from its submission on: the task as it was then, and every update up to the run's end."""
        return Subscription(self.live, self._first, self._first.seq, ends_at_pause=True, on_close=self._on_close)

    def end(self, task: Task | None) -> None:
        """Say once how it ended; None: nobody knows, the record failed."""
        for timer in self.timers:
            timer.cancel()
        self._end = task
        self._ended.set()
