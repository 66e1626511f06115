"""Whether this process should get work: what a balancer and a supervisor ask, often and without a token.

Rules:
1. A question costs the store next to nothing, however many callers ask. There is one look at a time. Its outcome holds
   for as long as a look may take, and every caller gets it meanwhile.
2. An answer never takes longer than that either. A store that is slower counts as away.
3. A process that begins to stop says so before anything else changes, so that no work is sent to it and then refused.
"""

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Literal

from llamon_agent.domain.errors import BackendError

Check = Literal["starting", "stopping", "store"]
"""Why a process is not ready: it has not started yet, it stops, or it cannot reach its store."""


class Readiness:
    """Whether a process takes work. Belongs to one event loop.

    Shape: reached raises BackendError where the store is away.
    Units: look_s is how many seconds a look at the store may take, and for how long its outcome holds.
    """

    def __init__(
        self,
        reached: Callable[[], Awaitable[None]],
        *,
        look_s: float = 1.0,
        clock_s: Callable[[], float] = monotonic,
    ) -> None:
        self._reached = reached
        self._look_s = look_s
        self._clock_s = clock_s
        self._has_started = False
        self._is_stopping = False
        self._looking: asyncio.Task[bool] | None = None
        self._looked_s = float("-inf")
        self._was_there = False

    def started(self) -> None:
        """From now on work is taken."""
        self._has_started = True

    def stop(self) -> None:
        """From now on no work should be sent here, though it may still be taken for a while."""
        self._is_stopping = True

    async def failing(self) -> tuple[Check, ...]:
        """The reasons why this process is not ready; none if it is."""
        if self._is_stopping:
            return ("stopping",)
        if not self._has_started:
            return ("starting",)
        return () if await self._store_is_there() else ("store",)

    async def is_ready(self) -> bool:
        return not await self.failing()

    async def close(self) -> None:
        """Look no more."""
        self.stop()
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait({self._looking})

    async def _store_is_there(self) -> bool:
        if self._clock_s() - self._looked_s < self._look_s:
            return self._was_there
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())
        looking = self._looking
        await asyncio.wait({looking}, timeout=self._look_s)  # a caller that leaves does not end the look of the others
        return looking.done() and not looking.cancelled() and looking.result()

    async def _look(self) -> bool:
        """Look at the store, and keep the outcome. A look is not cut short: its thread or connection would stay busy,
        and the next look would take another one.
        """
        began_s = self._clock_s()
        try:
            await self._reached()
            self._was_there = self._clock_s() - began_s <= self._look_s
        except BackendError:
            self._was_there = False
        finally:
            self._looking = None
        self._looked_s = self._clock_s()
        return self._was_there
