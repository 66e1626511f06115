"""Reading the tasks of a Postgres database for the operator, even while edges work on them: transactions only read."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from llamon_agent.domain.errors import ConfigError
from llamon_agent.domain.task import Task, TaskState
from llamon_agent.runs.inspection import StoreFacts, TaskFilter
from llamon_agent.store.postgres.pool import PoolOptions, connection_arguments, why_not
from llamon_agent.store.postgres.rows import Row, kept_text
from llamon_agent.store.records import task_in
from llamon_agent.store.statements import EARLIEST_MS, LATEST_MS, load_migrations, load_statements

_SQL = {**load_statements("postgres/inspection.sql"), **load_statements("postgres/schema.sql")}
_NEEDED = len(load_migrations("postgres/migrations"))

_FETCH_SIZE = 100
"""How many tasks are fetched at a time when all are read."""

Connection = psycopg.Connection[tuple[Any, ...]]


class PostgresInspection:
    """An `Inspection` of a database."""

    def __init__(self, connection: Connection, place: str) -> None:
        self._connection = connection
        self._place = place

    @classmethod
    @contextmanager
    def open(cls, options: PoolOptions) -> Iterator["PostgresInspection"]:
        """Read the database as long as the block runs. Raises: ConfigError: it cannot be used."""
        try:
            with psycopg.connect(options.url, **connection_arguments(options)) as connection:
                connection.read_only = True
                yield cls(connection, place_of(options.url))
        except psycopg.Error as exc:
            raise ConfigError(why_not(exc)) from exc

    def latest(self, wanted: TaskFilter, *, limit: int) -> list[Task]:
        return [task_in(body) for (body,) in self._rows("latest", {**_filters(wanted), "limit": limit})]

    def every(self, wanted: TaskFilter) -> Iterator[Task]:
        self._check()
        with self._connection.transaction(), self._connection.cursor("every", binary=True) as cursor:
            cursor.itersize = _FETCH_SIZE
            cursor.execute(_SQL["every"], _filters(wanted))
            for (body,) in cursor:
                yield task_in(body)

    def count(self, wanted: TaskFilter) -> int:
        return int(self._rows("count", _filters(wanted))[0][0])

    def find(self, task_id: str) -> Task | None:
        found = self._rows("find", {"id": kept_text(task_id)})
        return task_in(found[0][0]) if found else None

    def facts(self) -> StoreFacts:
        version = self._version()
        if not 0 < version <= _NEEDED:
            return StoreFacts(kind="postgres", place=self._place, schema=version, needed=_NEEDED)
        return StoreFacts(
            kind="postgres",
            place=self._place,
            schema=version,
            needed=_NEEDED,
            size_bytes=self._one("size_bytes"),
            states={TaskState(state): count for state, count in self._rows("states", {})},
            webhooks=self._one("count_webhooks"),
            keys=self._one("count_keys"),
        )

    def _version(self) -> int:
        return self._one("version") if self._one("has_versions") else 0

    def _check(self) -> None:
        """Raises: ConfigError: the database is not of this version."""
        version = self._version()
        if not version:
            raise ConfigError("data.postgres: the database holds no tasks: llamon db migrate makes their tables.")
        if version > _NEEDED:
            raise ConfigError("data.postgres: the database is a newer version's: upgrade llamon-agent.")

    def _rows(self, statement: str, row: Row) -> list[tuple[Any, ...]]:
        self._check()
        return self._fetch(statement, row)

    def _one(self, statement: str) -> int:
        return int(self._fetch(statement, {})[0][0])

    def _fetch(self, statement: str, row: Row) -> list[tuple[Any, ...]]:
        with self._connection.transaction():
            return self._connection.execute(_SQL[statement], row, binary=True).fetchall()


def place_of(url: str) -> str:
    """The database and its server, without user and password."""
    given = conninfo_to_dict(url)
    return f"{given.get('dbname') or 'its default database'} at {given.get('host') or 'this machine'}"


def _filters(wanted: TaskFilter) -> Row:
    return {
        "owner": _kept(wanted.owner),
        "agent": _kept(wanted.agent),
        "context_id": _kept(wanted.context_id),
        "states": [state.value for state in wanted.states] or None,
        "since_ms": EARLIEST_MS if wanted.since_ms is None else wanted.since_ms,
        "before_ms": LATEST_MS if wanted.before_ms is None else wanted.before_ms,
    }


def _kept(text: str | None) -> str | None:
    return None if text is None else kept_text(text)
