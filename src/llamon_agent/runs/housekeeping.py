"""Ends pauses that had no answer in time, and forgets old tasks, keys and threads.

The housekeeper works in small batches. Each is a few short writes, and between two of them it rests for longer than the
batch took, so that runs do not notice. Some tasks or threads of a batch are done at once, as their writes then share a
commit. A batch is always finished, also when the edge stops: otherwise a task would be gone and its thread would stay
for ever.

A thread is deleted while no run is in its context, and a run that arrives meanwhile waits. Between processes there is
no such wait. A process may continue a context in the very moment in which another one forgets it, after a silence as
long as tasks are kept; then it may find the thread half deleted.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self, TypeVar

from llamon_agent.domain.caller import thread_id
from llamon_agent.domain.errors import AgentError, BackendError
from llamon_agent.domain.events import Error
from llamon_agent.domain.task import Retention, Task
from llamon_agent.runs.ports.run import Clock, Limits, Runtime
from llamon_agent.runs.ports.store import ContextKey, Pruned, TaskStore
from llamon_agent.runs.registry import RunRegistry

logger = logging.getLogger(__name__)

T = TypeVar("T")
R = TypeVar("R")

EXPIRED = "Nobody answered in time, so the task has ended."


class Upkeep:
    """Ends pauses, deletes threads. Shape: runtime_of gives an agent's runtime, None if it is gone."""

    def __init__(self, registry: RunRegistry, limits: Limits, runtime_of: Callable[[str], Runtime | None]) -> None:
        self._registry = registry
        self._limits = limits
        self._runtime_of = runtime_of

    async def expire(self, task: Task) -> bool:
        """End a paused task that had no answer in time, unless it works again; whether it has ended.

        Raises: BackendError.
        """
        live = self._registry.live(task.id)
        has_moved = self._registry.run_of(task.id) is not None or (live is not None and live.task.status != task.status)
        if has_moved or self._registry.closing:
            return False
        run = self._registry.end_paused(task, self._runtime_of(task.agent), Error(public=EXPIRED))
        return (await run.wait_settled(self._limits.cancel_wait_s)).is_terminal

    async def forget(self, context: ContextKey) -> None:
        """Delete the thread of a context that has no task left, unless it has one again.

        An agent that is not served any more keeps its threads: there is no adapter to delete them.
        """
        owner, agent, context_id = context
        runtime = self._runtime_of(agent)
        if runtime is None or not self._registry.queues.is_free(context):
            return
        with self._registry.queues.deleting(context):
            try:
                await runtime.agent.delete_thread(thread_id(owner, context_id))
            except (AgentError, BackendError) as exc:
                ids = {"context_id": context_id, "agent": agent}
                logger.warning("the thread of a forgotten conversation could not be deleted", exc_info=exc, extra=ids)


BATCH = 100
"""How many tasks or keys one batch forgets."""

_AT_ONCE = 10
"""How many of a batch are done at once: more would keep the event loop from others for too long."""

_RESTS = 4
"""The rest after a batch, as a multiple of the time that the batch took."""

Forget = Callable[[ContextKey], Awaitable[None]]
"""Deletes the thread of a context that has no task left."""


async def prune_batch(store: TaskStore, forget: Forget, *, before_ms: int, limit: int = BATCH) -> Pruned:
    """Forget some of the tasks that ended earlier, and the threads that no task needs. Raises: BackendError."""
    pruned = await store.prune(before_ms=before_ms, limit=limit)
    await _each(forget, pruned.contexts)
    return pruned


async def _each(work: Callable[[T], Awaitable[R]], of_batch: Sequence[T]) -> list[R]:
    """Do the work on each, some at once. Raises: what the first one raised, when those that were begun have ended."""
    results: list[R] = []
    for begin in range(0, len(of_batch), _AT_ONCE):
        now = of_batch[begin : begin + _AT_ONCE]
        for outcome in await asyncio.gather(*map(work, now), return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome
            results.append(outcome)
    return results


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
                logger.debug("the store is away; old tasks are forgotten later")
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
        tasks = await self._store.paused_before(before_ms=before_ms, limit=BATCH)
        expired = sum(await _each(self._upkeep.expire, tasks))
        if expired:
            logger.info("%d tasks without an answer have ended", expired)
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
