"""What is under way in this process: its runs, the tasks they are of, and who waits for whom."""

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import suppress

from llamon_agent.domain.errors import ContextIsBusy
from llamon_agent.domain.events import Error
from llamon_agent.domain.task import Task, TaskState
from llamon_agent.runs.driver import Conductor
from llamon_agent.runs.live_task import LiveTask
from llamon_agent.runs.ports.agent import Agent, Turn
from llamon_agent.runs.ports.run import Limits, Runtime
from llamon_agent.runs.ports.store import TaskStore
from llamon_agent.runs.run import HandOver, Run
from llamon_agent.runs.task_recorder import Recorder

# MERGED-DOC: The tasks that something is happening to in this process; every other task is what the store says of it.
_REMEMBERED_SEQS = 4096
"""Of how many tasks that left memory the seq is remembered, so that a read that was under way is known to be old."""


class LiveTasks:
    """Live tasks by their ids. Shape: `make` brings a task to life."""

    def __init__(self, make: Callable[[Task], LiveTask]) -> None:
        self._make = make
        self._live: dict[str, LiveTask] = {}
        # A plain dict finds its oldest key only by walking over all that were deleted.
        self._last_seqs: OrderedDict[str, int] = OrderedDict()

    def __iter__(self) -> Iterator[LiveTask]:
        return iter(list(self._live.values()))

    def __len__(self) -> int:
        return len(self._live)

    def get(self, task_id: str) -> LiveTask | None:
        return self._live.get(task_id)

    def alive(self, task: Task) -> LiveTask:
        """The task in this process, from its record if need be; one that has ended is not kept."""
        live = self._live.get(task.id)
        if live is None:
            live = self._make(task)
            if not task.is_terminal:
                self._live[task.id] = live
        return live

    def last_seq(self, task_id: str) -> int:
        """What the store has kept of a task that left memory, at least; 0 where that is not known."""
        return self._last_seqs.get(task_id, 0)

    def is_current(self, task: Task) -> bool:
        """Whether a record that was just read is the newest; while it was read, the task may have come or gone."""
        return task.id not in self._live and task.seq >= self.last_seq(task.id)

    def gone_back(self, task: Task) -> None:
        """The store has lost what it had kept: from now on its older record is what is so."""
        self._remember(task.id, task.seq)

    def forget(self, live: LiveTask) -> None:
        """Leave the task to the store."""
        if self._live.pop(live.task.id, None) is not None and live.saved_seq:
            self._remember(live.task.id, live.saved_seq)

    def _remember(self, task_id: str, seq: int) -> None:
        """Keep the seq; where there are too many, the one that was told longest ago goes."""
        self._last_seqs[task_id] = seq
        self._last_seqs.move_to_end(task_id)
        if len(self._last_seqs) > _REMEMBERED_SEQS:
            self._last_seqs.popitem(last=False)


# MERGED-DOC: One run per context at a time; later messages wait their turn, in order, and not too many of them.
#
# A context has a lane. At most one task holds it, working or paused, and runs wait behind it. A paused task keeps its
# lane: what waits was written before its question was asked, so it is no answer to it, and a run beside a pending
# question would lose it. Everything is synchronous, so a decision and its reservation are one step.
#
LaneKey = tuple[str, str, str]
"""(owner, agent, context id)"""


def lane_key(live: LiveTask) -> LaneKey:
    """The lane of a task."""
    return live.task.owner, live.task.agent, live.task.context_id


class _Lane:
    def __init__(self) -> None:
        self.holder: LiveTask | None = None
        self.waiting: deque[Run] = deque()


class Lanes:
    """All lanes that are not empty."""

    def __init__(self, *, most_waiting: int) -> None:
        self._lanes: dict[LaneKey, _Lane] = {}
        self._most_waiting = most_waiting

    def holder(self, key: LaneKey) -> LiveTask | None:
        """The task that has the context now."""
        lane = self._lanes.get(key)
        return lane.holder if lane is not None else None

    def is_free(self, key: LaneKey) -> bool:
        """Whether a new run could start at once."""
        return key not in self._lanes

    def check_room(self, key: LaneKey) -> None:
        """Raises: ContextIsBusy: as many runs wait as may."""
        lane = self._lanes.get(key)
        if lane is not None and len(lane.waiting) >= self._most_waiting:
            raise ContextIsBusy

    def hold(self, live: LiveTask) -> None:
        """Give the task its context, if nobody has it."""
        lane = self._lanes.setdefault(lane_key(live), _Lane())
        lane.holder = lane.holder or live

    def queue(self, run: Run) -> None:
        """Let the run wait behind the holder."""
        self._lanes[lane_key(run.live)].waiting.append(run)

    def blocks(self, live: LiveTask) -> bool:
        """Whether runs wait behind this task."""
        lane = self._lanes.get(lane_key(live))
        return lane is not None and lane.holder is live and bool(lane.waiting)

    def leave(self, run: Run) -> Run | None:
        """The run's task needs its context no more; the run whose turn it is now, already holding it."""
        return self._vacate(run.live, run)

    def forget(self, live: LiveTask) -> None:
        """Drop a holder that nobody waits behind."""
        self._vacate(live, None)

    def _vacate(self, live: LiveTask, run: Run | None) -> Run | None:
        key = lane_key(live)
        lane = self._lanes.get(key)
        if lane is None:
            return None
        if run is not None and run in lane.waiting:
            lane.waiting.remove(run)
        if lane.holder is not live:
            return None
        if not lane.waiting:
            del self._lanes[key]
            return None
        upcoming = lane.waiting.popleft()
        lane.holder = upcoming.live
        return upcoming


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
        return run.live.task.status.state is TaskState.SUBMITTED or run.runtime.agent.can_continue_after_restart
