"""The run service: a message becomes a run, a run's events become the task, and the task goes to its readers.

Rules, in the order in which they matter:
1. Record before publishing: a state is in the store before any caller sees it. Deltas are published at once, and
   recorded at state changes and at a bounded interval.
2. Every record is a compare-and-set on the task's seq; a terminal state is never overwritten, here and in the store.
3. One run per context (see `registry`): decisions and reservations happen without an await between them.
4. A run belongs to the service, never to the call that asked for it: a caller that hangs up ends a subscription only.
"""

import asyncio
import logging
from collections.abc import Mapping
from types import TracebackType
from typing import Self
from weakref import WeakValueDictionary

from llamon_agent.domain.errors import (
    AgentIsGone,
    BackendError,
    BadParams,
    Conflict,
    KeyTaken,
    TaskIsBusy,
    TaskNotFound,
    UnsupportedOperation,
)
from llamon_agent.domain.events import Cancelled
from llamon_agent.domain.task import Task, TaskPage, TaskQuery, TaskState
from llamon_agent.runs.decisions import (
    Begin,
    Continue,
    begun,
    check_answer,
    check_beginning,
    decide_cancel,
    decide_submit,
    may_name,
    new_task,
    turn_of,
)
from llamon_agent.runs.housekeeping import Upkeep
from llamon_agent.runs.live_task import LiveTask
from llamon_agent.runs.ports.agent import Agent
from llamon_agent.runs.ports.run import Clock, Limits, NewId, RunRequest, Runtime
from llamon_agent.runs.ports.store import IdempotencyKey, TaskStore
from llamon_agent.runs.readiness import Readiness
from llamon_agent.runs.registry import RunRegistry
from llamon_agent.runs.remote_tasks import RemoteTasks
from llamon_agent.runs.run import Execution, Run
from llamon_agent.runs.subscription import Subscription
from llamon_agent.runs.takeover import Lease, Takeover
from llamon_agent.runs.task_recorder import TaskRecorder, finish_write

logger = logging.getLogger(__name__)

NOT_HERE = "Another process of this agent works on the task, and it cannot be canceled from here; try again later."


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
        self._recorder = TaskRecorder(store, clock=clock, new_id=new_id)
        self._runtimes = runtimes
        self._clock = clock
        self._new_id = new_id
        self._limits = limits or Limits()
        self._group = asyncio.TaskGroup()
        self._submitting: WeakValueDictionary[tuple[str, str, str], asyncio.Lock] = WeakValueDictionary()
        self._registry = RunRegistry(store, self._recorder, self._limits, self._make)
        self.upkeep = Upkeep(self._registry, self._limits, self._runtime_of)
        self._remote = RemoteTasks(self._group, self._make, self._now, every_s=self._limits.snapshot_every_s)
        self._takeover = Takeover(store, self._recorder, self._registry, self._limits, self._runtime_of)
        self._lease = Lease(store, self._takeover, self._registry, clock=clock, lease_s=self._limits.lease_s)
        self._keeping: asyncio.Task[None] | None = None
        self.readiness = Readiness(store.reached, look_s=self._limits.look_s)

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.drain(0)
        await self.readiness.close()
        await self._registry.leave()
        await self._group.__aexit__(kind, exc, trace)

    async def start(self) -> None:
        """Take over the runs of processes that have ended, and be a holder until the service is drained.

        Call it before the first message. Raises: BackendError.
        """
        await self._lease.renew()
        await self._lease.take_over()
        self._keeping = self._group.create_task(self._lease.keep())
        self.readiness.started()

    async def drain(self, timeout_s: float, *, stop_within_s: float | None = None) -> None:
        """Take no more messages, give the runs this time to finish, then stop them; every stream ends.

        A run that another process, or the next start, can continue stays as it is; the others fail.

        Units: stop_within_s is how long a run has to stop before it is abandoned; None: as for a cancel.
        """
        self.readiness.stop()
        self._registry.closing = True
        self._remote.close()
        await self._registry.drain(timeout_s, stop_within_s=stop_within_s)
        if self._keeping is not None:
            self._keeping.cancel()
            self._keeping = None
            await self._lease.release()

    def running_agents(self) -> list[str]:
        """The names of the agents that are executing now."""
        return self._registry.running_agents()

    def replace_runtimes(self, runtimes: Mapping[str, Runtime]) -> None:
        """These agents take the messages from now on."""
        self._runtimes = runtimes

    async def idle(self, agent: Agent) -> None:
        """Wait until no run is left of an agent that was replaced."""
        await self._registry.idle(agent)

    # --- what callers ask -------------------------------------------------------------------------------------------

    async def submit_run(self, request: RunRequest) -> Run:
        """Take a message: it begins a task in its context, or answers the paused one. A message whose key was used
        before changes nothing, and its run is that of the first message.

        Shape:  the run that the message began or continued, its task recorded; or one with `reply` set, whose agent has
                answered without a task. Where the configuration allows such replies, the call waits until it is known
                which of the two it is.
        Raises: TaskNotFound, BadParams, TaskHasEnded, TaskIsBusy, ContextIsBusy, ContentTypeNotSupported, AgentIsGone;
                BackendError.
        """
        if self._registry.closing:
            raise BackendError
        if request.key is None:
            return await self._submit(request)
        key = (request.owner, request.agent, request.key[0])
        async with self._submitting.setdefault(key, asyncio.Lock()):
            return await self._submit(request)

    async def cancel_run(self, owner: str, agent: str, task_id: str, *, again_ok: bool) -> Task:
        """Stop the task's work and wait until it has stopped; the canceled task.

        Raises: TaskNotFound; TaskNotCancelable: it has ended, perhaps a moment ago; BackendError, also if another
                process works on it.
        """
        task = await self.get(owner, agent, task_id)
        if self._registry.is_remote(task):
            await self._lease.take_over()
            task = await self.get(owner, agent, task_id)
        while decide_cancel(task, again_ok=again_ok):  # again if a pause was being recorded already
            task, again_ok = await self._stop_and_wait(task), True
        return task

    async def get(self, owner: str, agent: str, task_id: str) -> Task:
        """The task as it is now. Raises: TaskNotFound, also for another owner's."""
        while True:
            live = self._registry.live(task_id)
            if live is not None and (live.task.owner, live.task.agent) == (owner, agent):
                if not live.saved_seq:
                    raise TaskNotFound
                return live.snapshot()
            known_seq = self._registry.tasks.last_seq(task_id)
            task = await self._store.get(owner, agent, task_id)
            if task is None:
                raise TaskNotFound
            if task.seq < known_seq:
                self._registry.accept_older(task)
            if self._registry.tasks.is_current(task):
                after = await self._takeover.end_lost(task) if self._registry.is_lost(task) else task
                if after is not None:
                    return after

    async def list(self, query: TaskQuery) -> TaskPage:
        """A page of the owner's tasks, as recorded."""
        return await self._store.list(query)

    async def paused_in(self, owner: str, agent: str, context_id: str) -> Task | None:
        """The task that waits in a context for an answer, as recorded."""
        return await self._store.paused_in(owner, agent, context_id)

    async def subscribe(
        self, owner: str, agent: str, task_id: str, *, after_seq: int | None, ended_ok: bool
    ) -> Subscription:
        """Follow a task until it is terminal, through pauses.

        Shape:  a snapshot first; with after_seq (what the reader has already) only the later updates, while they are
                kept.
        Raises: TaskNotFound; UnsupportedOperation: it has ended and `ended_ok` is false (A2A 1.0 §3.1.6).
        """
        task = await self.get(owner, agent, task_id)
        if task.is_terminal and not ended_ok:
            raise UnsupportedOperation("The task has ended, there is nothing to follow; get it instead.")
        if self._registry.is_remote(task):
            return self._remote.follow(task, ends_at_pause=False)
        live = self._registry.hold(task)
        resumable = after_seq is not None and live.event_log.first - 1 <= after_seq <= live.event_log.seq
        first, seq = (None, after_seq) if resumable and not task.is_terminal else (live.snapshot(), live.event_log.seq)
        return Subscription(live, first, seq or 0, ends_at_pause=False, on_close=self._registry.drop_idle)

    async def _stop_and_wait(self, task: Task) -> Task:
        """Stop what the task does; the task once that has stopped. Raises: BackendError."""
        if self._registry.is_remote(task):
            raise BackendError(NOT_HERE)
        run = self._registry.stop(task.id, Cancelled())
        if run is None:
            run = self._registry.end_paused(task, self._runtime_of(task.agent), Cancelled())
        return await run.wait_settled(self._limits.cancel_wait_s)

    # --- how a run begins -------------------------------------------------------------------------------------------

    async def _submit(self, request: RunRequest) -> Run:
        while True:
            if (repeated := await self._repeated(request)) is not None:
                return repeated
            named = await self._named(request)
            pending = await self._pending(request) if named is None else None
            try:
                match decide_submit(named, pending, request.context_id, objection=request.objection):
                    case Begin():
                        return await self._begin(request)
                    case Continue(task=task):
                        return await self._continue(task, request)
            except TaskIsBusy:
                if named is None or not await self._is_free_again(named):
                    raise
            except Conflict:  # another call was faster: read the record again, and decide anew
                if named is None and request.task_id is not None:
                    raise TaskNotFound from None  # the chosen id belongs to another owner
                logger.debug("a submission met a newer task and is decided again")

    async def _named(self, request: RunRequest) -> Task | None:
        """The task that the request names; None if it names none, or may name a new one. Raises: TaskNotFound."""
        if request.task_id is None:
            return None
        try:
            return await self.get(request.owner, request.agent, request.task_id)
        except TaskNotFound:
            is_theirs = self._registry.live(request.task_id) is not None
            if is_theirs or not may_name(request.task_id, self._runtime(request.agent).target):
                raise
            return None

    async def _is_free_again(self, task: Task) -> bool:
        """Wait until a busy task is settled, if its agent lets messages wait; whether it is."""
        target = self._runtime(task.agent).target
        run = self._registry.run_of(task.id)
        if target.when_busy != "wait" or self._registry.is_remote(task):
            return False
        return run is None or (await run.wait_settled(target.timeout_s)).is_settled

    async def _repeated(self, request: RunRequest) -> Run | None:
        """The run of an earlier message with this key. Raises: BadParams: it was another message."""
        if request.key is None:
            return None
        key, digest = request.key
        remembered = await self._store.find_key(request.owner, request.agent, key)
        if remembered is None:
            return None
        if remembered.digest != digest:
            raise BadParams("The idempotency key was used for another message before; use a new one for each message.")
        if (run := self._registry.run_of(remembered.task_id)) is not None:
            return run
        task = await self.get(request.owner, request.agent, remembered.task_id)
        if not self._registry.is_remote(task):
            return Run.over(self._make(task))
        run = Run(self._make(task))
        self._group.create_task(self._follow_remote(run))
        return run

    async def _follow_remote(self, run: Run) -> None:
        """Let a run end with its task, which another process works on."""
        following = self._remote.follow(run.live.task, ends_at_pause=True)
        async for _ in following:
            run.live.adopt(following.snapshot())
        following.close()
        if not run.live.task.is_settled:
            run.live.event_log.close()
        run.end(run.live.task if run.live.task.is_settled else None)

    async def _pending(self, request: RunRequest) -> Task | None:
        """The paused task of the request's context, if there is one."""
        if request.context_id is None:
            return None
        context = (request.owner, request.agent, request.context_id)
        holder = self._registry.queues.holder(context)
        if holder is not None:
            return holder.snapshot() if holder.task.is_paused else None
        return await self._store.paused_in(*context)

    async def _begin(self, request: RunRequest) -> Run:
        """Record a new task, and start its run, or let it wait for the context's current one."""
        context_id = request.context_id or self._new_id()
        key = (request.owner, request.agent, context_id)
        await self._registry.queues.deleted(key)
        runtime = self._runtime(request.agent)
        check_beginning(runtime.agent, request.message)
        self._registry.queues.check_capacity(key)
        starts = self._registry.queues.is_free(key)
        state = TaskState.WORKING if starts else TaskState.SUBMITTED
        task_id = request.task_id or self._new_id()
        task = new_task(request, context_id, state, task_id=task_id, now_ms=self._clock())
        execution = self._registry.enter(task, turn_of(task, request, runtime.target, answers=False), runtime)
        if starts and runtime.target.direct_messages and request.key is None:  # a key stands for a task
            return await self._open(execution)
        live = execution.live
        try:
            await finish_write(self._recorder.create(live, execution.turn, key=self._key_of(request)))
        finally:
            if not live.saved_seq:
                self._registry.release(execution)
            elif starts:
                self._registry.start(execution)
        return execution.run

    async def _open(self, execution: Execution) -> Run:
        """Start a run that may answer without a task, and wait until it is known whether it does.

        A message that must wait for another run never comes here: its caller gets a task at once.
        A caller that stops waiting cancels the future, and nothing else.
        """
        opening = execution.opening = asyncio.get_running_loop().create_future()
        self._registry.start(execution)
        await opening
        return execution.run

    async def _continue(self, task: Task, request: RunRequest) -> Run:
        """Record that the paused task works again, and start the run that takes the answer."""
        runtime = self._runtime(task.agent)
        check_answer(task, request.message)
        live = self._registry.hold(task)
        if self._registry.run_of(task.id) is not None:
            raise TaskIsBusy
        after = begun(live.snapshot(), request.message, self._clock())
        turn = turn_of(task, request, runtime.target, answers=True)
        execution = self._registry.resume(live, turn, runtime, after)
        try:
            await finish_write(self._recorder.state(live, after, turn=turn, key=self._key_of(request)))
        except KeyTaken:
            raise
        except Conflict:  # the record is newer than what this process knows of the task
            live.event_log.close()
            raise
        finally:
            if live.saved_seq == after.seq:
                self._registry.start(execution)
            else:
                self._registry.release(execution)
        return execution.run

    def _key_of(self, request: RunRequest) -> IdempotencyKey | None:
        if request.key is None:
            return None
        value, digest = request.key
        return IdempotencyKey(value=value, digest=digest, at_ms=self._clock())

    def _runtime(self, agent: str) -> Runtime:
        """The runtime that takes an agent's messages now. Raises: AgentIsGone; BackendError: the service stops."""
        if self._registry.closing:
            raise BackendError
        if agent not in self._runtimes:
            raise AgentIsGone
        return self._runtimes[agent]

    def _runtime_of(self, agent: str) -> Runtime | None:
        return self._runtimes.get(agent)

    def _make(self, task: Task) -> LiveTask:
        return LiveTask(task, window_bytes=self._limits.window_bytes, clock=self._clock, new_id=self._new_id)

    async def _now(self, task: Task) -> Task:
        return await self.get(task.owner, task.agent, task.id)
