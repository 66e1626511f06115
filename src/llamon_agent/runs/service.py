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
    BackendError,
    Conflict,
    TaskIsBusy,
    TaskNotFound,
    UnsupportedOperation,
)
from llamon_agent.domain.events import Cancelled, Complete, Error, Interrupt, NodeLost
from llamon_agent.domain.principal import thread_id
from llamon_agent.domain.task import PAUSED, Task, TaskState
from llamon_agent.runs.decisions import (
    Begin,
    Continue,
    Outcome,
    begun,
    decide_cancel,
    decide_submit,
    new_task,
    turn_of,
)
from llamon_agent.runs.lanes import Lanes
from llamon_agent.runs.live import LiveTask
from llamon_agent.runs.ports import Clock, Limits, NewId, RunRequest, Runtime, TaskPage, TaskQuery, TaskStore, Turn
from llamon_agent.runs.recorder import Recorder
from llamon_agent.runs.run import Phase, Run
from llamon_agent.runs.subscription import Subscription

logger = logging.getLogger(__name__)

_EVENTS_PER_BREATH = 64
"""How many events an agent may say in one go before others get the event loop."""

STOPPED = "The agent was stopped before it could finish."
RESTARTED = "The agent was restarted before it could finish."
AGENT_BROKE = "The agent failed unexpectedly."


class RunService:
    """Runs of all agents of this edge. Use as an async context manager: leaving it stops every run.

    Shape: runtimes are the agents by their configured names; a request for another name is our own bug.
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
        self._live: dict[str, LiveTask] = {}
        self._runs: dict[str, Run] = {}
        self._lanes = Lanes(most_waiting=self._limits.waiting_per_context)
        self._group = asyncio.TaskGroup()
        self._closing = False

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.drain(0)
        await self._group.__aexit__(kind, exc, trace)

    async def drain(self, timeout_s: float) -> None:
        """Take no more messages, let the runs finish for so long, then stop them; every stream ends."""
        self._closing = True
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                for run in [run for run in self._runs.values() if run.driver is not None]:
                    await run.ended()
        runs = list(self._runs.values())
        for run in runs:
            self._stop(run, Error(public=STOPPED))
        for run in runs:
            await run.ended()
        for live in list(self._live.values()):
            live.broadcast.close()

    async def end_orphans(self) -> None:
        """End what a dead process left working: nobody works on it any more. Call it before the first message."""
        for task in await self._store.unfinished():
            logger.warning("task %s: it was left working and has failed", task.id)
            await self._recorder.orphan(task, Error(public=RESTARTED))

    # --- what callers ask -------------------------------------------------------------------------------------------

    async def submit_run(self, request: RunRequest) -> Run:
        """Take a message: begin a task in its context, or answer the one that waits for it.

        Shape:  the run that the message began or went on with; its task is recorded when this returns.
        Raises: TaskNotFound, BadParams, TaskHasEnded, TaskIsBusy, ContextIsBusy; BackendError.
        """
        if self._closing:
            raise BackendError
        while True:
            named = await self.get(request.owner, request.agent, request.task_id) if request.task_id else None
            pending = await self._pending(request) if named is None else None
            try:
                match decide_submit(named, pending, request.context_id):
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
            run = self._start(Run(self._alive(task), None, task, self._let_go), self._abandon)
        else:
            self._stop(run, Cancelled())
        after = await run.settled(self._limits.cancel_grace_s * 2)
        decide_cancel(after, again_ok=True)
        return after

    async def get(self, owner: str, agent: str, task_id: str) -> Task:
        """The task as it is now. Raises: TaskNotFound, also for somebody else's."""
        live = self._live.get(task_id)
        if live is not None and (live.task.owner, live.task.agent) == (owner, agent):
            return live.snapshot()
        task = await self._store.get(owner, agent, task_id)
        if task is None:
            raise TaskNotFound
        return task

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
        page = await self._store.list(
            TaskQuery(
                owner=request.owner,
                agent=request.agent,
                context_id=request.context_id,
                states=tuple(PAUSED),
                limit=1,
            )
        )
        return page.tasks[0] if page.tasks else None

    async def _begin(self, request: RunRequest) -> Run:
        """Record a new task, and start its run or let it wait behind the context's."""
        context_id = request.context_id or self._new_id()
        key = (request.owner, request.agent, context_id)
        self._lanes.check_room(key)
        starts = self._lanes.is_free(key)
        state = TaskState.WORKING if starts else TaskState.SUBMITTED
        task = new_task(request, context_id, state, task_id=self._new_id(), now_ms=self._clock())
        live = self._live[task.id] = self._live_task(task)
        run = self._runs[task.id] = Run(live, self._turn(task, request), task, self._let_go)
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
        live = self._alive(task)
        if task.id in self._runs:
            raise TaskIsBusy
        before = live.snapshot()
        after = begun(before, request.message, self._clock())
        run = self._runs[task.id] = Run(live, self._turn(task, request, answers=True), after, self._let_go)
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

    def _turn(self, task: Task, request: RunRequest, *, answers: bool = False) -> Turn:
        return turn_of(task, request, self._runtimes[task.agent].target, answers=answers)

    # --- how a run goes and ends ------------------------------------------------------------------------------------

    def _start(self, run: Run, execution: Callable[[Run], Awaitable[Outcome]]) -> Run:
        """Give the run to the service's task group, with its limit of time."""
        if run.driver is not None:
            return run
        self._runs[run.live.task.id] = run
        loop = asyncio.get_running_loop()
        limit_s = self._runtimes[run.live.task.agent].target.timeout_s
        overrun = Error(public=f"The agent did not finish within {limit_s:g} seconds.")
        run.timers.append(loop.call_later(limit_s, self._stop, run, overrun))
        run.driver = self._group.create_task(self._drive(run, execution))
        return run

    async def _drive(self, run: Run, execution: Callable[[Run], Awaitable[Outcome]]) -> None:
        outcome = await self._outcome(run, execution)
        if run.stopping is not None and run.turn is not None and run.turn.answers:
            await self._abandon(run)  # it may have been stopped before it took the answer, its question still pending
        await self._end_run(run, outcome)

    async def _outcome(self, run: Run, execution: Callable[[Run], Awaitable[Outcome]]) -> Outcome:
        """How the execution ends; once somebody stopped it, as they said."""
        task_id = run.live.task.id
        run.phase = Phase.EXECUTING
        try:
            outcome = run.stopping or await execution(run)
        except asyncio.CancelledError:
            if run.stopping is None:
                raise
            current = asyncio.current_task()
            if current is not None:
                current.uncancel()
            return run.stopping
        except (AgentError, BackendError) as exc:
            logger.warning("task %s: the run failed", task_id, exc_info=exc)
            outcome = Error(public=exc.public)
        except Exception:
            logger.exception("task %s: the agent broke", task_id)
            outcome = Error(public=AGENT_BROKE)
        finally:
            run.phase = Phase.ENDING
        return run.stopping or outcome

    async def _execute(self, run: Run) -> Outcome:
        """Run the agent and hear it out."""
        live, turn = run.live, run.turn
        assert turn is not None  # only the run that abandons a pause has none
        if live.task.status.state is TaskState.SUBMITTED:
            await self._recorder.working(live)
        live.open_answer()
        events = self._runtimes[live.task.agent].agent.run(turn)
        loop = asyncio.get_running_loop()
        next_record_s = loop.time() + self._limits.snapshot_every_s
        count = 0
        try:
            async for event in events:
                if run.stopping is not None:
                    return run.stopping
                if isinstance(event, Complete | Interrupt | Error | Cancelled | NodeLost):
                    return event
                live.hear(event)
                count += 1
                if count % _EVENTS_PER_BREATH == 0:
                    await asyncio.sleep(0)
                if loop.time() >= next_record_s:
                    # Shielded: if the run is stopped meanwhile, nobody would know what was written.
                    await asyncio.shield(self._group.create_task(self._recorder.snapshot(live)))
                    next_record_s = loop.time() + self._limits.snapshot_every_s
        finally:
            await events.aclose()
        return Complete()

    async def _abandon(self, run: Run) -> Outcome:
        """Cancel a paused task: its question is dead, and the thread must not wait for it."""
        task = run.live.task
        try:
            await self._runtimes[task.agent].agent.abandon(thread_id(task.owner, task.context_id))
        except AgentError as exc:
            logger.warning("task %s: the agent could not drop its question", task.id, exc_info=exc)
        return Cancelled()

    def _stop(self, run: Run, how: Cancelled | Error) -> None:
        """End the run as `how` says: one that waits never starts, one that does not stop in time is left behind."""
        if run.stopping is not None or run.phase is Phase.ENDING:
            return
        run.stopping = how
        if run.driver is None:
            self._start(run, self._execute)
        elif run.phase is Phase.EXECUTING:
            run.driver.cancel()
        loop = asyncio.get_running_loop()
        run.timers.append(loop.call_later(self._limits.cancel_grace_s, self._leave_behind, run))

    def _leave_behind(self, run: Run) -> None:
        """The agent does not stop. Say what is so: the task has ended, and nothing that it still does counts."""
        logger.warning("task %s: the agent did not stop in time and is left behind", run.live.task.id)
        self._group.create_task(self._end_run(run, run.stopping or Cancelled()))

    async def _end_run(self, run: Run, outcome: Outcome) -> None:
        """Record and tell the end, and let the next run of the context go: the other home of `except Exception`."""
        try:
            await self._recorder.end(run, outcome)
        except BackendError as exc:
            self._lose(run, exc)
        except Exception:
            logger.exception("task %s: the run broke at its end", run.live.task.id)
            self._lose(run, BackendError())
        finally:
            self._release(run)

    def _lose(self, run: Run, exc: BackendError) -> None:
        """The end could not be recorded, so nobody is told one; the next reader sees what the store has."""
        logger.error("task %s: its end could not be recorded", run.live.task.id, exc_info=exc)
        run.live.lost = exc
        run.live.broadcast.close()
        run.end(None)
        self._live.pop(run.live.task.id, None)

    # --- what is kept in memory -------------------------------------------------------------------------------------

    def _live_task(self, task: Task) -> LiveTask:
        return LiveTask(task, window_bytes=self._limits.window_bytes, clock=self._clock, new_id=self._new_id)

    def _alive(self, task: Task) -> LiveTask:
        """The task in this process, from its record if need be; unless it has ended it holds its context."""
        live = self._live.get(task.id)
        if live is None:
            live = self._live_task(task)
            if not task.is_terminal:
                self._live[task.id] = live
                self._lanes.hold(live)
        return live

    def _release(self, run: Run) -> None:
        """The run is over: let the next one of its context start, unless its task waits for an answer."""
        live = run.live
        if self._runs.get(live.task.id) is run:
            del self._runs[live.task.id]
        if live.task.is_paused and not live.broadcast.closed:
            self._let_go(live)
            return
        self._live.pop(live.task.id, None)
        upcoming = self._lanes.leave(run)
        if upcoming is not None:
            self._start(upcoming, self._execute)

    def _let_go(self, live: LiveTask) -> None:
        """Forget a paused task that nobody follows, answers or waits behind; the store has it."""
        in_use = live.task.id in self._runs or live.broadcast.readers or self._lanes.blocks(live)
        if live.task.is_paused and not in_use:
            self._live.pop(live.task.id, None)
            self._lanes.forget(live)
