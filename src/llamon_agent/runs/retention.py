"""How long things are kept, and who sees to it that they go.

What is over is forgotten in small batches: each is one short write, and between two the housekeeper rests for longer
than the batch took, so that runs do not notice. A batch that was begun is finished, also when the edge stops: else a
task would be gone and its thread would stay, and nobody would know of it any more.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import TracebackType
from typing import Protocol, Self

import msgspec

from llamon_agent.domain.errors import BackendError
from llamon_agent.domain.task import Task
from llamon_agent.runs.ports import Clock, ContextKey, Pruned, TaskStore

logger = logging.getLogger(__name__)

BATCH = 100
"""How many tasks or keys go at once."""

_RESTS = 4
"""How many times as long as a batch took nothing is done after it."""

Forget = Callable[[ContextKey], Awaitable[None]]
"""Deletes the thread of a context that has no task left."""


class Retention(msgspec.Struct, frozen=True, kw_only=True):
    """How long things are kept; None is forever.

    Units: seconds; a task's since its end, a pause's since its question, a key's since it came.
    """

    tasks_s: float | None = None
    paused_s: float | None = None
    keys_s: float | None = None


class Upkeep(Protocol):
    """What is done to a process's tasks and threads for its housekeeper."""

    async def expire(self, task: Task) -> bool:
        """End a paused task that nobody has answered; one that goes on by now is left alone. Whether it has ended.

        Raises: BackendError.
        """
        ...

    async def forget(self, context: ContextKey) -> None:
        """Delete the thread of a context that has no task left; one that has a task again is left alone."""
        ...


async def prune_batch(store: TaskStore, forget: Forget, *, before_ms: int, limit: int = BATCH) -> Pruned:
    """Forget some of the tasks that ended earlier, and the threads that nobody needs any more. Raises: BackendError."""
    pruned = await store.prune(before_ms=before_ms, limit=limit)
    for context in pruned.contexts:
        await forget(context)
    return pruned


class Housekeeper:
    """Keeps a store as small as its retention says. Use as an async context manager around what is served."""

    def __init__(
        self, store: TaskStore, upkeep: Upkeep, retention: Retention, *, clock: Clock, every_s: float = 60.0
    ) -> None:
        self._store = store
        self._upkeep = upkeep
        self._retention = retention
        self._clock = clock
        self._every_s = every_s
        self._leaving = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._keep_house())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leaving.set()
        await self._task

    async def sweep(self) -> None:
        """Do everything that is due now. Raises: BackendError."""
        kept = self._retention
        await self._batches(kept.paused_s, self._expire)
        await self._batches(kept.tasks_s, self._prune)
        await self._batches(kept.keys_s, self._forget_keys)

    async def _keep_house(self) -> None:
        while not self._leaving.is_set():
            try:
                await self.sweep()
            except BackendError:
                logger.debug("the store is away; what is old is forgotten later")
            await self._rest(self._every_s)

    async def _batches(self, kept_s: float | None, batch: Callable[[int], Awaitable[int]]) -> None:
        """One batch after the other, while they are full."""
        if kept_s is None:
            return
        loop, before_ms = asyncio.get_running_loop(), self._clock() - round(kept_s * 1000)
        while not self._leaving.is_set():
            began_s = loop.time()
            if await batch(before_ms) < BATCH:
                return
            await self._rest(_RESTS * (loop.time() - began_s))

    async def _expire(self, before_ms: int) -> int:
        tasks = await self._store.unanswered(before_ms=before_ms, limit=BATCH)
        expired = sum([await self._upkeep.expire(task) for task in tasks])
        if expired:
            logger.info("%d tasks that nobody answered have ended", expired)
        return expired

    async def _prune(self, before_ms: int) -> int:
        pruned = await prune_batch(self._store, self._upkeep.forget, before_ms=before_ms)
        if pruned.task_ids:
            logger.info("forgotten: %d old tasks, %d conversations", len(pruned.task_ids), len(pruned.contexts))
        return len(pruned.task_ids)

    async def _forget_keys(self, before_ms: int) -> int:
        return await self._store.forget_keys(before_ms=before_ms, limit=BATCH)

    async def _rest(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._leaving.wait()
