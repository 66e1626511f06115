"""Connections to Postgres, for whoever keeps something there.

Each is tried before it is handed out, and one that has broken is replaced by another as soon as the server is back. So
a server that restarts is away for a moment, in which callers are told so, and nothing here has to be restarted.
"""

import logging
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from time import monotonic
from typing import Any

import msgspec
import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import AsyncConnectionPool

from llamon_agent.domain.errors import BackendError, ConfigError
from llamon_agent.store.outage import Outage
from llamon_agent.store.statements import load_statements

# MERGED-DOC: Uses of a database by all who keep something there, and what helps where it is away.
_log = logging.getLogger(__name__)

_UNREACHED = "it is not reached; start it, or see to the way there"

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
    """How a database does. Belongs to one event loop."""

    def __init__(self) -> None:
        self.reads = Outage("the database", "read", _log)
        self.writes = Outage("the database", "written", _log)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Around a use that reads. Raises: BackendError, where the database is what fails."""
        with _used(self.reads):
            yield

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Around a look whether it can be used, of which the log hears nothing. Raises: BackendError."""
        if self.writes.is_on:
            raise BackendError()
        try:
            yield
        except (psycopg.Error, OSError) as exc:
            raise BackendError() from exc

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Around a use that writes. Raises: BackendError, where the database is what fails."""
        with _used(self.writes):
            yield


def what_is_wrong(exc: BaseException) -> str | None:
    """What is wrong with a database and what helps; None where that is not known."""
    if isinstance(exc, TimeoutError):
        return _WRONG["57014"]
    if isinstance(exc, OSError):
        return _UNREACHED
    state = getattr(exc, "sqlstate", None)
    if state is None:  # a connection that broke or never came to be has none
        return _UNREACHED if isinstance(exc, psycopg.OperationalError) else None
    return _WRONG.get(state)


@contextmanager
def _used(outage: Outage) -> Iterator[None]:
    try:
        yield
    except (psycopg.Error, OSError) as exc:  # TimeoutError is an OSError
        outage.failed(what_is_wrong(exc), exc)
        raise BackendError() from exc
    outage.over()


Connection = psycopg.AsyncConnection[tuple[Any, ...]]

CHECKOUT_S = 5.0
"""How long a caller waits for a connection, before the server counts as away."""

_RECONNECT_S = 2.0
"""How long the pool itself tries to open one; after that the next caller makes it try anew, so that a server that was
away for an hour is found again as fast as one that was away for a second."""

_OLDEST_VERSION = 13_00_00
_PREPARE_AFTER = 5  # uses of a statement; psycopg's own default

_ISOLATION = "read committed"
"""What the statements are written for: each sees what is there when it begins, and a row that was awaited anew."""

_SESSION = (
    "-c statement_timeout=30s -c idle_in_transaction_session_timeout=120s "
    r"-c default_transaction_isolation=read\ committed"
)
"""What the server ends by itself should this process hang; in time every call is bounded on this side. And the
isolation, whatever the database's own is."""

_NOT_DURABLE = "-c synchronous_commit=off"

_SQL = load_statements("postgres/schema.sql")


class PoolOptions(msgspec.Struct, frozen=True, kw_only=True):
    """A database, and how to talk to it.

    Shape: without `prepare` a connection keeps nothing between transactions, neither statements nor settings, as
           poolers want it; `durable` False lets a commit return before it is on the disk, which is such a setting.
    """

    url: str
    pool_min: int = 2
    pool_max: int = 10
    prepare: bool = True
    durable: bool = True


class Pool(AsyncConnectionPool[Connection]):
    """A pool that tries a connection before it hands it out.

    The library's own check waits a second after each that has died, and longer after the next: when a server restarts
    all of them die, and callers would be refused long after it is back. Here all dead ones are dropped at once, and
    then a new one is awaited.

    Shape: `access` is what every use of the database goes through.
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

    Raises: ConfigError: the database cannot be used; it says why, as far as the server tells.
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
    """What a connection is opened with, beside the address, which may say the same things differently.

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
    if options.prepare:  # poolers refuse settings of a session, or hand them to somebody else
        session = _SESSION if options.durable else f"{_SESSION} {_NOT_DURABLE}"
        arguments["options"] = f"{session} {given.get('options') or ''}".strip()
    return arguments | {"autocommit": True, "prepare_threshold": _PREPARE_AFTER if options.prepare else None}


async def _check(connection: Connection) -> None:
    """Raises: ConfigError: the database is not one that tasks can be kept in."""
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
    "too many": "the server has no connection left: raise its max_connections, or lower pool_max here and elsewhere.",
    "unsupported startup parameter": "a pooler refuses the session's settings: set data.postgres.prepare to false.",
}
"""Words by which a server, in English, says what is wrong. There are no codes: libpq keeps those of a failed connection
to itself."""


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
    _, _, said = str(exc).partition("FATAL: ")  # what the server says; before it stand names from the address
    said = said or ("password" if "no password supplied" in str(exc) else "")
    reason = next((reason for word, reason in _REASONS.items() if word in said), None)
    return "data.postgres: " + (
        reason or "the server cannot be reached: start it, or correct host and port in data.postgres.url."
    )
