"""The schema in Postgres. One process migrates it, however many start at the same time."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import msgspec
import psycopg

from llamon_agent.domain.errors import ConfigError
from llamon_agent.store.postgres.pool import Connection, Pool, why_not
from llamon_agent.store.statements import load_migrations, load_statements

_SQL = load_statements("postgres/schema.sql")
_MIGRATIONS = load_migrations("postgres/migrations")

_LOCK_S = 120.0
_RETRY_S = 0.05


class SchemaVersion(msgspec.Struct, frozen=True):
    """Which version of the schema a database has, 0 for none, and which one this program needs."""

    found: int
    needed: int


async def schema_version(pool: Pool) -> SchemaVersion:
    """Read the version; nothing is changed. Raises: ConfigError."""
    try:
        async with pool.connection() as connection:
            found = await _version(connection) if await _one(connection, "has_versions") else 0
    except psycopg.Error as exc:
        raise ConfigError(why_not(exc)) from exc
    return SchemaVersion(found, len(_MIGRATIONS))


async def migrate(pool: Pool) -> SchemaVersion:
    """Bring the schema to this version, in all steps or none; returns what was found.

    Raises: ConfigError: it is a newer version's, or this user may not change it.
    """
    try:
        async with schema_lock(pool) as connection:
            return await _migrate(connection)
    except psycopg.Error as exc:
        raise ConfigError(why_not(exc)) from exc


@asynccontextmanager
async def schema_lock(pool: Pool) -> AsyncGenerator[Connection]:
    """While the block runs, no other process changes the schema. The connection is in a transaction that ends with the
    block.

    Raises: ConfigError: another process takes too long.
    """
    ends_s = asyncio.get_running_loop().time() + _LOCK_S
    while asyncio.get_running_loop().time() < ends_s:
        async with pool.connection() as connection, connection.transaction():
            if await _one(connection, "take_turn"):
                yield connection
                return
        await asyncio.sleep(_RETRY_S)
    raise ConfigError("data.postgres: another process is changing the schema: start this one when it is done.")


async def _migrate(connection: Connection) -> SchemaVersion:
    await connection.execute(_SQL["no_time_limit"])
    await connection.execute(_SQL["make_versions"])
    found = SchemaVersion(await _version(connection), len(_MIGRATIONS))
    if found.found > found.needed:
        raise ConfigError(
            "data.postgres: the database is a newer version's: upgrade llamon-agent, or give another database."
        )
    for number, script in enumerate(_MIGRATIONS[found.found :], found.found + 1):
        await connection.execute(script)
        await connection.execute(_SQL["add_version"], {"version": number})
    return found


async def _version(connection: Connection) -> int:
    return int(await _one(connection, "version"))


async def _one(connection: Connection, statement: str) -> int:
    """The one value of a statement. It is not prepared: see `take_turn`."""
    found = await (await connection.execute(_SQL[statement], prepare=False)).fetchone()
    assert found is not None
    return int(found[0])
