"""Connections to Postgres, and how each use of them is reported, for the task store and for the threads.

Each connection is tested before it is used, and a broken one is replaced as soon as the server is back. So while a
server restarts, calls fail for a moment, and nothing here has to be restarted.
"""

import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractContextManager, asynccontextmanager
from time import monotonic
from typing import Any

import msgspec
import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import AsyncConnectionPool

from llamon_agent.domain.errors import ConfigError
from llamon_agent.store.outage import Outage
from llamon_agent.store.statements import load_statements

_log = logging.getLogger(__name__)

_FAILURES = (psycopg.Error, OSError)  # TimeoutError is an OSError

_UNREACHED = "it cannot be reached; start it, or check the network"

_WRONG: Mapping[str, str] = {
    "25006": "it takes no writes; see why it is read-only, or give the address of the primary",
    "53100": "its disk is full; make room on it",
    "53300": "it has no connection left; raise its max_connections, or lower data.postgres.pool_max",
    "57014": "it takes too long; see what it is busy with",
    "57P01": _UNREACHED,
    "57P02": _UNREACHED,
    "57P03": _UNREACHED,
}
"""What is wrong and what helps, by SQLSTATE. Source: PostgreSQL, appendix A."""


class PostgresAccess:
    """Around each use of a database. Belongs to one event loop."""

    def __init__(self) -> None:
        self.reads = Outage("the database", "read", _log)
        self.writes = Outage("the database", "written", _log)

    def may_pass(self, error: BaseException) -> bool:
        """Whether the same write may work soon."""
        return what_is_wrong(error) is not None

    def reading(self) -> AbstractContextManager[None]:
        """Around a use that reads. Raises: BackendError, where the database fails."""
        return self.reads.reporting(_FAILURES, what_is_wrong)

    def probing(self) -> AbstractContextManager[None]:
        """Around a probe of the database, which logs nothing. Raises: BackendError."""
        return self.writes.probing(_FAILURES)

    def writing(self) -> AbstractContextManager[None]:
        """Around a use that writes. Raises: BackendError, where the database fails."""
        return self.writes.reporting(_FAILURES, what_is_wrong)


def what_is_wrong(exc: BaseException) -> str | None:
    """What is wrong with a database and what helps; None where that is unknown."""
    if isinstance(exc, TimeoutError):
        return _WRONG["57014"]
    if isinstance(exc, OSError):
        return _UNREACHED
    state = getattr(exc, "sqlstate", None)
    if state is None:  # as after a connection that broke or could not be made
        return _UNREACHED if isinstance(exc, psycopg.OperationalError) else None
    return _WRONG.get(state)


Connection = psycopg.AsyncConnection[tuple[Any, ...]]

CHECKOUT_S = 5.0
"""How long a caller waits for a connection before the server counts as unreachable."""

_RECONNECT_S = 2.0
"""How long the pool itself tries to open a connection. After that the next caller makes it try again, so that a server
that was down for an hour is found as fast as one that was down for a second."""

_OLDEST_VERSION = 13_00_00
_PREPARE_AFTER = 5  # uses of a statement; psycopg's own default

_ISOLATION = "read committed"
"""What the statements are written for: each sees what is committed when it begins, and reads a row again that it had to
wait for."""

_SESSION = (
    "-c statement_timeout=30s -c idle_in_transaction_session_timeout=120s "
    r"-c default_transaction_isolation=read\ committed"
)
"""Limits at which the server ends a statement or a transaction, should this process hang; otherwise this side has its
own limits. And the isolation, whatever the default of the database is."""

_NOT_DURABLE = "-c synchronous_commit=off"

_SQL = load_statements("postgres/schema.sql")


class PoolOptions(msgspec.Struct, frozen=True, kw_only=True):
    """A database, and how to connect to it.

    Shape: without `prepare` a connection keeps neither statements nor settings between transactions, as poolers need
           it; `durable` False lets a commit return before it is on the disk, which is such a setting.
    """

    url: str
    pool_min: int = 2
    pool_max: int = 10
    prepare: bool = True
    durable: bool = True


class Pool(AsyncConnectionPool[Connection]):
    """A pool that tests a connection before it gives it to a caller.

    The library's own check waits a second after each dead connection, and longer after the next. When a server restarts
    all of them are dead, and calls would fail long after it is back. Here all dead ones are dropped at once, and then
    the caller waits for a new one.

    Shape: every use of the database goes through `access`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.access = PostgresAccess()

    async def getconn(self, timeout: float | None = None) -> Connection:  # noqa: ASYNC109 -- the library's name
        ends_s = monotonic() + (self.timeout if timeout is None else timeout)
        while True:
            connection = await super().getconn(max(ends_s - monotonic(), 0))
            try:
                await self.check_connection(connection)
            except BaseException as exc:
                await self.putconn(connection)  # if it is closed, the pool opens another in its place
                if not isinstance(exc, psycopg.Error):
                    raise
            else:
                return connection


@asynccontextmanager
async def open_pool(options: PoolOptions) -> AsyncGenerator[Pool]:
    """Connections to the database, as long as the block runs.

    Raises: ConfigError: the database cannot be used; it says why, as far as that is known.
    """
    try:
        arguments = connection_arguments(options)
        async with await psycopg.AsyncConnection.connect(options.url, **arguments) as connection:
            await _check(connection)
    except (psycopg.Error, OSError) as exc:
        raise ConfigError(why_not(exc)) from exc
    pool = Pool(
        options.url,
        kwargs=arguments,
        min_size=options.pool_min,
        max_size=options.pool_max,
        open=False,
        timeout=CHECKOUT_S,
        reconnect_timeout=_RECONNECT_S,
        name="llamon-agent",
    )
    async with pool:
        yield pool


def connection_arguments(options: PoolOptions) -> dict[str, Any]:
    """What a connection is opened with, besides the address, whose own options win.

    Raises: psycopg.ProgrammingError: the address cannot be read.
    """
    given = conninfo_to_dict(options.url)
    defaults: Mapping[str, Any] = {
        "fallback_application_name": "llamon-agent",
        "connect_timeout": 5,
        "keepalives_idle": 30,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": 20_000,
    }
    arguments = {key: value for key, value in defaults.items() if key not in given}
    if options.prepare:  # poolers refuse settings of a session, or give them to other clients
        session = _SESSION if options.durable else f"{_SESSION} {_NOT_DURABLE}"
        arguments["options"] = f"{session} {given.get('options') or ''}".strip()
    return arguments | {"autocommit": True, "prepare_threshold": _PREPARE_AFTER if options.prepare else None}


async def _check(connection: Connection) -> None:
    """Raises: ConfigError: the database cannot hold tasks."""
    cursor = await connection.execute(_SQL["facts"])
    found = await cursor.fetchone()
    assert found is not None
    encoding, read_only, version, isolation = found
    if version < _OLDEST_VERSION:
        raise ConfigError("data.postgres: the server is too old: upgrade it to Postgres 13 or newer.")
    if encoding != "UTF8":
        raise ConfigError(
            f"data.postgres: the database's encoding is {encoding}, which cannot keep every text: "
            "create one with encoding UTF8."
        )
    if isolation != _ISOLATION:
        raise ConfigError(
            f"data.postgres: the database's default_transaction_isolation is {isolation}: "
            f"set it to {_ISOLATION} for this user."
        )
    if read_only == "on":
        raise ConfigError(
            "data.postgres: the server takes no writes, as a standby does not: give the address of the primary."
        )


_REASONS: Mapping[str, str] = {
    "password": "the server wants another password: correct it in data.postgres.url, or in LLAMON_DATA__POSTGRES__URL.",
    "database": "the server has no such database: create it (createdb NAME), or correct its name in data.postgres.url.",
    "role": "the server has no such user: create it (createuser NAME), or correct its name in data.postgres.url.",
    "pg_hba": "the server takes no such connection from here: allow it in pg_hba.conf, or correct data.postgres.url.",
    "too many": "the server has no connection left: raise its max_connections, or lower pool_max on all edges.",
    "unsupported startup parameter": "a pooler refuses the session's settings: set data.postgres.prepare to false.",
}
"""Words in a server's English messages, and what they mean. libpq gives no codes of a failed connection."""


def why_not(exc: psycopg.Error | OSError) -> str:
    """Why the database cannot be used, and what helps."""
    if isinstance(exc, psycopg.errors.InsufficientPrivilege):
        return (
            "data.postgres: this user may not make or use tables there: "
            "grant it create on the schema, or make it the database's owner."
        )
    if isinstance(exc, psycopg.Error) and exc.sqlstate:
        return (
            f"data.postgres: the server refuses what is asked of it (SQLSTATE {exc.sqlstate}); its own log says more."
        )
    if isinstance(exc, psycopg.ProgrammingError):
        return "data.postgres.url: cannot be read as a Postgres address; %-encode what is special in its password."
    _, _, said = str(exc).partition("FATAL: ")  # the server's message; before it come names from the address
    said = said or ("password" if "no password supplied" in str(exc) else "")
    reason = next((reason for word, reason in _REASONS.items() if word in said), None)
    return "data.postgres: " + (
        reason or "the server cannot be reached: start it, or correct host and port in data.postgres.url."
    )
