"""Tasks in one SQLite file: the embedded default.

The file is in WAL mode, so reads continue while a group of writes is committed: reading and writing each have a
connection and a thread. The file must be on a local disk, as WAL needs shared memory, and one process owns it (see
`own_folder`). Still, several processes could not break a task, because each statement compares and sets.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from llamon_agent.domain.errors import BackendError, CannotBeKept, ConfigError, Conflict
from llamon_agent.domain.ids import random_id
from llamon_agent.domain.task import PushConfig, Task, TaskPage, TaskPushConfig, TaskQuery
from llamon_agent.private_files import make_private_file
from llamon_agent.runs.ports.agent import Turn
from llamon_agent.runs.ports.store import Abandoned, IdempotencyKey, Pruned, Remembered
from llamon_agent.store.records import body_of, checked_names
from llamon_agent.store.sqlite import upkeep as sqlite_upkeep
from llamon_agent.store.sqlite.file import SqliteFile, what_is_wrong
from llamon_agent.store.sqlite.writer import GroupCommitWriter, Row
from llamon_agent.store.statements import (
    EARLIEST_MS,
    FIRST_STATE,
    LAST_STATE,
    LATEST_MS,
    load_migrations,
    load_statements,
)

Durability = Literal["full", "normal"]
"""What a returned write survives.

full:   also a power loss: each group of writes is synced to the disk before its callers are answered.
normal: the end of this process, kill -9 included, but not a power loss or a crash of the machine. These may lose the
        last writes, but never the consistency of the file: the operating system decides when writes reach the disk.
Source: SQLite, PRAGMA synchronous, for WAL mode.
"""

_SQL = {**load_statements("sqlite/task.sql"), **load_statements("sqlite/push.sql")}
_MIGRATIONS = load_migrations("sqlite/migrations")

# JSON and not MessagePack: it has no integers beyond 64 bits, and people can read JSON with the sqlite3 shell.
_read_task = msgspec.json.Decoder(Task).decode
_read_config = msgspec.json.Decoder(PushConfig).decode

_log = logging.getLogger(__name__)
_T = TypeVar("_T")


class SqliteTaskStore:
    """A `TaskStore` and `PushStore` in a file. Belongs to one event loop."""

    is_durable = True

    def __init__(self, file: SqliteFile, writing: sqlite3.Connection, reading: sqlite3.Connection) -> None:
        self._holder = random_id()
        self._is_known = False
        self._file = file
        self._writer = GroupCommitWriter(writing, file)
        self._reading = reading
        self._reader = ThreadPoolExecutor(max_workers=1, thread_name_prefix="llamon-store-reader")
        self._closed = False

    @classmethod
    def open(cls, path: str | Path, *, durability: Durability = "full") -> "SqliteTaskStore":
        """Open the file; make it or migrate it where needed. Blocks: call it before serving.

        A process that had it open before is dead, as one process owns the file: its runs can be taken over at once.

        Raises: ConfigError: the file cannot be opened or written, is no task store, or is a newer version's.
        """
        with ExitStack() as opened:
            try:
                make_private_file(Path(path))
                writing = opened.enter_context(closing(_connect(path)))
                writing.execute(f"pragma synchronous = {durability}")
                _migrate(writing, path)
                writing.execute(sqlite_upkeep.SQL["end_all"])
                reading = opened.enter_context(closing(_connect(path)))
                reading.execute("pragma query_only = true")
            except sqlite3.Error as exc:
                raise ConfigError(_why_not(path, exc)) from exc
            opened.pop_all()
        return cls(SqliteFile(path, "the task store"), writing, reading)

    @property
    def holder(self) -> str:
        return self._holder

    async def reached(self) -> None:
        if self._closed:
            raise BackendError()
        with self._file.probing():
            await asyncio.get_running_loop().run_in_executor(self._reader, self._look)

    async def create(self, task: Task, *, turn: Turn | None = None, key: IdempotencyKey | None = None) -> None:
        row = {**self._columns(task, turn), "owner": task.owner, "agent": task.agent, "context_id": task.context_id}
        await self._write(_SQL["create"], row, task, key)

    async def save(
        self, task: Task, *, expect: int, turn: Turn | None = None, key: IdempotencyKey | None = None
    ) -> None:
        row = {**self._columns(task, turn), "expect": expect}
        kind = "save_settled" if task.is_settled else "save" if turn is None else "save_begun"
        await self._write(_SQL[kind], row, task, key)

    async def get(self, owner: str, agent: str, task_id: str) -> Task | None:
        row = {"owner": owner, "agent": agent, "id": task_id}
        return await self._read(lambda: _first(self._reading, "get", row))

    async def list(self, query: TaskQuery) -> TaskPage:
        return await self._read(lambda: _list(self._reading, query))

    async def paused_in(self, owner: str, agent: str, context_id: str) -> Task | None:
        row = {"owner": owner, "agent": agent, "context_id": context_id}
        return await self._read(lambda: _first(self._reading, "paused_in", row))

    async def find_key(self, owner: str, agent: str, key: str) -> Remembered | None:
        return await self._read(lambda: sqlite_upkeep.find_key(self._reading, owner, agent, key))

    async def renew(self, *, until_ms: int) -> bool:
        holder, is_first, successor = self._holder, not self._is_known, random_id()
        if is_first:
            successor = holder  # a holder that is unknown cannot have been ended
        lives = await self._writer.work(
            lambda connection: sqlite_upkeep.renew(connection, holder, until_ms, successor=successor)
        )
        self._is_known = True
        if not lives:
            self._holder = successor
        return lives or is_first

    async def release_holder(self) -> None:
        await self._writer.write(sqlite_upkeep.SQL["release_holder"], {"holder": self._holder})

    async def take_over(self, *, now_ms: int, limit: int, task_id: str | None = None) -> tuple[Abandoned, ...]:
        holder = self._holder
        checked_names(task_id)
        return await self._writer.work(
            lambda connection: sqlite_upkeep.take_over(connection, holder, now_ms=now_ms, limit=limit, task_id=task_id)
        )

    async def held(self, *, excluding: Collection[str], limit: int) -> tuple[Task, ...]:
        holder = self._holder
        return await self._read(lambda: sqlite_upkeep.held(self._reading, holder, excluding=excluding, limit=limit))

    async def paused_before(self, *, before_ms: int, limit: int) -> tuple[Task, ...]:
        return await self._read(lambda: sqlite_upkeep.paused_before(self._reading, before_ms=before_ms, limit=limit))

    async def prune(self, *, before_ms: int, limit: int) -> Pruned:
        return await self._writer.work(
            lambda connection: sqlite_upkeep.prune(connection, before_ms=before_ms, limit=limit)
        )

    async def forget_keys(self, *, before_ms: int, limit: int) -> int:
        return await self._writer.work(
            lambda connection: sqlite_upkeep.forget_keys(connection, before_ms=before_ms, limit=limit)
        )

    async def put_push(self, push: TaskPushConfig) -> None:
        row = {"task_id": push.task_id, "id": push.config.id, "owner": push.owner, "agent": push.agent}
        checked_names(*row.values())
        await self._writer.write(_SQL["put_push"], {**row, "told_seq": push.told_seq, "body": body_of(push.config)})

    async def list_push(self, owner: str, agent: str, task_id: str) -> tuple[TaskPushConfig, ...]:
        row = {"owner": owner, "agent": agent, "task_id": task_id}
        return await self._read(lambda: _pushes(self._reading, "list_push", row))

    async def delete_push(self, owner: str, agent: str, task_id: str, config_id: str) -> None:
        row = {"owner": owner, "agent": agent, "task_id": task_id, "id": config_id}
        checked_names(*row.values())
        await self._writer.write(_SQL["delete_push"], row)

    async def mark_delivered(self, task_id: str, config_id: str, seq: int) -> None:
        checked_names(task_id, config_id)
        await self._writer.write(_SQL["mark_delivered"], {"task_id": task_id, "id": config_id, "seq": seq})

    async def undelivered(self) -> tuple[TaskPushConfig, ...]:
        return await self._read(lambda: _pushes(self._reading, "undelivered", {}))

    async def close(self) -> None:
        self._closed = True
        await asyncio.to_thread(self._stop_reading)
        await self._writer.close()  # last, so that closing it folds the WAL into the file

    async def _write(self, statement: str, row: Row, task: Task, key: IdempotencyKey | None) -> None:
        if key is None:
            conflict = None if await self._writer.write(statement, row) else Conflict()
        else:
            checked_names(key.value, key.digest)
            conflict = await self._writer.work(
                lambda connection: sqlite_upkeep.write_keyed(connection, statement, row, task, key)
            )
        if conflict is not None:
            raise conflict

    def _columns(self, task: Task, turn: Turn | None) -> dict[str, str | int | bytes | None]:
        """What a write may change, and the id. A settled task has no holder."""
        return {
            "id": task.id,
            "state": task.status.state.value,
            "terminal": task.is_terminal,
            "at_ms": task.status.at_ms,
            "seq": task.seq,
            "body": body_of(task),
            "holder": self._holder,
            "turn": None if turn is None or task.is_settled else body_of(turn),
        }

    def _stop_reading(self) -> None:
        self._reader.shutdown()
        self._reading.close()

    def _look(self) -> None:
        """Raises: sqlite3.Error."""
        self._file.check()
        self._reading.execute(_SQL["reached"]).fetchone()

    async def _read(self, work: Callable[[], _T]) -> _T:
        if self._closed:
            raise BackendError()
        try:
            with self._file.reading():
                return await asyncio.get_running_loop().run_in_executor(self._reader, work)
        except UnicodeEncodeError as exc:  # a name with a lone surrogate, when it is bound
            raise CannotBeKept from exc
        except msgspec.MsgspecError as exc:
            _log.exception("a record of the task store cannot be read")
            raise BackendError() from exc


def _first(connection: sqlite3.Connection, statement: str, row: Row) -> Task | None:
    found = connection.execute(_SQL[statement], row).fetchone()
    return None if found is None else _read_task(found[0])


def _pushes(connection: sqlite3.Connection, statement: str, row: Row) -> tuple[TaskPushConfig, ...]:
    return tuple(
        TaskPushConfig(owner=owner, agent=agent, task_id=task_id, told_seq=told_seq, config=_read_config(body))
        for owner, agent, task_id, told_seq, body in connection.execute(_SQL[statement], row)
    )


def _list(connection: sqlite3.Connection, query: TaskQuery) -> TaskPage:
    row, kind = _filters(query), query.narrowed_by
    connection.execute("begin")  # both queries see the same moment
    try:
        bodies, more = _until_full(connection.execute(_SQL[f"list_{kind}"], row), query)
        (total,) = connection.execute(_SQL["total" if query.is_counted else f"count_{kind}"], row).fetchone()
    finally:
        connection.rollback()
    tasks = tuple(map(_read_task, bodies))
    return TaskPage(tasks=tasks, total=total, more=more, size_bytes=sum(map(len, bodies)))


def _until_full(rows: Iterable[tuple[bytes]], query: TaskQuery) -> tuple[list[bytes], bool]:
    """As many rows as a page holds, and whether there are more. The others are not read."""
    bodies: list[bytes] = []
    size_bytes = 0
    for (body,) in rows:
        if len(bodies) == query.limit or size_bytes >= query.max_bytes:
            return bodies, True
        bodies.append(body)
        size_bytes += len(body)
    return bodies, False


def _filters(query: TaskQuery) -> Row:
    """The query as parameters. A filter that is off becomes one that every row passes."""
    after_ms, after_id = query.after or (LATEST_MS, "")
    return {
        "owner": query.owner,
        "agent": query.agent,
        "context_id": query.context_id or "",
        "changed_since_ms": EARLIEST_MS if query.changed_since_ms is None else query.changed_since_ms,
        "after_ms": after_ms,
        "after_id": after_id,
        "state": query.state,
        "first_state": query.state or FIRST_STATE,
        "last_state": query.state or LAST_STATE,
        "rows": query.limit + 1,  # one more than asked for: it shows whether there are more
    }


def _connect(path: str | Path) -> sqlite3.Connection:
    # Each connection is opened here and then used by one thread only. Transactions are explicit.
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    with ExitStack() as opened:
        opened.callback(connection.close)
        connection.execute("pragma journal_mode = wal")
        opened.pop_all()
    return connection


def _migrate(connection: sqlite3.Connection, path: str | Path) -> None:
    """Bring the schema to this version, each step in its own transaction."""
    (version,) = connection.execute("pragma user_version").fetchone()
    if version > len(_MIGRATIONS):
        raise ConfigError(
            f"The task store {path} is a newer version's: upgrade llamon-agent, or choose another data folder."
        )
    for number, script in enumerate(_MIGRATIONS[version:], version + 1):
        connection.executescript(f"begin immediate; {script}; pragma user_version = {number}; commit")


def _why_not(path: str | Path, exc: sqlite3.Error) -> str:
    wrong = what_is_wrong(exc) or "it is not a task store; put a backup in its place, or move it away"
    return f"The task store {path} cannot be opened or written: {wrong}."
