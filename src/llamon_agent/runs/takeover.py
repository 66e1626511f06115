"""The lease of this process, and what it does with runs whose process has died. See `ports.store` for the words.

Rules:
1. A process whose lease was ended by another one stops all its runs first: other processes may do the same work by
   now, and the store refuses whatever it would record.
2. A store that cannot be reached ends nothing: no other process can take over there either.
3. A run that was taken over is continued at once, or its task ended. If that fails, the others still go on.
"""

import asyncio
import logging
from collections.abc import Callable

from llamon_agent.domain.errors import BackendError, Conflict
from llamon_agent.domain.events import Error
from llamon_agent.domain.task import Task, TaskState
from llamon_agent.runs.ports.run import Clock, Limits, Runtime
from llamon_agent.runs.ports.store import Abandoned, TaskStore
from llamon_agent.runs.recovery import Again, GiveUp, decide_recovery, in_order
from llamon_agent.runs.registry import RunRegistry
from llamon_agent.runs.task_recorder import TaskRecorder

logger = logging.getLogger(__name__)

_BATCH = 100

LOST = "The agent's answer could not be stored."


class Takeover:
    """Continues abandoned runs, or ends their tasks. Shape: runtime_of gives an agent's runtime, None if it is gone."""

    def __init__(
        self,
        store: TaskStore,
        recorder: TaskRecorder,
        registry: RunRegistry,
        limits: Limits,
        runtime_of: Callable[[str], Runtime | None],
    ) -> None:
        self._store = store
        self._recorder = recorder
        self._registry = registry
        self._limits = limits
        self._runtime_of = runtime_of

    async def resume(self, abandoned: Abandoned) -> None:
        """Continue a run that was taken over, or end its task. Raises: BackendError: its task is ended later."""
        task, runtime = abandoned.task, self._runtime_of(abandoned.task.agent)
        self._registry.pop_lost(task.id)
        try:
            match decide_recovery(abandoned, runtime, max_attempts=self._limits.max_attempts):
                case GiveUp(public=public):
                    answer_id = abandoned.turn.answer_id if abandoned.turn else None
                    await self._recorder.orphan(task, Error(public=public), answer_id=answer_id)
                case Again(turn=turn):
                    if task.status.state is TaskState.SUBMITTED:
                        await self._keep_waiting(task)
                    else:
                        task = await self._recorder.taken_over(task, turn.attempt)
                    self._registry.take_up(task, turn, runtime)
        except BackendError:
            self._registry.mark_lost(task)
            raise

    async def find_lost(self, *, limit: int) -> None:
        """Find the tasks that this process holds in the store and that have no run any more. Raises: BackendError."""
        for task in await self._store.held(excluding=self._registry.running_ids(), limit=limit):
            if self._registry.run_of(task.id) is None:  # else it has begun meanwhile
                self._registry.mark_lost(task)

    async def end_lost(self, task: Task) -> Task | None:
        """End a task whose end, or whose record, was lost; None if it was not, or if it has a run or an end by now.

        Raises: BackendError.
        """
        lost = self._registry.pop_lost(task.id)
        if lost is None or self._registry.run_of(task.id) is not None:
            return None
        try:
            return await self._recorder.orphan(task, Error(public=LOST))
        except Conflict:  # another process has ended it
            return None
        except BackendError:
            self._registry.mark_lost(task)
            raise

    async def end_all_lost(self) -> None:
        """End every such task. Raises: BackendError."""
        for lost in self._registry.lost():
            task = await self._store.get(lost.owner, lost.agent, lost.id)
            if task is None or task.is_settled:
                self._registry.pop_lost(lost.id)
            else:
                await self.end_lost(task)

    async def _keep_waiting(self, task: Task) -> None:
        """A task that waited for the paused one of its context goes on waiting for it."""
        context = (task.owner, task.agent, task.context_id)
        paused = await self._store.paused_in(*context)
        if paused is not None and self._registry.queues.is_free(context):
            self._registry.hold(paused)


class Lease:
    """The lease of one process. Units: lease_s is how long each renewal keeps the process alive for the others."""

    def __init__(
        self, store: TaskStore, takeover: Takeover, registry: RunRegistry, *, clock: Clock, lease_s: float
    ) -> None:
        self._store = store
        self._takeover = takeover
        self._registry = registry
        self._clock = clock
        self._lease_s = lease_s
        self._taking = asyncio.Lock()

    async def renew(self) -> None:
        """Extend the lease. Raises: BackendError."""
        if not await self._store.renew(until_ms=self._clock() + int(self._lease_s * 1000)):
            logger.error("the lease of this process has ended: its runs are stopped, and others may continue them")
            await self._registry.hand_over_all()

    async def take_over(self) -> None:
        """Take over every abandoned run; on return each is continued, or its task has ended. Raises: BackendError."""
        async with self._taking:  # so that a caller that finds nothing to take knows that other calls have finished
            found: list[Abandoned] = []
            while batch := await self._store.take_over(now_ms=self._clock(), limit=_BATCH):
                found += batch
            for abandoned in in_order(found):
                await self._take_up(abandoned)

    async def keep(self) -> None:
        """Renew and take over until cancelled."""
        while True:
            await asyncio.sleep(self._lease_s / 3)
            try:
                await self.renew()
                if not self._registry.closing:
                    await self.take_over()
                    await self.end_lost()
            except BackendError:
                logger.debug("the lease could not be renewed, or no run taken over; it is tried again")

    async def end_lost(self) -> None:
        """End the tasks that this process holds and does not work on. Raises: BackendError."""
        async with self._taking:  # what is being taken over is not lost
            await self._takeover.find_lost(limit=_BATCH)
        await self._takeover.end_all_lost()

    async def release(self) -> None:
        """Hold nothing any more; where the store cannot be reached, the lease runs out."""
        try:
            await self._store.release_holder()
        except BackendError:
            logger.warning("the lease could not be released; it runs out")

    async def _take_up(self, abandoned: Abandoned) -> None:
        task = abandoned.task
        logger.warning("task %s: its process has ended; its run is taken over", task.id, extra=task.log_ids)
        try:
            await self._takeover.resume(abandoned)
        except BackendError as exc:
            logger.warning("task %s: its run could not be continued", task.id, exc_info=exc, extra=task.log_ids)
