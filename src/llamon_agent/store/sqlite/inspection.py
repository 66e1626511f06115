"""Reading an SQLite task store for the operator, even while an edge works on it: the file is opened read-only."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from llamon_agent.domain.errors import BackendError, ConfigError
from llamon_agent.domain.task import Task, TaskState
from llamon_agent.runs.inspection import StoreFacts, TaskFilter
from llamon_agent.store.sqlite.writer import Row
from llamon_agent.store.statements import EARLIEST_MS, LATEST_MS, load_migrations, load_statements

_SQL = load_statements("sqlite/inspection.sql")
_NEEDED = len(load_migrations("sqlite/migrations"))

_read_task = msgspec.json.Decoder(Task).decode


class SqliteInspection:
    """An `Inspection` of a file."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path

    @classmethod
    @contextmanager
    def open(cls, path: Path) -> Iterator["SqliteInspection"]:
        """Read the file as long as the block runs. Raises: ConfigError: there is none, or it cannot be read."""
        if not path.is_file():
            raise ConfigError(f"There is no task store at {path}: name the data folder with --data, or a --config.")
        try:
            with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
                connection.execute(_SQL["tables"])
                yield cls(connection, path)
        except sqlite3.Error as exc:
            raise ConfigError(
                f"The task store {path} cannot be read: look at its permissions, and that it is a task store."
            ) from exc

    def latest(self, wanted: TaskFilter, *, limit: int) -> list[Task]:
        return list(self._tasks("latest", {**_filters(wanted), "limit": limit}))

    def every(self, wanted: TaskFilter) -> Iterator[Task]:
        return self._tasks("every", _filters(wanted))

    def count(self, wanted: TaskFilter) -> int:
        self._check()
        return self._one("count", _filters(wanted))

    def find(self, task_id: str) -> Task | None:
        return next(self._tasks("find", {"id": task_id}), None)

    def facts(self) -> StoreFacts:
        version, tables = self._version(), {name for (name,) in self._connection.execute(_SQL["tables"])}
        facts = StoreFacts(
            kind="sqlite", place=str(self._path), schema=version, needed=_NEEDED, size_bytes=self._size()
        )
        if not 0 < version <= _NEEDED:
            return facts
        return msgspec.structs.replace(
            facts,
            states={TaskState(state): count for state, count in self._connection.execute(_SQL["states"])},
            webhooks=self._one("count_webhooks", {}) if "push" in tables else 0,
            keys=self._one("count_keys", {}) if "idempotency" in tables else 0,
        )

    def _check(self) -> None:
        """Raises: ConfigError: the file is not of this version."""
        version = self._version()
        if not version:
            raise ConfigError(f"{self._path} holds no tasks: name another data folder with --data, or a --config.")
        if version > _NEEDED:
            raise ConfigError(f"The task store {self._path} is a newer version's: upgrade llamon-agent.")

    def _size(self) -> int:
        """Of the file and of its write-ahead log."""
        parts = (self._path.with_name(self._path.name + ending) for ending in ("", "-wal"))
        return sum(part.stat().st_size for part in parts if part.exists())

    def _version(self) -> int:
        (version,) = self._connection.execute("pragma user_version").fetchone()
        return int(version)

    def _one(self, statement: str, row: Row) -> int:
        (found,) = self._connection.execute(_SQL[statement], row).fetchone()
        return int(found)

    def _tasks(self, statement: str, row: Row) -> Iterator[Task]:
        self._check()
        try:
            for (body,) in self._connection.execute(_SQL[statement], row):
                yield _read_task(body)
        except msgspec.MsgspecError as exc:
            raise BackendError("The task store holds a task that cannot be read.") from exc


def _filters(wanted: TaskFilter) -> Row:
    return {
        "owner": wanted.owner,
        "agent": wanted.agent,
        "context_id": wanted.context_id,
        "states": msgspec.json.encode(wanted.states).decode() if wanted.states else None,
        "since_ms": EARLIEST_MS if wanted.since_ms is None else wanted.since_ms,
        "before_ms": LATEST_MS if wanted.before_ms is None else wanted.before_ms,
    }
