"""Group commit to SQLite: many callers' writes in few transactions.

A commit to disk costs much the same for one write as for fifty. So writes that arrive during a transaction wait for the
next one and share it. There is at most one transaction at a time, in a thread of its own.

Rules:
- The event loop needs no lock: only the loop uses `_waiting`. The thread gets a whole group and returns its outcomes
  together, which wakes the loop once per transaction, not once per write.
- The thread gets a group one iteration of the loop after the outcomes of the last one, so that callers that were just
  answered can add their next write to it.
- A failure fails the group; the next group tries again, as a full disk may have room by then. Work that may fail alone
  is wrapped in `alone`.
- The write of a caller that was cancelled may or may not be kept.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple, TypeVar

_T = TypeVar("_T")


class Failed(NamedTuple):
    """The outcome of a write that was not kept."""

    error: BaseException


class _Write(NamedTuple):
    work: Callable[[sqlite3.Connection], Any]
    outcome: asyncio.Future[Any]


def _nothing(*_: object) -> None:
    pass


class GroupCommit:
    """Owns a connection and the one thread that writes through it. Belongs to one event loop.

    Shape: the connection begins no transaction by itself (isolation_level None). check is called in the thread before
           each group, and fails it by raising; report is called on the loop after each group, with its failure or None.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        *,
        thread_name: str,
        check: Callable[[], None] = _nothing,
        report: Callable[[BaseException | None], None] = _nothing,
    ) -> None:
        self._connection = connection
        self._check = check
        self._report = report
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=thread_name)
        self._waiting: list[_Write] = []
        self._idle = asyncio.Event()
        self._idle.set()
        self._closed = False

    async def work(self, work: Callable[[sqlite3.Connection], _T | Failed]) -> _T:
        """Do some work in the writer's thread, in one transaction; returns its result. It is committed on return.

        Raises: nothing was written: what the work raised, or another of its group; sqlite3.Error, if this is closed.
        """
        if self._closed:
            raise sqlite3.ProgrammingError("the writer is closed")
        loop = asyncio.get_running_loop()
        write = _Write(work, loop.create_future())
        self._waiting.append(write)
        if self._idle.is_set():
            self._idle.clear()
            loop.call_soon(self._start_group)
        outcome: _T | Failed = await write.outcome
        if isinstance(outcome, Failed):
            raise outcome.error
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
            work = loop.run_in_executor(self._thread, self._commit, group)
        except RuntimeError as exc:  # no thread can be started: the waiting callers must get an error
            work = loop.create_future()
            work.set_exception(exc)
        work.add_done_callback(partial(self._settle, group))

    def _settle(self, group: Sequence[_Write], work: asyncio.Future[list[Any]]) -> None:
        failure = work.exception()
        self._report(failure)
        outcomes = work.result() if failure is None else [Failed(failure)] * len(group)
        for write, outcome in zip(group, outcomes, strict=True):
            if not write.outcome.done():
                write.outcome.set_result(outcome)
        asyncio.get_running_loop().call_soon(self._start_group)

    def _commit(self, group: Sequence[_Write]) -> list[Any]:
        """Execute a group in one transaction; the outcome of each write. Runs in the thread."""
        self._check()
        connection = self._connection
        try:
            connection.execute("begin immediate")
            outcomes = [write.work(connection) for write in group]
            connection.execute("commit")
        finally:
            if connection.in_transaction:
                connection.rollback()
        return outcomes


def alone(work: Callable[[sqlite3.Connection], _T]) -> Callable[[sqlite3.Connection], _T | Failed]:
    """The same work; if it fails, only what it has written itself is undone, and the rest of its group is kept."""

    def within(connection: sqlite3.Connection) -> _T | Failed:
        connection.execute("savepoint alone")
        try:
            result = work(connection)
        except Exception as exc:  # not only SQLite's: a text that has no UTF-8 fails when it is bound
            if not connection.in_transaction:  # SQLite itself has undone the whole group. Source: lang_transaction.html
                raise
            connection.execute("rollback to alone")
            connection.execute("release alone")
            return Failed(exc)
        connection.execute("release alone")
        return result

    return within
