"""Connections to a real Postgres, and to where there is none."""

import asyncio
import logging

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import PoolTimeout
from tests.postgres_server import LOCKED, PASSWORD, PostgresServer

from llamon_agent.domain.errors import BackendError, ConfigError
from llamon_agent.store.postgres import pool as postgres_pool
from llamon_agent.store.postgres.pool import (
    PoolOptions,
    PostgresAccess,
    connection_arguments,
    open_pool,
    what_is_wrong,
    why_not,
)

TERMINATE_OTHERS = sql.SQL(
    "select count(pg_terminate_backend(pid, 5000)) from pg_stat_activity"
    " where datname = current_database() and pid <> pg_backend_pid()"
)


def name_of(url: str) -> str:
    return str(conninfo_to_dict(url)["dbname"])


async def setting(url: str, name: str, **options: bool) -> str:
    async with open_pool(PoolOptions(url=url, pool_min=1, **options)) as pool, pool.connection() as connection:
        found = await (await connection.execute("select current_setting(%s)", (name,))).fetchone()
        assert found is not None
        return str(found[0])


async def refused(url: str) -> str:
    with pytest.raises(ConfigError) as raised:
        async with open_pool(PoolOptions(url=url)):
            pass
    assert PASSWORD not in raised.value.public
    return raised.value.public


async def test_the_server_knows_us_by_name_unless_the_address_gives_another(database_url: str) -> None:
    assert await setting(database_url, "application_name") == "llamon-agent"
    assert await setting(f"{database_url}&application_name=mine", "application_name") == "mine"


async def test_no_statement_runs_for_ever(database_url: str) -> None:
    assert await setting(database_url, "statement_timeout") == "30s"
    assert await setting(f"{database_url}&options=-cstatement_timeout%3D7s", "statement_timeout") == "7s"


async def test_a_pooler_is_sent_no_settings(database_url: str) -> None:
    assert await setting(database_url, "statement_timeout", prepare=False) == "0"
    arguments = connection_arguments(PoolOptions(url=database_url, prepare=False, durable=False))
    assert arguments["prepare_threshold"] is None
    assert "options" not in arguments


@pytest.mark.parametrize(("durable", "expected"), [(True, "on"), (False, "off")])
async def test_what_need_not_be_durable_is_not_waited_for(database_url: str, durable: bool, expected: str) -> None:
    assert await setting(database_url, "synchronous_commit", durable=durable) == expected


def test_what_the_address_says_of_connections_is_not_overridden() -> None:
    url = "postgresql://h/x?connect_timeout=1&keepalives_idle=2"
    assert not {"connect_timeout", "keepalives_idle"} & connection_arguments(PoolOptions(url=url)).keys()


async def test_a_wrong_password_is_reported(postgres: PostgresServer) -> None:
    assert "wants another password" in await refused(postgres.url(user=LOCKED, password="wrong"))
    assert "wants another password" in await refused(postgres.url(user=LOCKED))


async def test_a_user_with_the_right_password_is_let_in(postgres: PostgresServer) -> None:
    assert await setting(postgres.url(user=LOCKED, password=PASSWORD), "server_encoding") == "UTF8"


async def test_an_unknown_database_or_user_is_reported(postgres: PostgresServer) -> None:
    assert "no such database: create it" in await refused(postgres.url("nowhere"))
    assert "no such user: create it" in await refused(postgres.url(user="nobody-knows"))


@pytest.mark.parametrize("url", ["postgresql://u:p@127.0.0.1:1/x", "postgresql:///x?host=/nowhere"])
async def test_a_missing_server_is_reported(url: str) -> None:
    assert "cannot be reached: start it, or correct host and port" in await refused(url)


async def test_an_address_that_cannot_be_read_is_reported(database_url: str) -> None:
    assert "cannot be read as a Postgres address" in await refused(f"{database_url}&nonsense=1")
    assert "cannot be read as a Postgres address" in await refused(f"postgresql://u:{PASSWORD} x@h/x")


async def test_a_database_that_cannot_keep_every_text_is_refused(postgres: PostgresServer) -> None:
    postgres.execute(sql.SQL("create database latin template template0 encoding 'LATIN1' locale 'C'"))
    assert "encoding is LATIN1" in await refused(postgres.url("latin"))
    postgres.drop_database("latin")


async def test_a_server_that_takes_no_writes_is_refused(postgres: PostgresServer, database_url: str) -> None:
    name = sql.Identifier(name_of(database_url))
    postgres.execute(sql.SQL("alter database {} set default_transaction_read_only = on").format(name))
    assert "takes no writes" in await refused(database_url)


async def test_the_databases_isolation_is_not_ours(postgres: PostgresServer, database_url: str) -> None:
    name = sql.Identifier(name_of(database_url))
    postgres.execute(sql.SQL("alter database {} set default_transaction_isolation = 'serializable'").format(name))
    assert await setting(database_url, "transaction_isolation") == "read committed"
    with pytest.raises(ConfigError, match="default_transaction_isolation is serializable"):  # a pooler is sent nothing
        await setting(database_url, "transaction_isolation", prepare=False)


async def test_a_server_that_is_too_old_is_refused(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_pool, "_OLDEST_VERSION", 99_00_00)
    assert "upgrade it to Postgres" in await refused(database_url)


@pytest.mark.parametrize(
    ("exc", "told"),
    [
        (psycopg.OperationalError("FATAL:  no pg_hba.conf entry for host"), "allow it in pg_hba.conf"),
        (psycopg.OperationalError("FATAL:  sorry, too many clients already"), "no connection left"),
        (psycopg.OperationalError("FATAL:  unsupported startup parameter: options"), "prepare to false"),
        (psycopg.OperationalError("FATAL:  Passwort-Authentifizierung fehlgeschlagen"), "cannot be reached"),
        (psycopg.errors.InsufficientPrivilege(), "grant it create on the schema"),
        (psycopg.errors.DiskFull(), "SQLSTATE 53100"),
        (OSError("my secret"), "cannot be reached"),
    ],
)
def test_every_reason_comes_with_its_remedy(exc: psycopg.Error | OSError, told: str) -> None:
    assert told in why_not(exc)


def test_a_password_in_the_address_is_no_reason() -> None:
    exc = psycopg.OperationalError('connection to server at "database-password" failed: Connection refused')
    assert "cannot be reached" in why_not(exc)


async def test_connections_that_died_are_dropped_at_once(postgres: PostgresServer, database_url: str) -> None:
    async with open_pool(PoolOptions(url=database_url, pool_min=6)) as pool, asyncio.timeout(5):
        await pool.wait()
        assert postgres.execute(TERMINATE_OTHERS, name_of(database_url)) == [(6,)]
        started_s = asyncio.get_running_loop().time()
        async with pool.connection() as connection:
            await connection.execute("select 1")
        assert asyncio.get_running_loop().time() - started_s < 0.9  # the pool's own check would have waited a second


async def test_a_server_that_was_killed_is_found_again(
    postgres: PostgresServer, database_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(postgres_pool, "CHECKOUT_S", 0.1)
    monkeypatch.setattr(postgres_pool, "_RECONNECT_S", 0.1)
    caplog.set_level(logging.CRITICAL, "psycopg.pool")
    async with open_pool(PoolOptions(url=database_url)) as pool:
        postgres.kill()
        try:
            for _ in range(3):
                with pytest.raises(PoolTimeout):
                    await pool.getconn()
        finally:
            postgres.start()
        async with asyncio.timeout(5), pool.connection(5) as connection:
            await connection.execute("select 1")


async def test_a_caller_that_gets_no_connection_gets_an_error_in_time(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_pool, "CHECKOUT_S", 0.1)
    async with open_pool(PoolOptions(url=database_url, pool_min=1, pool_max=1)) as pool, pool.connection():
        with pytest.raises(PoolTimeout):
            await pool.getconn()


async def test_a_caller_cancelled_while_a_connection_is_tested_returns_it(database_url: str) -> None:
    async with open_pool(PoolOptions(url=database_url, pool_min=1, pool_max=1)) as pool, asyncio.timeout(5):
        for turns in range(12):
            waiting = asyncio.create_task(pool.getconn())
            for _ in range(turns):
                await asyncio.sleep(0)
            waiting.cancel()
            outcome = (await asyncio.gather(waiting, return_exceptions=True))[0]
            if isinstance(outcome, psycopg.AsyncConnection):
                await pool.putconn(outcome)
        async with pool.connection() as connection:
            await connection.execute("select 1")


@pytest.mark.parametrize(
    ("failure", "helps"),
    [
        (psycopg.OperationalError("the connection is lost"), "start it"),
        (PoolTimeout("no connection in time"), "start it"),
        (ConnectionRefusedError(), "start it"),
        (psycopg.errors.AdminShutdown(), "start it"),
        (psycopg.errors.CannotConnectNow(), "start it"),
        (psycopg.errors.ReadOnlySqlTransaction(), "the address of the primary"),
        (psycopg.errors.DiskFull(), "make room on it"),
        (psycopg.errors.TooManyConnections(), "raise its max_connections"),
        (psycopg.errors.QueryCanceled(), "see what it is busy with"),
        (TimeoutError(), "see what it is busy with"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_a_failure_is_reported_once_with_the_remedy(
    failure: Exception, helps: str, caplog: pytest.LogCaptureFixture
) -> None:
    access = PostgresAccess()
    for _ in range(2):
        with pytest.raises(BackendError) as raised, access.writing():
            raise failure
        assert (raised.value.public, raised.value.__cause__) == (BackendError.public, failure)
    (told,) = caplog.messages
    assert told.startswith("the database cannot be written: ")
    assert helps in told


def test_an_unknown_failure_is_logged_with_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    failure = psycopg.errors.UndefinedTable()
    assert what_is_wrong(failure) is None
    assert what_is_wrong(psycopg.ProgrammingError("no statement")) is None
    for _ in range(2):
        with pytest.raises(BackendError), PostgresAccess().reading():
            raise failure
    assert [record.exc_info and record.exc_info[1] for record in caplog.records] == [failure] * 2


def test_what_is_no_failure_of_the_database_is_left_alone() -> None:
    with pytest.raises(KeyError), PostgresAccess().reading():
        raise KeyError


@pytest.mark.parametrize(
    ("error", "may_pass"),
    [
        (psycopg.OperationalError("the server closed the connection"), True),
        (PoolTimeout("no connection"), True),
        (psycopg.errors.ReadOnlySqlTransaction(), True),
        (psycopg.errors.DiskFull(), True),
        (psycopg.errors.UndefinedTable(), False),
        (psycopg.errors.UniqueViolation(), False),
    ],
)
def test_an_unreachable_full_or_read_only_server_may_pass_and_a_refusal_does_not(
    error: psycopg.Error, may_pass: bool
) -> None:
    assert PostgresAccess().may_pass(error) is may_pass
