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
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Self

from llamon_agent.domain.errors import (
    AgentError,
    AgentIsGone,
    BackendError,
    Conflict,
    TaskIsBusy,
    TaskNotFound,
    UnsupportedOperation,
)
from llamon_agent.domain.events import Cancelled, Error
from llamon_agent.domain.principal import thread_id
from llamon_agent.domain.task import PAUSED, Task, TaskState
from llamon_agent.runs.decisions import (
    Begin,
    Continue,
    Outcome,
    begun,
    check_answer,
    decide_cancel,
    decide_submit,
    new_task,
    turn_of,
)
from llamon_agent.runs.hearing import hear_out
from llamon_agent.runs.lanes import Lanes, lane_key
from llamon_agent.runs.live import LiveTask
from llamon_agent.runs.live_tasks import LiveTasks
from llamon_agent.runs.ports import Agent, Clock, Limits, NewId, RunRequest, Runtime, TaskPage, TaskQuery, TaskStore
from llamon_agent.runs.recorder import Recorder, to_its_end
from llamon_agent.runs.run import Phase, Run
from llamon_agent.runs.subscription import Subscription

logger = logging.getLogger(__name__)

STOPPED = "The agent was stopped before it could finish."
RESTARTED = "The agent was restarted before it could finish."
AGENT_BROKE = "The agent failed unexpectedly."
LOST = "The agent's answer could not be stored."


Execution = Callable[[Run], Awaitable[Outcome]]
"""What a run does, and how it ends."""


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
        self._closing = False

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
        self._closing = True
        for live in self._live:
            if live.task.id not in self._runs:
                live.broadcast.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                for run in [run for run in self._runs.values() if run.driver is not None]:
                    await run.ended()
        runs = list(self._runs.values())
        for run in runs:
            self._stop(run, Error(public=STOPPED), within_s=stop_within_s)
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
            logger.warning("task %s: it was left unfinished and has failed", task.id)
            await self._recorder.orphan(task, Error(public=RESTARTED))

    # --- what callers ask -------------------------------------------------------------------------------------------

    async def submit_run(self, request: RunRequest) -> Run:
        """Take a message: begin a task in its context, or answer the one that waits for it.

        Shape:  the run that the message began or went on with; its task is recorded when this returns.
        Raises: TaskNotFound, BadParams, TaskHasEnded, TaskIsBusy, ContextIsBusy, ContentTypeNotSupported, AgentIsGone;
                BackendError.
        """
        if self._closing:
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
            self._start(run, self._abandon)
        else:
            self._stop(run, Cancelled())
        after = await run.settled(self._limits.cancel_grace_s * 2)
        decide_cancel(after, again_ok=True)
        return after

    async def get(self, owner: str, agent: str, task_id: str) -> Task:
        """The task as it is now. Raises: TaskNotFound, also for somebody else's."""
        while True:
            live = self._live.get(task_id)
            if live is not None and (live.task.owner, live.task.agent) == (owner, agent):
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
        run = self._runs[task.id] = Run(
            live, runtime, turn_of(task, request, runtime.target, answers=False), task, self._let_go
        )
        if starts:
            self._lanes.hold(live)
        else:
            self._lanes.queue(run)
        try:
            await self._recorder.create(live)
        except BaseException:
            self._release(run)
            raise
        if starts:
            self._start(run, self._execute)
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
        return self._start(run, self._execute)

    def _runtime(self, agent: str) -> Runtime:
        """What takes an agent's messages now. Raises: AgentIsGone."""
        if agent not in self._runtimes:
            raise AgentIsGone
        return self._runtimes[agent]

    # --- how a run goes and ends ------------------------------------------------------------------------------------

    def _start(self, run: Run, execution: Execution) -> Run:
        """Give the run to the service's task group, with its limit of time."""
        if run.driver is not None:
            return run
        self._runs[run.live.task.id] = run
        if run.runtime is not None:
            limit_s = run.runtime.target.timeout_s
            overrun = Error(public=f"The agent did not finish within {limit_s:g} seconds.")
            run.timers.append(asyncio.get_running_loop().call_later(limit_s, self._stop, run, overrun))
        run.driver = self._group.create_task(self._drive(run, execution))
        return run

    async def _drive(self, run: Run, execution: Execution) -> None:
        """Take a run to its end. Nothing may be raised out of here: it would end the group, and every other run."""
        run.phase = Phase.EXECUTING
        outcome = run.stopping or await self._outcome(run, execution)
        run.phase = Phase.ENDING
        outcome = run.stopping or outcome
        if run.stopping is not None and run.turn is not None and run.turn.answers and not run.has_ended:
            # It may have been stopped before it took the answer, its question still pending.
            await self._outcome(run, self._abandon)
        await self._end_run(run, outcome)

    async def _outcome(self, run: Run, execution: Execution) -> Outcome:
        """How an execution ends, whatever is raised in it: one of the two homes of `except Exception`."""
        task_id = run.live.task.id
        try:
            return await execution(run)
        except (AgentError, BackendError) as exc:
            logger.warning("task %s: the run failed", task_id, exc_info=exc)
            return Error(public=exc.public)
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if current is None or (current.cancelling() and run.stopping is None):
                raise  # it is the edge that ends, not this run
            if run.stopping is not None:
                current.uncancel()
                return run.stopping
            logger.exception("task %s: the agent cancelled itself", task_id)
            return Error(public=AGENT_BROKE)
        except BaseException:  # an agent may raise even what is no Exception, and must not take others with it
            logger.exception("task %s: the agent broke", task_id)
            return Error(public=AGENT_BROKE)

    async def _execute(self, run: Run) -> Outcome:
        """Run the agent and hear it out."""
        live, turn, runtime = run.live, run.turn, run.runtime
        assert turn is not None  # only the run that abandons a pause may have none, nor a runtime
        assert runtime is not None
        if live.task.status.state is TaskState.SUBMITTED:
            await to_its_end(self._recorder.working(live))
        live.open_answer()
        return await hear_out(run, turn, runtime, self._recorder, snapshot_every_s=self._limits.snapshot_every_s)

    async def _abandon(self, run: Run) -> Outcome:
        """Cancel a paused task: its question is dead, and the thread must not wait for it."""
        task = run.live.task
        try:
            if run.runtime is not None:
                await run.runtime.agent.abandon(thread_id(task.owner, task.context_id))
        except AgentError as exc:
            logger.warning("task %s: the agent could not drop its question", task.id, exc_info=exc)
        return Cancelled()

    def _stop(self, run: Run, how: Cancelled | Error, *, within_s: float | None = None) -> None:
        """End the run as `how` says: one that waits never starts, one that does not stop in time is left behind."""
        if run.stopping is not None or run.phase is Phase.ENDING:
            return
        run.stopping = how
        if run.driver is None:
            self._start(run, self._execute)
        elif run.phase is Phase.EXECUTING:
            run.driver.cancel()
        grace_s = self._limits.cancel_grace_s if within_s is None else within_s
        run.timers.append(asyncio.get_running_loop().call_later(grace_s, self._leave_behind, run))

    def _leave_behind(self, run: Run) -> None:
        """The agent does not stop. Say what is so: the task has ended, and nothing that it still does counts."""
        logger.warning("task %s: the agent did not stop in time and is left behind", run.live.task.id)
        self._group.create_task(self._end_run(run, run.stopping or Cancelled()))

    async def _end_run(self, run: Run, outcome: Outcome) -> None:
        """Record and tell the end, trying again while the store is away; then let the next run of the context go."""
        try:
            for pause_s in (*self._limits.record_again_s, None):
                try:
                    return await self._recorder.end(run, outcome)
                except BackendError as exc:
                    if pause_s is None or self._closing or isinstance(exc, Conflict):
                        return self._lose(run, exc)
                logger.warning("task %s: the store is away; its end is recorded again later", run.live.task.id)
                await asyncio.sleep(pause_s)
        except Exception:
            logger.exception("task %s: the run broke at its end", run.live.task.id)
            self._lose(run, BackendError())
        finally:
            self._release(run)

    def _lose(self, run: Run, exc: BackendError) -> None:
        """The end could not be recorded, so nobody is told one; the next reader ends the task, if the store lets it."""
        logger.error("task %s: its end could not be recorded", run.live.task.id, exc_info=exc)
        run.live.lost = exc
        run.live.broadcast.close()
        run.end(None)

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
            self._start(upcoming, self._execute)
        holder = self._lanes.holder(lane_key(live))
        if holder is not None:
            self._let_go(holder)

    def _let_go(self, live: LiveTask) -> None:
        """Forget a paused task that nobody follows, answers or waits behind; the store has it."""
        in_use = live.task.id in self._runs or live.broadcast.readers or self._lanes.blocks(live)
        if live.task.is_paused and not in_use:
            self._live.forget(live)
            self._lanes.forget(live)
