"""Writes of LangGraph's checkpoints to Postgres, in groups: those of all threads that come together share a commit.

A commit waits for the disk, and each use of a connection costs some round trips. So writes that come during a commit
wait for the next one and share it. Its statements are sent without waiting for each other's answers.

- There is one commit at a time for each agent, so that many threads need one connection. One that takes long, as it
  waits for a lock, does not hold up the next.
- If a value cannot be kept, the group is written again one by one, and only the write that holds it fails.
- The write of a caller that was cancelled may or may not be kept.
"""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from contextvars import Context
from typing import Any, NamedTuple

import psycopg
from psycopg_pool import AsyncConnectionPool

from llamon_agent.adapters.langgraph.checkpoints.statements import Statement

REFUSED = (psycopg.DataError, psycopg.errors.ProgramLimitExceeded)
"""The errors by which a working database refuses a value."""


_LONG_S = 0.1
"""How long the next group waits for a commit."""


class _Write(NamedTuple):
    statements: Sequence[Statement]
    outcome: asyncio.Future[None]

    def end(self, error: Exception | None) -> None:
        if self.outcome.done():  # its caller was cancelled
            return
        if error is None:
            self.outcome.set_result(None)
        else:
            self.outcome.set_exception(error)


class PostgresGroups:
    """Commits writes in groups. Belongs to one event loop.

    Shape: pipeline says whether statements may be sent without waiting for the answers to earlier ones.
    """

    def __init__(self, pool: AsyncConnectionPool[Any], *, pipeline: bool) -> None:
        self._pool = pool
        self._pipeline = pipeline
        self._waiting: list[_Write] = []
        self._work: asyncio.Task[None] | None = None
        self._commits: set[asyncio.Task[None]] = set()

    async def write(self, statements: Sequence[Statement]) -> None:
        """Execute some statements, all or none. They are committed on return. Raises: psycopg.Error."""
        write = _Write(statements, asyncio.get_running_loop().create_future())
        self._waiting.append(write)
        if self._work is None or self._work.done():
            # In a context of its own: it goes on for other runs than the one that comes first.
            self._work = asyncio.create_task(self._write_groups(), context=Context())
        await write.outcome

    async def _write_groups(self) -> None:
        while self._waiting:
            group, self._waiting = self._waiting, []
            commit = asyncio.create_task(self._write_group(group))
            self._commits.add(commit)
            commit.add_done_callback(self._commits.discard)
            await asyncio.wait([commit], timeout=_LONG_S)
            await asyncio.sleep(0)  # callers that were just answered can add a write to the next group

    async def _write_group(self, group: Sequence[_Write]) -> None:
        try:
            error = await self._error_of(group)
            one_by_one = len(group) > 1 and error is not None and _is_of_one(error)
            for write in group:
                write.end(await self._error_of([write]) if one_by_one else error)
        finally:
            for write in group:
                write.outcome.cancel()  # has no effect on one that has ended

    async def _error_of(self, group: Sequence[_Write]) -> Exception | None:
        """Commit a group; why that failed."""
        try:
            await self._commit(group)
        except Exception as exc:  # noqa: BLE001 -- whatever it is, it is for the callers, and the next group is tried
            return exc
        return None

    async def _commit(self, group: Sequence[_Write]) -> None:
        async with self._pool.connection() as connection:
            together: AbstractAsyncContextManager[object] = connection.pipeline() if self._pipeline else nullcontext()
            async with together, connection.transaction(), connection.cursor() as cursor:
                for write in group:
                    for statement, rows in write.statements:
                        for row in rows:
                            await cursor.execute(statement, row)


def _is_of_one(error: Exception) -> bool:
    """Whether an error is that of a single write: not if the database cannot be reached, or takes no writes."""
    return isinstance(error, REFUSED) or not isinstance(error, psycopg.OperationalError | OSError)
