"""A database is looked at as it is, whoever works on it, and never written."""

from collections.abc import AsyncIterator

import psycopg
import pytest
from tests.unit.store.inspecting import InspectionContract, Look

from llamon_agent.domain.errors import ConfigError
from llamon_agent.runs.inspection import TaskFilter
from llamon_agent.runs.ports.store import Store
from llamon_agent.store.postgres.inspection import PostgresInspection, place_of
from llamon_agent.store.postgres.pool import PoolOptions, open_pool
from llamon_agent.store.postgres.store import PostgresTaskStore


class TestPostgresInspection(InspectionContract):
    @pytest.fixture
    async def store(self, store_url: str) -> AsyncIterator[Store]:
        async with open_pool(PoolOptions(url=store_url, pool_min=1)) as pool:
            store = await PostgresTaskStore.open(pool)
            yield store
            await store.close()

    @pytest.fixture(params=[True, False], ids=["by itself", "behind a pooler"])
    def look(self, store_url: str, request: pytest.FixtureRequest) -> Look:
        return lambda: PostgresInspection.open(PoolOptions(url=store_url, prepare=request.param))


def test_a_look_cannot_write(store_url: str) -> None:
    with PostgresInspection.open(PoolOptions(url=store_url)) as stored:
        stored.count(TaskFilter())
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction), stored._connection.transaction():
            stored._connection.execute("delete from llamon_task")


def test_an_empty_database_has_facts_and_says_what_makes_its_tables(database_url: str) -> None:
    with PostgresInspection.open(PoolOptions(url=database_url)) as stored:
        facts = stored.facts()
        assert (facts.schema, facts.states) == (0, {})
        assert facts.pending == facts.needed > 0
        with pytest.raises(ConfigError, match="llamon db migrate"):
            stored.find("x")


def test_a_newer_database_is_not_guessed_at(own_store_url: str) -> None:
    with psycopg.connect(own_store_url, autocommit=True) as connection:
        connection.execute("insert into llamon_schema (version) values (99)")
    with PostgresInspection.open(PoolOptions(url=own_store_url)) as stored:
        assert stored.facts().pending < 0
        with pytest.raises(ConfigError, match="newer version's"):
            stored.find("x")


def test_a_reader_that_has_gone_is_no_trouble_with_the_database(store_url: str) -> None:
    with pytest.raises(BrokenPipeError), PostgresInspection.open(PoolOptions(url=store_url)):
        raise BrokenPipeError


def test_its_place_names_no_password() -> None:
    assert place_of("postgresql://me:secret@db.example:5432/llamon") == "llamon at db.example"


def test_a_server_that_is_down_is_reported_with_the_remedy() -> None:
    options = PoolOptions(url="postgresql://127.0.0.1:9/x")
    with pytest.raises(ConfigError, match=r"data\.postgres"), PostgresInspection.open(options):
        pass
