"""What holds for all tests."""

import asyncio
from collections.abc import Iterator

import pytest
from hypothesis import settings
from tests.postgres_server import PostgresServer, running_postgres

from llamon_agent.store.postgres.pool import PoolOptions, open_pool
from llamon_agent.store.postgres.schema import migrate

# No deadlines: a slow machine is no wrong answer. No database: a failure is a case to write down as a test.
settings.register_profile("llamon", deadline=None, database=None)
settings.load_profile("llamon")


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A real Postgres, started for the first test that asks for it."""
    with running_postgres() as server:
        yield server


@pytest.fixture
def database_url(postgres: PostgresServer) -> Iterator[str]:
    """The address of an empty database for one test."""
    name = postgres.make_database()
    yield postgres.url(name)
    postgres.drop_database(name)


@pytest.fixture(scope="session")
def _template(postgres: PostgresServer) -> str:
    """A database with the schema that stores keep: making others from it is faster than making each one's schema."""
    name = postgres.make_database()

    async def migrated() -> None:
        async with open_pool(PoolOptions(url=postgres.url(name), pool_min=1)) as pool:
            await migrate(pool)

    asyncio.run(migrated())
    return name


@pytest.fixture(scope="session")
def _shared(postgres: PostgresServer, _template: str) -> str:
    """The database that one test after the other has."""
    return postgres.make_database(_template)


@pytest.fixture
def store_url(postgres: PostgresServer, _shared: str) -> str:
    """The address of a database with the schema of a store and nothing in it. It is the last test's, emptied, which is
    faster than a new one; a test that changes the schema asks for its `own_store_url`.
    """
    postgres.empty_database(_shared)
    return postgres.url(_shared)


@pytest.fixture
def own_store_url(postgres: PostgresServer, _template: str) -> Iterator[str]:
    """The address of such a database, for one test."""
    name = postgres.make_database(_template)
    yield postgres.url(name)
    postgres.drop_database(name)
