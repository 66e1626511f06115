"""This process as a holder of runs: it lives on, and takes over what nobody holds any more. See `ports` for the words.

Rules:
1. A process that was ended while it seemed dead stops all that it does before it does anything else: others may do the
   same work by now, and whatever it would record is refused.
2. A store that cannot be reached ends nothing: nobody else can take over there either, or this process will hear of it.
3. What was taken over is taken up at once, or ended; a task that fails to be is not in the way of the others.
"""

import asyncio
import logging
from collections.abc import Callable

from llamon_agent.domain.errors import BackendError, Conflict
from llamon_agent.domain.events import Error
from llamon_agent.domain.task import PAUSED, Task, TaskQuery, TaskState
from llamon_agent.runs.ports.run import Clock, Limits, Runtime
from llamon_agent.runs.ports.store import Abandoned, ContextKey, TaskStore
from llamon_agent.runs.recovery import Again, GiveUp, decide_recovery, in_order
from llamon_agent.runs.registry import UnderWay
from llamon_agent.runs.task_recorder import Recorder

# MERGED-DOC: What this process does with tasks that nobody works on: it goes on with their runs, or ends them.
LOST = "The agent's answer could not be stored."


async def paused_in(store: TaskStore, context: ContextKey) -> Task | None:
    """The paused task that a context has by the store."""
    owner, agent, context_id = context
    query = TaskQuery(owner=owner, agent=agent, context_id=context_id, states=tuple(PAUSED), limit=1)
    page = await store.list(query)
    return page.tasks[0] if page.tasks else None


class Takeover:
    """Goes on with abandoned runs. Shape: runtime_of gives what executes an agent's runs now, None if it is gone."""

    def __init__(
        self,
        store: TaskStore,
        recorder: Recorder,
        under_way: UnderWay,
        limits: Limits,
        runtime_of: Callable[[str], Runtime | None],
    ) -> None:
        self._store = store
        self._recorder = recorder
        self._under_way = under_way
        self._limits = limits
        self._runtime_of = runtime_of

    async def resume(self, abandoned: Abandoned) -> None:
        """Take up a run that was taken over, or end its task. Raises: BackendError; its task is ended later."""
        task, runtime = abandoned.task, self._runtime_of(abandoned.task.agent)
        self._under_way.conductor.lost.pop(task.id, None)
        try:
            match decide_recovery(abandoned, runtime, max_attempts=self._limits.max_attempts):
                case GiveUp(public=public):
                    answer_id = abandoned.turn.answer_id if abandoned.turn else None
                    await self._recorder.orphan(task, Error(public=public), answer_id=answer_id)
                case Again(turn=turn):
                    if task.status.state is TaskState.SUBMITTED:
                        await self._stand_behind_pause(task)
                    else:
                        task = await self._recorder.taken_over(task, turn.attempt)
                    self._under_way.take_up(task, turn, runtime)
        except BackendError:
            self._under_way.conductor.lost[task.id] = task
            raise

    async def find_lost(self, *, limit: int) -> None:
        """Find tasks that this process holds by the store, and that have no run any more. Raises: BackendError."""
        for task in await self._store.held(excluding=list(self._under_way.runs), limit=limit):
            if task.id not in self._under_way.runs:  # else it has begun meanwhile
                self._under_way.conductor.lost.setdefault(task.id, task)

    async def end_lost(self, task: Task) -> Task | None:
        """End a task whose own end, or what was recorded of it, was lost; None where that is not so, or no longer.

        Raises: BackendError.
        """
        lost = self._under_way.conductor.lost.pop(task.id, None)
        if lost is None or task.id in self._under_way.runs:
            return None
        try:
            return await self._recorder.orphan(task, Error(public=LOST))
        except Conflict:  # somebody else has seen to it
            return None
        except BackendError:
            self._under_way.conductor.lost[task.id] = task
            raise

    async def end_all_lost(self) -> None:
        """End every such task. Raises: BackendError."""
        for lost in list(self._under_way.conductor.lost.values()):
            task = await self._store.get(lost.owner, lost.agent, lost.id)
            if task is None or task.is_settled:
                self._under_way.conductor.lost.pop(lost.id, None)
            else:
                await self.end_lost(task)

    async def _stand_behind_pause(self, task: Task) -> None:
        """A task that waited goes on waiting behind the paused one of its context."""
        context = (task.owner, task.agent, task.context_id)
        paused = await paused_in(self._store, context)
        if paused is not None and self._under_way.lanes.is_free(context):
            self._under_way.alive(paused)


logger = logging.getLogger(__name__)

_BATCH = 100


class Lease:
    """The lease of one process. Units: lease_s is for how long it is taken to be alive."""

    def __init__(
        self, store: TaskStore, takeover: Takeover, under_way: UnderWay, *, clock: Clock, lease_s: float
    ) -> None:
        self._store = store
        self._takeover = takeover
        self._under_way = under_way
        self._clock = clock
        self._lease_s = lease_s
        self._taking = asyncio.Lock()

    async def renew(self) -> None:
        """Live on. Raises: BackendError."""
        if not await self._store.renew(until_ms=self._clock() + int(self._lease_s * 1000)):
            logger.error("this process was taken to be dead: its runs are stopped, others may go on with them")
            await self._under_way.hand_over_all()

    async def take_over(self) -> None:
        """Take over whatever is abandoned; on return it has been taken up or has ended. Raises: BackendError."""
        async with self._taking:  # who finds nothing left to take may rely on it that others have finished
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
                if not self._under_way.conductor.closing:
                    await self.take_over()
                    await self.end_lost()
            except BackendError:
                logger.debug("the lease could not be renewed, or nothing be taken over; it is tried again")

    async def end_lost(self) -> None:
        """End the tasks that this process holds and does not work on. Raises: BackendError."""
        async with self._taking:  # what is being taken over is not lost
            await self._takeover.find_lost(limit=_BATCH)
        await self._takeover.end_all_lost()

    async def let_go(self) -> None:
        """Hold nothing any more; where that cannot be said, the lease runs out."""
        try:
            await self._store.release_holder()
        except BackendError:
            logger.warning("the lease could not be let go; it runs out")

    async def _take_up(self, abandoned: Abandoned) -> None:
        task = abandoned.task
        logger.warning("task %s: it was left unfinished and is taken over", task.id, extra=task.log_ids)
        try:
            await self._takeover.resume(abandoned)
        except BackendError as exc:
            logger.warning("task %s: it could not be taken up", task.id, exc_info=exc, extra=task.log_ids)
