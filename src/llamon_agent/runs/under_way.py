"""What is under way in this process: its runs, the tasks they are of, and who waits for whom."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from llamon_agent.domain.events import Error
from llamon_agent.domain.task import Task, TaskState
from llamon_agent.runs.conductor import Conductor
from llamon_agent.runs.lanes import Lanes, lane_key
from llamon_agent.runs.live import LiveTask
from llamon_agent.runs.live_tasks import LiveTasks
from llamon_agent.runs.ports import Agent, Limits, Runtime, TaskStore, Turn
from llamon_agent.runs.recorder import Recorder
from llamon_agent.runs.run import HandOver, Run

logger = logging.getLogger(__name__)

STOPPED = "The agent was stopped before it could finish."


class UnderWay:
    """All runs and live tasks of a service. Shape: make brings a task to life."""

    def __init__(
        self,
        store: TaskStore,
        recorder: Recorder,
        limits: Limits,
        make: Callable[[Task], LiveTask],
    ) -> None:
        self.live = LiveTasks(make)
        self.runs: dict[str, Run] = {}
        self.lanes = Lanes(most_waiting=limits.waiting_per_context)
        self.conductor = Conductor(recorder, limits, self.release)
        self._store = store
        self._released = asyncio.Event()

    async def idle(self, agent: Agent) -> None:
        """Wait until no run is left of an agent that was replaced."""
        while any(run.runtime is not None and run.runtime.agent is agent for run in self.runs.values()):
            self._released.clear()
            await self._released.wait()

    def is_elsewhere(self, task: Task) -> bool:
        """Whether something happens to the task, but not in this process."""
        return not task.is_settled and self.live.get(task.id) is None

    def gone_back(self, task: Task) -> None:
        """The store has lost what it had kept of a task, as one may whose server dies."""
        logger.error("task %s: the store has gone back behind what it had kept", task.id, extra=task.log_ids)
        self.live.gone_back(task)
        if not task.is_settled:
            self.conductor.lost[task.id] = task

    def alive(self, task: Task) -> LiveTask:
        """The task in this process; unless it has ended it holds its context."""
        live = self.live.alive(task)
        if not task.is_terminal:
            self.lanes.hold(live)
        return live

    def take_up(self, task: Task, turn: Turn, runtime: Runtime | None) -> None:
        """Go on with a run that was taken over: at once, or when its context is free."""
        live = self.live.alive(task)
        live.replaced(task)
        run = self.runs[task.id] = Run(live, runtime, turn, task, self.let_go)
        if self.lanes.holder(lane_key(live)) in (None, live):
            self.lanes.hold(live)
            self.conductor.start(run)
        else:
            self.lanes.queue(run)

    def release(self, run: Run) -> None:
        """The run is over: let the next one of its context start, unless its task waits for an answer."""
        live = run.live
        if self.runs.get(live.task.id) is run:
            del self.runs[live.task.id]
            self._released.set()
        if live.task.is_paused and not live.broadcast.closed:
            self.let_go(live)
            return
        self.live.forget(live)
        upcoming = self.lanes.leave(run)
        if upcoming is not None and not (self.conductor.closing and self._store.is_durable):
            self.conductor.start(upcoming)  # else it waits for the next start
        holder = self.lanes.holder(lane_key(live))
        if holder is not None:
            self.let_go(holder)

    def let_go(self, live: LiveTask) -> None:
        """Forget a paused task that nobody follows, answers or waits behind; the store has it."""
        in_use = live.task.id in self.runs or live.broadcast.readers or self.lanes.blocks(live)
        if live.task.is_paused and not in_use:
            self.live.forget(live)
            self.lanes.forget(live)

    async def drain(self, timeout_s: float, *, stop_within_s: float | None) -> None:
        """Let the runs finish for so long, then stop them; every stream ends."""
        self.conductor.closing = True
        for live in self.live:
            if live.task.id not in self.runs:
                live.broadcast.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                for run in [run for run in self.runs.values() if run.driver is not None]:
                    await run.ended()
        runs = list(self.runs.values())
        for run in runs:
            how = HandOver() if self._can_go_on(run) else Error(public=STOPPED)
            self.conductor.stop(run, how, within_s=stop_within_s)
        for run in runs:
            await run.ended()
        for live in self.live:
            live.broadcast.close()

    async def hand_over_all(self) -> None:
        """Stop every run without an end: other processes go on with them."""
        runs = list(self.runs.values())
        for run in runs:
            self.conductor.stop(run, HandOver())
        for run in runs:
            await run.ended()

    def _can_go_on(self, run: Run) -> bool:
        """Whether another process, or the next start, can go on with a run of this one."""
        if not self._store.is_durable or run.opening is not None or run.turn is None or run.runtime is None:
            return False
        return run.live.task.status.state is TaskState.SUBMITTED or run.runtime.agent.recovers
