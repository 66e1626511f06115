"""The task store's writes, in groups. See `llamon_agent.group_commit`.

A write that changes no row is a conflict: an outcome like any other, which does not affect the rest of the group. A
write of several statements reads before it changes anything, so that nothing has to be rolled back. A failure of the
database fails the group.
"""

import sqlite3
from collections.abc import Callable, Mapping
from typing import TypeVar

from llamon_agent.domain.errors import BackendError
from llamon_agent.group_commit import GroupCommit
from llamon_agent.store.sqlite.file import SqliteFile, what_is_wrong

Row = Mapping[str, str | int | bytes | None]

_T = TypeVar("_T")


class GroupCommitWriter:
    """Owns a connection and the one thread that writes through it. Belongs to one event loop."""

    def __init__(self, connection: sqlite3.Connection, file: SqliteFile) -> None:
        self._file = file
        self._group = GroupCommit(connection, thread_name="llamon-store-writer", check=file.check, report=self._report)

    async def write(self, statement: str, row: Row) -> bool:
        """Execute a statement; whether it changed a row. It is committed on return. Raises: as `work` does."""
        return await self.work(lambda connection: connection.execute(statement, row).rowcount == 1)

    async def work(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        """Do some work in the writer's thread, in one transaction; returns its result. It is committed on return.

        Raises: BackendError: nothing was written, or the writer is closed.
        """
        try:
            return await self._group.work(work)
        except Exception as exc:  # whatever failed the group, which may be another's work
            raise BackendError() from exc

    async def close(self) -> None:
        """Commit the waiting writes, then close the thread and the connection. Safe to call twice."""
        await self._group.close()

    def _report(self, failure: BaseException | None) -> None:
        if failure is None:
            self._file.writes.over()
        else:
            self._file.writes.failed(what_is_wrong(failure), failure)
