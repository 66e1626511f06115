"""Group commit to SQLite: many callers' writes in few transactions.

A commit to disk costs much the same for one write as for fifty. So writes that arrive during a transaction wait for the
next one and share it. There is at most one transaction at a time, in a thread of its own.

Rules:
- The event loop needs no lock: only the loop uses `_waiting`. The thread gets a whole group and returns its outcomes
  together, which wakes the loop once per transaction, not once per write.
- The thread gets a group one iteration of the loop after the outcomes of the last one, so that callers that were just
  answered can add their next write to it.
- A write that changes no row is a conflict: an outcome like any other, which does not affect the rest of the group. A
  write of several statements reads before it changes anything, so that nothing has to be rolled back. A failure of the
  database fails the group; the next group tries again, as a full disk may have room by then.
- The write of a caller that was cancelled may or may not be kept.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple, TypeVar

from llamon_agent.domain.errors import BackendError
from llamon_agent.store.sqlite.file import SqliteFile, what_is_wrong

Row = Mapping[str, str | int | bytes | None]

_T = TypeVar("_T")


class _Failed(NamedTuple):
    """The outcome of a write whose group failed."""

    error: BaseException


class _Write(NamedTuple):
    work: Callable[[sqlite3.Connection], Any]
    outcome: asyncio.Future[Any]


class GroupCommitWriter:
    """Owns a connection and the one thread that writes through it. Belongs to one event loop."""

    def __init__(self, connection: sqlite3.Connection, file: SqliteFile) -> None:
        self._connection = connection
        self._file = file
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="llamon-store-writer")
        self._waiting: list[_Write] = []
        self._idle = asyncio.Event()
        self._idle.set()
        self._closed = False

    async def write(self, statement: str, row: Row) -> bool:
        """Execute a statement; whether it changed a row. It is committed on return. Raises: as `work` does."""
        return await self.work(lambda connection: connection.execute(statement, row).rowcount == 1)

    async def work(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        """Do some work in the writer's thread, in one transaction; returns its result. It is committed on return.

        Raises: BackendError: nothing was written, or the writer is closed.
        """
        if self._closed:
            raise BackendError()
        loop = asyncio.get_running_loop()
        write = _Write(work, loop.create_future())
        self._waiting.append(write)
        if self._idle.is_set():
            self._idle.clear()
            loop.call_soon(self._start_group)
        outcome: _T | _Failed = await write.outcome
        if isinstance(outcome, _Failed):
            raise BackendError() from outcome.error
        return outcome

    async def close(self) -> None:
        """Commit the waiting writes, then close the thread and the connection. Safe to call twice."""
        self._closed = True
        await self._idle.wait()
        await asyncio.to_thread(self._release)

    def _release(self) -> None:
        self._thread.shutdown()
        self._connection.close()

    def _start_group(self) -> None:
        group, self._waiting = self._waiting, []
        if not group:
            self._idle.set()
            return
        loop = asyncio.get_running_loop()
        try:
            work = loop.run_in_executor(self._thread, _commit, self._connection, self._file, group)
        except RuntimeError as exc:  # no thread can be started: the waiting callers must get an error
            work = loop.create_future()
            work.set_exception(exc)
        work.add_done_callback(partial(self._settle, group))

    def _settle(self, group: Sequence[_Write], work: asyncio.Future[list[Any]]) -> None:
        failure = work.exception()
        if failure is None:
            self._file.writes.over()
        else:
            self._file.writes.failed(what_is_wrong(failure), failure)
        outcomes = work.result() if failure is None else [_Failed(failure)] * len(group)
        for write, outcome in zip(group, outcomes, strict=True):
            if not write.outcome.done():
                write.outcome.set_result(outcome)
        asyncio.get_running_loop().call_soon(self._start_group)


def _commit(connection: sqlite3.Connection, file: SqliteFile, group: Sequence[_Write]) -> list[Any]:
    """Execute a group in one transaction; the outcome of each write. Runs in the writer's thread."""
    file.check()
    try:
        connection.execute("begin immediate")
        outcomes = [write.work(connection) for write in group]
        connection.execute("commit")
    finally:
        if connection.in_transaction:
            connection.rollback()
    return outcomes
