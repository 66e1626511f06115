"""The runs and live tasks of this process, and the queue of each context.

One run per context at a time; later messages wait in order, up to a limit. At most one task holds a context, working or
paused. A paused task keeps it: a message that waits was written before the question, so it is no answer, and a run next
to a pending question would lose the question. Everything except the waiting is synchronous, so that a decision and its
reservation are one step.
"""

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from llamon_agent.domain.caller import thread_id
from llamon_agent.domain.error_location import worth_a_trace
from llamon_agent.domain.errors import AgentError, BackendError, ContextIsBusy
from llamon_agent.domain.events import Cancelled, Error
from llamon_agent.domain.task import Task, TaskState
from llamon_agent.runs.driver import RunDriver
from llamon_agent.runs.live_task import LiveTask
from llamon_agent.runs.ports.agent import Agent, PrunesThreads, Turn
from llamon_agent.runs.ports.run import Limits, Runtime
from llamon_agent.runs.ports.store import ContextKey, TaskStore
from llamon_agent.runs.run import Execution, HandOver, Phase, Run, Stop
from llamon_agent.runs.task_recorder import TaskRecorder

logger = logging.getLogger(__name__)

STOPPED = "The agent was stopped before it could finish."

_REMEMBERED_SEQS = 4096
"""How many tasks that left memory have their seq remembered, so that a read that began earlier is known to be old."""


def context_key(task: Task) -> ContextKey:
    """The context of a task."""
    return task.owner, task.agent, task.context_id


class _Queue:
    def __init__(self) -> None:
        self.holder: LiveTask | None = None
        self.waiting: deque[Execution] = deque()


class ContextQueues:
    """The contexts that are in use: the task that holds each, and the runs that wait."""

    def __init__(self, *, most_waiting: int) -> None:
        self._queues: dict[ContextKey, _Queue] = {}
        self._deleting: dict[ContextKey, asyncio.Event] = {}
        self._most_waiting = most_waiting

    def __len__(self) -> int:
        return len(self._queues)

    def holder(self, key: ContextKey) -> LiveTask | None:
        """The task that has the context now."""
        queue = self._queues.get(key)
        return queue.holder if queue is not None else None

    def is_free(self, key: ContextKey) -> bool:
        """Whether a new run could start at once."""
        return key not in self._queues

    @contextmanager
    def deleting(self, key: ContextKey) -> Iterator[None]:
        """Around the deletion of a free context's thread; `deleted` waits for its end."""
        done = self._deleting[key] = asyncio.Event()
        try:
            yield
        finally:
            del self._deleting[key]
            done.set()

    async def deleted(self, key: ContextKey) -> None:
        """Wait while the thread of a context is being deleted."""
        while (done := self._deleting.get(key)) is not None:
            await done.wait()

    def check_capacity(self, key: ContextKey) -> None:
        """Raises: ContextIsBusy: no more runs may wait."""
        queue = self._queues.get(key)
        if queue is not None and len(queue.waiting) >= self._most_waiting:
            raise ContextIsBusy

    def hold(self, live: LiveTask) -> None:
        """Give the task its context, if no other task has it."""
        queue = self._queues.setdefault(context_key(live.task), _Queue())
        queue.holder = queue.holder or live

    def wait(self, execution: Execution) -> None:
        """Let the run wait until the holder is done."""
        self._queues[context_key(execution.live.task)].waiting.append(execution)

    def blocks(self, live: LiveTask) -> bool:
        """Whether runs wait for this task."""
        queue = self._queues.get(context_key(live.task))
        return queue is not None and queue.holder is live and bool(queue.waiting)

    def advance(self, live: LiveTask, execution: Execution | None = None) -> Execution | None:
        """The task, or its run that still waits, leaves the context; the run that holds it now and may start."""
        key = context_key(live.task)
        queue = self._queues.get(key)
        if queue is None:
            return None
        if execution is not None and execution in queue.waiting:
            queue.waiting.remove(execution)
        if queue.holder is not live:
            return None
        if not queue.waiting:
            del self._queues[key]
            return None
        upcoming = queue.waiting.popleft()
        queue.holder = upcoming.live
        return upcoming


class LiveTasks:
    """The tasks that this process works on; every other task is as the store has it.

    Shape: `make` gives a live task for a record.
    """

    def __init__(self, make: Callable[[Task], LiveTask]) -> None:
        self._make = make
        self._live: dict[str, LiveTask] = {}
        # A plain dict finds its oldest key only by a walk over all that were deleted.
        self._last_seqs: OrderedDict[str, int] = OrderedDict()

    def __iter__(self) -> Iterator[LiveTask]:
        return iter(list(self._live.values()))

    def __len__(self) -> int:
        return len(self._live)

    def get(self, task_id: str) -> LiveTask | None:
        return self._live.get(task_id)

    def load(self, task: Task) -> LiveTask:
        """The task in this process, made from its record if need be; one that has ended is not kept."""
        live = self._live.get(task.id)
        if live is None:
            live = self._make(task)
            if not task.is_terminal:
                self._live[task.id] = live
        return live

    def last_seq(self, task_id: str) -> int:
        """The least seq that the store has of a task that left memory; 0 where that is not known."""
        return self._last_seqs.get(task_id, 0)

    def is_current(self, task: Task) -> bool:
        """Whether a record that was just read is the newest; while it was read, the task may have come or gone."""
        return task.id not in self._live and task.seq >= self.last_seq(task.id)

    def accept_older(self, task: Task) -> None:
        """The store has lost a newer record: from now on this older one counts."""
        self._remember(task.id, task.seq)

    def drop(self, live: LiveTask) -> None:
        """Leave the task to the store."""
        if self._live.pop(live.task.id, None) is not None and live.saved_seq:
            self._remember(live.task.id, live.saved_seq)

    def _remember(self, task_id: str, seq: int) -> None:
        self._last_seqs[task_id] = seq
        self._last_seqs.move_to_end(task_id)
        if len(self._last_seqs) > _REMEMBERED_SEQS:
            self._last_seqs.popitem(last=False)


class RunRegistry:
    """All runs of a service. Shape: make gives a live task for a record.

    `closing` is set once, when the service takes no more messages. `lost` tasks have an end that could not be recorded,
    or a record that is older than what this process has seen.
    """

    def __init__(
        self, store: TaskStore, recorder: TaskRecorder, limits: Limits, make: Callable[[Task], LiveTask]
    ) -> None:
        self.closing = False
        self.tasks = LiveTasks(make)
        self.queues = ContextQueues(most_waiting=limits.waiting_per_context)
        self._executions: dict[str, Execution] = {}
        self._lost: dict[str, Task] = {}
        self._driver = RunDriver(recorder, limits, self)
        self._store = store
        self._released = asyncio.Event()
        self._pruning: list[Agent] = []

    # --- what there is ----------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._executions)

    def run_of(self, task_id: str) -> Run | None:
        """The run of a task, if it has one now."""
        execution = self._executions.get(task_id)
        return execution.run if execution is not None else None

    def running_ids(self) -> list[str]:
        return list(self._executions)

    def running_agents(self) -> list[str]:
        """The names of the agents that are executing now. Another thread may ask."""
        return [each.live.task.agent for each in list(self._executions.values()) if each.phase is Phase.EXECUTING]

    def live(self, task_id: str) -> LiveTask | None:
        return self.tasks.get(task_id)

    def is_remote(self, task: Task) -> bool:
        """Whether another process works on the task, or should."""
        return not task.is_settled and self.tasks.get(task.id) is None

    def hold(self, task: Task) -> LiveTask:
        """The task in this process; unless it has ended it holds its context."""
        live = self.tasks.load(task)
        if not task.is_terminal:
            self.queues.hold(live)
        return live

    async def idle(self, agent: Agent) -> None:
        """Wait until no run is left of an agent that was replaced, and it prunes no thread."""
        while agent in self._pruning or any(each.is_by(agent) for each in self._executions.values()):
            self._released.clear()
            await self._released.wait()

    # --- how runs begin and end -------------------------------------------------------------------------------------

    def enter(self, task: Task, turn: Turn, runtime: Runtime) -> Execution:
        """A new task: it holds its context, or waits there. Nothing is recorded yet, so no caller may see it."""
        live = self.tasks.load(task)
        live.saved_seq = 0
        execution = self._add(live, turn, runtime, task)
        if self.queues.is_free(context_key(task)):
            self.queues.hold(live)
        else:
            self.queues.wait(execution)
        return execution

    def resume(self, live: LiveTask, turn: Turn, runtime: Runtime, first: Task) -> Execution:
        """A paused task that has its answer. Shape: first is the task as the run's callers first see it."""
        return self._add(live, turn, runtime, first)

    def take_up(self, task: Task, turn: Turn, runtime: Runtime | None) -> None:
        """Continue a run that was taken over: at once, or when its context is free."""
        live = self.tasks.load(task)
        live.adopt(task)
        execution = self._add(live, turn, runtime, task)
        if self.queues.holder(context_key(task)) in (None, live):
            self.queues.hold(live)
            self.start(execution)
        else:
            self.queues.wait(execution)

    def end_paused(self, task: Task, runtime: Runtime | None, how: Cancelled | Error) -> Run:
        """End a paused task; the thread drops its question."""
        execution = self._add(self.hold(task), None, runtime, task)
        self._driver.start_closing(execution, how)
        return execution.run

    def start(self, execution: Execution) -> None:
        self._driver.start(execution)

    def stop(self, task_id: str, how: Stop) -> Run | None:
        """Stop the run of a task, if it has one."""
        execution = self._executions.get(task_id)
        if execution is None:
            return None
        self._driver.stop(execution, how)
        return execution.run

    def release(self, execution: Execution) -> None:
        """The run is over: let the next one of its context start, unless its task waits for an answer."""
        live = execution.live
        if self._executions.get(live.task.id) is execution:
            del self._executions[live.task.id]
            self._released.set()
        if live.task.is_paused and not live.event_log.closed:
            self.drop_idle(live)
            return
        self.tasks.drop(live)
        upcoming = self.queues.advance(live, execution)
        if upcoming is not None and not (self.closing and self._store.is_durable):
            self.start(upcoming)  # else it waits for the next start
        holder = self.queues.holder(context_key(live.task))
        if holder is not None:
            self.drop_idle(holder)

    async def prune(self, execution: Execution, *, is_complete: bool) -> None:
        """Let the agent prune the thread of a task that has ended, as long as its context is free.

        A message that comes meanwhile does not wait: what its run needs is kept. The rest goes at the next end.
        """
        task, runtime = execution.live.task, execution.runtime
        if runtime is None or not task.is_terminal or not isinstance(runtime.agent, PrunesThreads):
            return
        thread, completed, has_more = thread_id(task.owner, task.context_id), task.id if is_complete else None, True
        self._pruning.append(runtime.agent)
        try:
            while has_more and self.queues.is_free(context_key(task)):
                has_more = await runtime.agent.prune_thread(thread, completed=completed)
        except (AgentError, BackendError) as exc:
            trace = worth_a_trace(exc)
            logger.warning("task %s: its thread could not be pruned", task.id, exc_info=trace, extra=task.log_ids)
        finally:
            self._pruning.remove(runtime.agent)
            self._released.set()

    def drop_idle(self, live: LiveTask) -> None:
        """Leave a paused task to the store if it has no reader, no run, and no other run waits for it."""
        in_use = live.task.id in self._executions or live.event_log.readers or self.queues.blocks(live)
        if live.task.is_paused and not in_use:
            self.tasks.drop(live)
            self.queues.advance(live)

    def _add(self, live: LiveTask, turn: Turn | None, runtime: Runtime | None, first: Task) -> Execution:
        execution = Execution(Run(live, first, self.drop_idle), turn, runtime)
        self._executions[live.task.id] = execution
        return execution

    # --- tasks whose end is not in the store ------------------------------------------------------------------------

    def mark_lost(self, task: Task) -> None:
        self._lost[task.id] = task

    def pop_lost(self, task_id: str) -> Task | None:
        return self._lost.pop(task_id, None)

    def is_lost(self, task: Task) -> bool:
        return not task.is_settled and task.id in self._lost

    def lost(self) -> list[Task]:
        return list(self._lost.values())

    def accept_older(self, task: Task) -> None:
        """The store has lost a record of a task, as a database may when its server dies."""
        logger.error("task %s: the store has lost a newer record of it", task.id, extra=task.log_ids)
        self.tasks.accept_older(task)
        if not task.is_settled:
            self.mark_lost(task)

    # --- how a service ends -----------------------------------------------------------------------------------------

    async def drain(self, timeout_s: float, *, stop_within_s: float | None) -> None:
        """Let the runs finish within that time, then stop them; every stream ends."""
        self.closing = True
        for live in self.tasks:
            if live.task.id not in self._executions:
                live.event_log.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                for execution in [each for each in self._executions.values() if each.worker is not None]:
                    await execution.run.wait_ended()
        await self._stop_all(self._last_stop, within_s=stop_within_s)
        for live in self.tasks:
            live.event_log.close()

    async def hand_over_all(self) -> None:
        """Stop every run without an end: other processes continue them."""
        await self._stop_all(lambda _execution: HandOver())

    async def leave(self) -> None:
        """The service ends, without waiting for runs that did not stop."""
        await self._driver.leave()

    async def _stop_all(self, how: Callable[[Execution], Stop], *, within_s: float | None = None) -> None:
        executions = list(self._executions.values())
        for execution in executions:
            self._driver.stop(execution, how(execution), within_s=within_s)
        for execution in executions:
            await execution.run.wait_ended()

    def _last_stop(self, execution: Execution) -> Stop:
        return HandOver() if self._can_continue(execution) else Error(public=STOPPED)

    def _can_continue(self, execution: Execution) -> bool:
        """Whether another process, or the next start, can continue a run of this one."""
        if not self._store.is_durable or execution.opening is not None:
            return False
        if execution.turn is None or execution.runtime is None:
            return False
        is_waiting = execution.live.task.status.state is TaskState.SUBMITTED
        return is_waiting or execution.runtime.agent.survives_restart
