"""The run service: a message becomes a run, a run's events become the task, and the task is told to whoever follows.

Rules, in the order in which they matter:
1. Record before telling: a state is in the store before any caller hears of it. Deltas are told at once and recorded at
   state changes and at a bounded interval.
2. Every record is a compare-and-set on the task's seq; a terminal state is never overwritten, here and in the store.
3. One run per context (see `lanes`): decisions and reservations happen without an await between them.
4. A run belongs to the service, never to the call that asked for it: whoever hangs up ends a subscription.
"""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import Self

from llamon_agent.domain.errors import (
    AgentIsGone,
    BackendError,
    Conflict,
    TaskIsBusy,
    TaskNotFound,
    UnsupportedOperation,
)
from llamon_agent.domain.events import Cancelled, Error
from llamon_agent.domain.task import PAUSED, Task, TaskState
from llamon_agent.runs.conductor import Conductor
from llamon_agent.runs.decisions import (
    Begin,
    Continue,
    begun,
    check_answer,
    decide_cancel,
    decide_submit,
    new_task,
    turn_of,
)
from llamon_agent.runs.lanes import Lanes, lane_key
from llamon_agent.runs.live import LiveTask
from llamon_agent.runs.live_tasks import LiveTasks
from llamon_agent.runs.ports import Agent, Clock, Limits, NewId, RunRequest, Runtime, TaskPage, TaskQuery, TaskStore
from llamon_agent.runs.recorder import Recorder
from llamon_agent.runs.run import Run
from llamon_agent.runs.subscription import Subscription

logger = logging.getLogger(__name__)

STOPPED = "The agent was stopped before it could finish."
RESTARTED = "The agent was restarted before it could finish."
LOST = "The agent's answer could not be stored."


class RunService:
    """Runs of all agents of this edge. Use as an async context manager: leaving it stops every run.

    Shape: runtimes are the agents by their configured names. They can be replaced while runs go on: each run keeps the
           runtime that it began with, and the tasks of an agent that is gone can still be read and canceled.
    """

    def __init__(
        self,
        store: TaskStore,
        runtimes: Mapping[str, Runtime],
        *,
        clock: Clock,
        new_id: NewId,
        limits: Limits | None = None,
    ) -> None:
        self._store = store
        self._recorder = Recorder(store, clock=clock, new_id=new_id)
        self._runtimes = runtimes
        self._clock = clock
        self._new_id = new_id
        self._limits = limits or Limits()
        self._live = LiveTasks(
            lambda task: LiveTask(task, window_bytes=self._limits.window_bytes, clock=clock, new_id=new_id)
        )
        self._runs: dict[str, Run] = {}
        self._lanes = Lanes(most_waiting=self._limits.waiting_per_context)
        self._group = asyncio.TaskGroup()
        self._released = asyncio.Event()
        self._conductor = Conductor(self._group, self._recorder, self._limits, self._release)

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.drain(0)
        await self._group.__aexit__(kind, exc, trace)

    async def drain(self, timeout_s: float, *, stop_within_s: float | None = None) -> None:
        """Take no more messages, let the runs finish for so long, then stop them; every stream ends.

        Units: stop_within_s is how long a run has to stop before it is left behind; None: as for a cancel.
        """
        self._conductor.closing = True
        for live in self._live:
            if live.task.id not in self._runs:
                live.broadcast.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                for run in [run for run in self._runs.values() if run.driver is not None]:
                    await run.ended()
        runs = list(self._runs.values())
        for run in runs:
            self._conductor.stop(run, Error(public=STOPPED), within_s=stop_within_s)
        for run in runs:
            await run.ended()
        for live in self._live:
            live.broadcast.close()

    def replace_runtimes(self, runtimes: Mapping[str, Runtime]) -> None:
        """Let these agents take the messages that come from now on."""
        self._runtimes = runtimes

    async def idle(self, agent: Agent) -> None:
        """Wait until no run is left of an agent that was replaced."""
        while any(run.runtime is not None and run.runtime.agent is agent for run in self._runs.values()):
            self._released.clear()
            await self._released.wait()

    async def end_orphans(self) -> None:
        """End what a dead process left working: nobody works on it any more. Call it before the first message."""
        for task in await self._store.unfinished():
            logger.warning("task %s: it was left unfinished and has failed", task.id, extra=task.log_ids)
            await self._recorder.orphan(task, Error(public=RESTARTED))

    # --- what callers ask -------------------------------------------------------------------------------------------

    async def submit_run(self, request: RunRequest) -> Run:
        """Take a message: begin a task in its context, or answer the one that waits for it.

        Shape:  the run that the message began or went on with, its task recorded; or one with `reply` set, whose agent
                has answered without a task. Where the configuration allows that, it is waited for which of them it is.
        Raises: TaskNotFound, BadParams, TaskHasEnded, TaskIsBusy, ContextIsBusy, ContentTypeNotSupported, AgentIsGone;
                BackendError.
        """
        if self._conductor.closing:
            raise BackendError
        while True:
            named = await self.get(request.owner, request.agent, request.task_id) if request.task_id else None
            pending = await self._pending(request) if named is None else None
            try:
                match decide_submit(named, pending, request.context_id, objection=request.objection):
                    case Begin():
                        return await self._begin(request)
                    case Continue(task=task):
                        return await self._continue(task, request)
            except Conflict:  # somebody else was faster: look again, and decide on what is there now
                logger.debug("a submission met a newer task and is decided again")

    async def cancel_run(self, owner: str, agent: str, task_id: str, *, again_ok: bool) -> Task:
        """Stop the task's work and wait until it has stopped; the canceled task.

        Raises: TaskNotFound; TaskNotCancelable: it has ended, perhaps a moment ago; BackendError.
        """
        task = await self.get(owner, agent, task_id)
        if not decide_cancel(task, again_ok=again_ok):
            return task
        run = self._runs.get(task_id)
        if run is None:
            run = Run(self._alive(task), self._runtimes.get(agent), None, task, self._let_go)
            self._runs[task_id] = self._conductor.start_abandoning(run)
        else:
            self._conductor.stop(run, Cancelled())
        after = await run.settled(self._limits.cancel_grace_s * 2)
        decide_cancel(after, again_ok=True)
        return after

    async def get(self, owner: str, agent: str, task_id: str) -> Task:
        """The task as it is now. Raises: TaskNotFound, also for somebody else's."""
        while True:
            live = self._live.get(task_id)
            if live is not None and (live.task.owner, live.task.agent) == (owner, agent):
                if not live.saved_seq:
                    raise TaskNotFound
                return live.snapshot()
            task = await self._store.get(owner, agent, task_id)
            if task is None:
                raise TaskNotFound
            if self._live.is_current(task):
                if task.is_settled:
                    return task
                with suppress(Conflict):  # nobody works on it: its end was lost while the store was away
                    return await self._recorder.orphan(task, Error(public=LOST))

    async def list(self, query: TaskQuery) -> TaskPage:
        """A page of the owner's tasks, as recorded."""
        return await self._store.list(query)

    async def subscribe(
        self, owner: str, agent: str, task_id: str, *, after_seq: int | None, ended_ok: bool
    ) -> Subscription:
        """Follow a task until it is terminal, through pauses.

        Shape:  a snapshot first; with after_seq (what the reader has already) only what came later, while that is kept.
        Raises: TaskNotFound; UnsupportedOperation: it has ended and `ended_ok` is false (A2A 1.0 §3.1.6).
        """
        task = await self.get(owner, agent, task_id)
        if task.is_terminal and not ended_ok:
            raise UnsupportedOperation("The task has ended, there is nothing to follow; get it instead.")
        live = self._alive(task)
        resumable = after_seq is not None and live.broadcast.first - 1 <= after_seq <= live.broadcast.seq
        first, seq = (None, after_seq) if resumable and not task.is_terminal else (live.snapshot(), live.broadcast.seq)
        return Subscription(live, first, seq or 0, ends_at_pause=False, on_close=self._let_go)

    # --- how a run begins -------------------------------------------------------------------------------------------

    async def _pending(self, request: RunRequest) -> Task | None:
        """The paused task of the request's context, if there is one."""
        if request.context_id is None:
            return None
        holder = self._lanes.holder((request.owner, request.agent, request.context_id))
        if holder is not None:
            return holder.snapshot() if holder.task.is_paused else None
        query = TaskQuery(
            owner=request.owner, agent=request.agent, context_id=request.context_id, states=tuple(PAUSED), limit=1
        )
        page = await self._store.list(query)
        return page.tasks[0] if page.tasks else None

    async def _begin(self, request: RunRequest) -> Run:
        """Record a new task, and start its run or let it wait behind the context's."""
        runtime = self._runtime(request.agent)
        context_id = request.context_id or self._new_id()
        key = (request.owner, request.agent, context_id)
        self._lanes.check_room(key)
        starts = self._lanes.is_free(key)
        state = TaskState.WORKING if starts else TaskState.SUBMITTED
        task = new_task(request, context_id, state, task_id=self._new_id(), now_ms=self._clock())
        live = self._live.alive(task)
        live.saved_seq = 0  # nobody may see it before it is recorded
        run = self._runs[task.id] = Run(
            live, runtime, turn_of(task, request, runtime.target, answers=False), task, self._let_go
        )
        if starts:
            self._lanes.hold(live)
        else:
            self._lanes.queue(run)
        if starts and runtime.target.direct_messages:
            return await self._open(run)
        try:
            await self._recorder.create(live)
        except BaseException:
            self._release(run)
            raise
        if starts:
            self._conductor.start(run)
        return run

    async def _open(self, run: Run) -> Run:
        """Start a run that may answer without a task, and wait until it is known which it is.

        A message that waits behind another never comes here: its caller is told at once that it waits, and that is a
        task. Whoever stops waiting cancels the future, and nothing else.
        """
        opening = run.opening = asyncio.get_running_loop().create_future()
        self._conductor.start(run)
        await opening
        return run

    async def _continue(self, task: Task, request: RunRequest) -> Run:
        """Record that the paused task works again, and start the run that takes the answer."""
        runtime = self._runtime(task.agent)
        check_answer(task, request.message)
        live = self._alive(task)
        if task.id in self._runs:
            raise TaskIsBusy
        before = live.snapshot()
        after = begun(before, request.message, self._clock())
        turn = turn_of(task, request, runtime.target, answers=True)
        run = self._runs[task.id] = Run(live, runtime, turn, after, self._let_go)
        try:
            await self._recorder.state(live, after)
        except Conflict:  # the record is newer than what this process knows of the task
            live.broadcast.close()
            self._release(run)
            raise
        except BaseException:
            self._release(run)
            raise
        return self._conductor.start(run)

    def _runtime(self, agent: str) -> Runtime:
        """What takes an agent's messages now. Raises: AgentIsGone."""
        if agent not in self._runtimes:
            raise AgentIsGone
        return self._runtimes[agent]

    # --- what is kept in memory -------------------------------------------------------------------------------------

    def _alive(self, task: Task) -> LiveTask:
        """The task in this process; unless it has ended it holds its context."""
        live = self._live.alive(task)
        if not task.is_terminal:
            self._lanes.hold(live)
        return live

    def _release(self, run: Run) -> None:
        """The run is over: let the next one of its context start, unless its task waits for an answer."""
        live = run.live
        if self._runs.get(live.task.id) is run:
            del self._runs[live.task.id]
            self._released.set()
        if live.task.is_paused and not live.broadcast.closed:
            self._let_go(live)
            return
        self._live.forget(live)
        upcoming = self._lanes.leave(run)
        if upcoming is not None:
            self._conductor.start(upcoming)
        holder = self._lanes.holder(lane_key(live))
        if holder is not None:
            self._let_go(holder)

    def _let_go(self, live: LiveTask) -> None:
        """Forget a paused task that nobody follows, answers or waits behind; the store has it."""
        in_use = live.task.id in self._runs or live.broadcast.readers or self._lanes.blocks(live)
        if live.task.is_paused and not in_use:
            self._live.forget(live)
            self._lanes.forget(live)
