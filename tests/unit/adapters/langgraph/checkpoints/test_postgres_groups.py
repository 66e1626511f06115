"""Groups of writes to a real Postgres: what shares a commit, and what fails alone."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest
from psycopg_pool import AsyncConnectionPool

from llamon_agent.adapters.langgraph.checkpoints.postgres_groups import PostgresGroups
from llamon_agent.adapters.langgraph.checkpoints.statements import Statement

Pool = AsyncConnectionPool[Any]


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    async with AsyncConnectionPool(database_url, kwargs={"autocommit": True}, min_size=1, open=False) as pool:
        async with pool.connection() as connection:
            await connection.execute("create table kept (text text primary key)")
        yield pool


@pytest.fixture(params=[True, False], ids=["pipelined", "in transactions"])
def groups(pool: Pool, request: pytest.FixtureRequest) -> PostgresGroups:
    return PostgresGroups(pool, pipeline=request.param)


def insert(*texts: str) -> list[Statement]:
    return [("insert into kept values (%s)", [(text,) for text in texts])]


async def found(pool: Pool, what: str) -> Any:
    async with pool.connection() as connection:
        return [value for (value,) in await (await connection.execute(f"select {what} from kept")).fetchall()]


async def test_writes_that_come_together_share_a_commit(groups: PostgresGroups, pool: Pool) -> None:
    await asyncio.gather(*(groups.write(insert(f"{number}a", f"{number}b")) for number in range(5)))
    assert len(await found(pool, "text")) == 10
    assert len(set(await found(pool, "xmin::text"))) == 1


@pytest.mark.parametrize("odd", ["nul \0", "half \ud800", "a"], ids=ascii)
async def test_a_write_that_cannot_be_kept_fails_alone_and_wholly(groups: PostgresGroups, pool: Pool, odd: str) -> None:
    texts = [("a",), ("b", odd), ("c",)]
    outcomes = await asyncio.gather(*(groups.write(insert(*each)) for each in texts), return_exceptions=True)
    assert [outcome is None for outcome in outcomes] == [True, False, True]
    assert isinstance(outcomes[1], psycopg.Error | UnicodeEncodeError)
    assert await found(pool, "text") == ["a", "c"]


async def test_a_group_that_fails_is_no_hindrance_to_the_next(groups: PostgresGroups, pool: Pool) -> None:
    async with pool.connection() as connection:
        await connection.execute("alter table kept rename to moved")
    outcomes = await asyncio.gather(*(groups.write(insert(text)) for text in "ab"), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [psycopg.errors.UndefinedTable] * 2
    async with pool.connection() as connection:
        await connection.execute("alter table moved rename to kept")
    await groups.write(insert("c"))
    assert await found(pool, "text") == ["c"]


async def test_the_rest_of_a_group_is_kept_if_a_caller_is_cancelled(groups: PostgresGroups, pool: Pool) -> None:
    cancelled, other = (asyncio.create_task(groups.write(insert(text))) for text in "ab")
    await asyncio.sleep(0)
    cancelled.cancel()
    await other
    assert cancelled.cancelled()
    assert "b" in await found(pool, "text")
