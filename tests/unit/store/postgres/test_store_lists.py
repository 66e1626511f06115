"""A page of a list reads as many rows however many tasks there are; whatever writes a task, the totals are right."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from tests.contract.task_store import MINE, a_task
from tests.postgres_server import PostgresServer

from llamon_agent.domain.task import TaskQuery, TaskState
from llamon_agent.store.postgres.pool import Pool, PoolOptions, open_pool
from llamon_agent.store.postgres.rows import query_row
from llamon_agent.store.postgres.schema import SchemaVersion, migrate
from llamon_agent.store.postgres.store import _SQL, PostgresTaskStore
from llamon_agent.store.statements import load_migrations

MIGRATIONS = load_migrations("postgres/migrations")

FILL = """
insert into llamon_task (id, owner, agent, context_id, state, terminal, at_ms, seq, attempt, body)
select 'task-' || lpad(n::text, 6, '0'), 'ann', 'demo', case when n < 10 then 'c' else 'c' || n end,
       case when n %% 100 = 0 then 'failed' else 'working' end, false, 1000, 1, 0, convert_to(%(body)s, 'UTF8')
from generate_series(0, %(count)s - 1) as n
"""


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    async with open_pool(PoolOptions(url=database_url)) as pool:
        yield pool


async def fill(pool: Pool, count: int) -> None:
    """Tasks of ann's, one in a hundred failed, ten in the context c; as an earlier version, or psql, writes them."""
    async with pool.connection() as connection:
        await connection.execute(FILL, {"body": msgspec.json.encode(a_task()).decode(), "count": count})


def rows_read(plan: dict[str, Any]) -> int:
    """How many rows the scans of a plan have read, those that a filter has dropped included."""
    mine = 0
    if "Scan" in plan["Node Type"] and plan["Node Type"] != "Subquery Scan":
        mine = (plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)) * plan["Actual Loops"]
    return mine + sum(rows_read(inner) for inner in plan.get("Plans", ()))


@pytest.mark.parametrize(
    "query",
    [
        MINE,
        msgspec.structs.replace(MINE, after=(1000, "task-000100")),
        msgspec.structs.replace(MINE, state=TaskState.WORKING),
        msgspec.structs.replace(MINE, state=TaskState.FAILED, limit=3),
        msgspec.structs.replace(MINE, context_id="c"),
        msgspec.structs.replace(MINE, context_id="c", state=TaskState.WORKING, after=(1000, "task-000003")),
        msgspec.structs.replace(MINE, context_id="c", state=TaskState.COMPLETED),
    ],
)
async def test_a_page_reads_no_more_rows_than_it_has(pool: Pool, query: TaskQuery) -> None:
    await migrate(pool)
    await fill(pool, 5_000)
    total = "total" if query.is_counted else f"count_{query.narrowed_by}"
    statement = _SQL[f"list_{query.narrowed_by}_{total}"]
    async with pool.connection() as connection:
        await connection.execute("analyze")
        cursor = await connection.execute(f"explain (analyze, format json) {statement}", query_row(query))
        found = await cursor.fetchone()
    assert found is not None
    assert rows_read(found[0][0]["Plan"]) <= query.limit + 1 + len(TaskState)


async def test_the_tasks_of_an_earlier_versions_database_are_counted(pool: Pool) -> None:
    async with pool.connection() as connection:
        await connection.execute("create table llamon_schema (version integer primary key, at timestamptz)")
        await connection.execute("insert into llamon_schema (version) values (1)")
        await connection.execute(MIGRATIONS[0])
    await fill(pool, 300)
    assert await migrate(pool) == SchemaVersion(found=1, needed=len(MIGRATIONS))
    store = PostgresTaskStore(pool)
    try:
        failed = TaskQuery(owner="ann", agent="demo", state=TaskState.FAILED)
        assert ((await store.list(MINE)).total, (await store.list(failed)).total) == (300, 3)
        await store.create(a_task("new", state=TaskState.FAILED))
        assert ((await store.list(MINE)).total, (await store.list(failed)).total) == (301, 4)
    finally:
        await store.close()


async def test_what_others_write_is_counted_too_and_nothing_is_left_where_there_are_no_tasks(
    pool: Pool, postgres: PostgresServer, database_url: str
) -> None:
    name = str(conninfo_to_dict(database_url)["dbname"])

    def counted() -> list[Any]:
        return postgres.execute(sql.SQL("select state, tasks from llamon_task_count order by state"), name)

    await migrate(pool)
    await fill(pool, 100)
    assert counted() == [("failed", 1), ("working", 99)]
    postgres.execute(sql.SQL("update llamon_task set state = 'failed' where id < 'task-000010'"), name)
    assert counted() == [("failed", 10), ("working", 90)]
    postgres.execute(sql.SQL("delete from llamon_task where state = 'failed'"), name)
    assert counted() == [("working", 90)]
    postgres.execute(sql.SQL("truncate llamon_task"), name)
    assert counted() == []
