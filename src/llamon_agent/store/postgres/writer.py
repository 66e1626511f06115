"""Group commit to Postgres: many callers' writes of tasks in few statements.

A commit costs much the same for one write as for a hundred, and so does a round trip to the server. So writes that
arrive while a group is being written wait for the next group, as the rows of one statement for each kind of write. Such
a statement is a transaction of its own, and the only thing that is sent: measured, neither a transaction around both
kinds nor psycopg's pipeline makes a group faster, and both make a single write slower.

Rules:
- At most one group is written at a time, with at most one write of a task in it. A second write of the same task comes
  with the next group, so that it sees the result of the first.
- A write that changes no row is a conflict: an outcome like any other, which does not affect the rest of the group.
- A failure fails the group. If the connection broke in the middle, it is unknown whether the server has kept the group:
  these writes are *in doubt*. Their callers get an error, as if nothing was kept, and this is made true before the next
  group: a task that was created after all is deleted, and a value that was saved after all may be replaced by the next
  save of its task, although that save expects the value before.
- The write of a caller that was cancelled may or may not be kept.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from psycopg_pool import PoolTimeout

from llamon_agent.domain.errors import BackendError
from llamon_agent.store.postgres.pool import Connection, Pool
from llamon_agent.store.statements import load_statements

Kind = Literal["create", "save"]
Row = Mapping[str, Any]

DEADLINE_S = 20.0
"""How long a group may take before the server counts as unreachable."""

_MAX_GROUP = 256

_SQL = load_statements("postgres/task.sql")


class _Write(NamedTuple):
    kind: Kind
    row: Row
    outcome: asyncio.Future[bool | BaseException]


class GroupCommitWriter:
    """Writes tasks as `holder`. Belongs to one event loop; the caller closes the pool."""

    def __init__(self, pool: Pool, *, holder: str) -> None:
        self.holder = holder
        self._pool = pool
        self._waiting: list[_Write] = []
        self._work: asyncio.Task[None] | None = None
        self._doubtful_creates: dict[str, int] = {}  # task -> seq
        self._doubtful_saves: dict[str, set[int]] = {}  # task -> seqs
        self._closed = False

    async def write(self, kind: Kind, row: Row) -> bool:
        """Execute a write; whether it changed a row. It is committed on return.

        Raises: BackendError: nothing was written, or the writer is closed.
        """
        if self._closed:
            raise BackendError()
        write = _Write(kind, row, asyncio.get_running_loop().create_future())
        self._waiting.append(write)
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._write_groups())
        outcome = await write.outcome
        if isinstance(outcome, BaseException):
            raise BackendError() from outcome
        return outcome

    async def clear_doubts(self, connection: Connection) -> None:
        """Delete the tasks that the server may have created although their callers got an error."""
        if not self._doubtful_creates:
            return
        doubtful = dict(self._doubtful_creates)
        row = {"id": list(doubtful), "seq": list(doubtful.values()), "holder": self.holder}
        await connection.execute(_SQL["undo_creates"], row)
        for id in doubtful:  # noqa: A001 -- the column's name
            self._doubtful_creates.pop(id, None)

    async def close(self) -> None:
        """Commit the waiting writes. Safe to call twice."""
        self._closed = True
        if self._work is not None:
            await self._work

    async def _write_groups(self) -> None:
        while self._waiting:
            group = self._next_group()
            outcomes: list[bool] | BaseException = BackendError()
            try:
                with self._pool.access.writing():
                    outcomes = await self._write(group)
            except BackendError as exc:
                outcomes = exc.__cause__ or exc
            finally:
                _settle(group, outcomes)
            await asyncio.sleep(0)  # callers that were just answered can add a write to the next group

    def _next_group(self) -> list[_Write]:
        """The first write of each task, sorted by task; the others keep waiting, in their order."""
        group: dict[str, _Write] = {}
        later: list[_Write] = []
        for write in self._waiting:
            if len(group) == _MAX_GROUP or write.row["id"] in group:
                later.append(write)
            else:
                group[write.row["id"]] = write
        self._waiting = later
        return [write for _, write in sorted(group.items())]

    async def _write(self, group: Sequence[_Write]) -> list[bool]:
        """Which writes changed a row."""
        try:
            async with asyncio.timeout(DEADLINE_S), self._pool.connection() as connection:
                await self.clear_doubts(connection)
                changed = await self._commit(connection, await self._without_doubts(connection, group))
        except PoolTimeout:
            raise  # nothing was sent
        except BaseException:
            self._doubt(group)
            raise
        for write in group:
            self._doubtful_saves.pop(write.row["id"], None)
        return [write.row["id"] in changed for write in group]

    async def _commit(self, connection: Connection, group: Sequence[_Write]) -> set[str]:
        """Execute a group; the tasks that it changed."""
        kinds: dict[Kind, list[Row]] = {}
        for write in group:
            kinds.setdefault(write.kind, []).append(write.row)
        changed: set[str] = set()
        for kind, rows in kinds.items():
            cursor = await connection.execute(_SQL[kind], {**_columns(rows), "holder": self.holder}, binary=True)
            changed.update(id for (id,) in await cursor.fetchall())  # noqa: A001 -- the column's name
        return changed

    def _doubt(self, group: Sequence[_Write]) -> None:
        for kind, row, _ in group:
            if kind == "create":
                self._doubtful_creates[row["id"]] = row["seq"]
            else:
                self._doubtful_saves.setdefault(row["id"], set()).add(row["seq"])

    async def _without_doubts(self, connection: Connection, group: Sequence[_Write]) -> list[_Write]:
        """The writes; a save expects the kept value where that is from a write of this process that was in doubt."""
        asked = [write.row["id"] for write in group if write.row["id"] in self._doubtful_saves]
        if not asked:
            return list(group)
        cursor = await connection.execute(_SQL["kept_seqs"], {"id": asked})
        kept = {id: seq for id, seq in await cursor.fetchall() if seq in self._doubtful_saves[id]}  # noqa: A001
        return [
            write._replace(row={**write.row, "expect": kept[write.row["id"]], "again": True})
            if write.kind == "save" and write.row["id"] in kept
            else write
            for write in group
        ]


def _columns(rows: Sequence[Row]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def _settle(group: Sequence[_Write], outcomes: list[bool] | BaseException) -> None:
    each: Sequence[bool | BaseException] = outcomes if isinstance(outcomes, list) else [outcomes] * len(group)
    for write, outcome in zip(group, each, strict=True):
        if not write.outcome.done():
            write.outcome.set_result(outcome)
