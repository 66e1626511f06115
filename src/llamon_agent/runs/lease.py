"""This process as a holder of runs: it lives on, and takes over what nobody holds any more. See `ports` for the words.

Rules:
1. A process that was ended while it seemed dead stops all that it does before it does anything else: others may do the
   same work by now, and whatever it would record is refused.
2. A store that cannot be reached ends nothing: nobody else can take over there either, or this process will hear of it.
3. What was taken over is taken up at once, or ended; a task that fails to be is not in the way of the others.
"""

import asyncio
import logging

from llamon_agent.domain.errors import BackendError
from llamon_agent.runs.ports import Abandoned, Clock, TaskStore
from llamon_agent.runs.recovery import in_order
from llamon_agent.runs.takeover import Takeover
from llamon_agent.runs.under_way import UnderWay

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
            await self._store.let_go()
        except BackendError:
            logger.warning("the lease could not be let go; it runs out")

    async def _take_up(self, abandoned: Abandoned) -> None:
        task = abandoned.task
        logger.warning("task %s: it was left unfinished and is taken over", task.id, extra=task.log_ids)
        try:
            await self._takeover.resume(abandoned)
        except BackendError as exc:
            logger.warning("task %s: it could not be taken up", task.id, exc_info=exc, extra=task.log_ids)
