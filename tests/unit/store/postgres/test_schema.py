"""The schema is changed once, by one process at a time, or not at all."""

import asyncio

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from tests.postgres_server import LOCKED, PASSWORD, PostgresServer

from llamon_agent.domain.errors import ConfigError
from llamon_agent.store.postgres import schema as postgres_schema
from llamon_agent.store.postgres.pool import PoolOptions, open_pool
from llamon_agent.store.postgres.schema import SchemaVersion, migrate, schema_lock, schema_version
from llamon_agent.store.statements import load_migrations

LATEST = len(load_migrations("postgres/migrations"))


def name_of(url: str) -> str:
    return str(conninfo_to_dict(url)["dbname"])


async def test_asking_for_the_version_changes_nothing(database_url: str) -> None:
    async with open_pool(PoolOptions(url=database_url)) as pool:
        assert await schema_version(pool) == SchemaVersion(found=0, needed=LATEST)
        assert await schema_version(pool) == SchemaVersion(found=0, needed=LATEST)


async def test_an_empty_database_is_brought_to_this_version_once(database_url: str) -> None:
    async with open_pool(PoolOptions(url=database_url)) as pool:
        assert await migrate(pool) == SchemaVersion(found=0, needed=LATEST)
        assert await migrate(pool) == SchemaVersion(found=LATEST, needed=LATEST)
        assert await schema_version(pool) == SchemaVersion(found=LATEST, needed=LATEST)


async def test_several_processes_that_start_at_once_change_it_once(postgres: PostgresServer, database_url: str) -> None:
    async def start() -> SchemaVersion:
        async with open_pool(PoolOptions(url=database_url, pool_min=1)) as pool:
            return await migrate(pool)

    async with asyncio.timeout(20):
        found = await asyncio.gather(*(start() for _ in range(5)))
    assert sorted(version.found for version in found) == [0, *[LATEST] * 4]
    rows = postgres.execute(sql.SQL("select version from llamon_schema"), name_of(database_url))
    assert rows == [(version,) for version in range(1, LATEST + 1)]


async def test_a_newer_versions_schema_is_refused_and_left_alone(postgres: PostgresServer, database_url: str) -> None:
    name = name_of(database_url)
    postgres.execute(
        sql.SQL("create table llamon_schema (version integer primary key, at timestamptz default now())"), name
    )
    postgres.execute(sql.SQL("insert into llamon_schema (version) values (999)"), name)
    async with open_pool(PoolOptions(url=database_url)) as pool:
        with pytest.raises(ConfigError, match="a newer version's: upgrade llamon-agent"):
            await migrate(pool)
        assert (await schema_version(pool)).found == 999
    assert postgres.execute(sql.SQL("select to_regclass('llamon_task')"), name) == [(None,)]


async def test_a_migration_that_fails_changes_nothing(
    postgres: PostgresServer, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = (*load_migrations("postgres/migrations"), "create table llamon_task (x int)")
    monkeypatch.setattr(postgres_schema, "_MIGRATIONS", steps)
    async with open_pool(PoolOptions(url=database_url)) as pool:
        with pytest.raises(ConfigError, match="SQLSTATE 42P07"):
            await migrate(pool)
    assert postgres.execute(sql.SQL("select to_regclass('llamon_task')"), name_of(database_url)) == [(None,)]


async def test_a_user_without_the_right_to_make_tables_learns_what_to_grant(
    postgres: PostgresServer, database_url: str
) -> None:
    url = postgres.url(name_of(database_url), user=LOCKED, password=PASSWORD)
    async with open_pool(PoolOptions(url=url)) as pool:
        with pytest.raises(ConfigError, match="grant it create on the schema"):
            await migrate(pool)


async def test_a_process_that_waits_for_the_lock_delays_no_other(database_url: str) -> None:
    # LangGraph makes its indexes concurrently, for which Postgres waits until every older snapshot is gone.
    async with open_pool(PoolOptions(url=database_url)) as pool, asyncio.timeout(10):
        async with schema_lock(pool):
            waiting = asyncio.create_task(migrate(pool))
            async with pool.connection() as connection:
                await connection.execute("create table other (x int)")
                await connection.execute("create index concurrently other_x on other (x)")
            assert not waiting.done()
        await waiting


async def test_a_process_that_waits_too_long_for_the_lock_gets_an_error(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_schema, "_LOCK_S", 0.2)
    async with open_pool(PoolOptions(url=database_url)) as pool, schema_lock(pool):
        with pytest.raises(ConfigError, match="another process is changing the schema"):
            await migrate(pool)


async def test_an_error_releases_the_lock(database_url: str) -> None:
    async with open_pool(PoolOptions(url=database_url)) as pool, asyncio.timeout(5):
        with pytest.raises(psycopg.errors.UndefinedTable):
            async with schema_lock(pool) as connection:
                await connection.execute("select * from nothing")
        async with schema_lock(pool):
            pass


async def test_a_server_that_is_down_has_no_version(database_url: str) -> None:
    async with open_pool(PoolOptions(url=database_url)) as pool:
        await pool.close()
        with pytest.raises(ConfigError, match="cannot be reached"):
            await schema_version(pool)
