"""What a page of a list costs among many tasks, and among few: by the store alone, and with its total.

The tasks are written into the tables at once, which is what triggers on them count.
"""

import asyncio
import sqlite3
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median

import msgspec
import psycopg
from msgspec.structs import replace
from rich.table import Table
from tests.postgres_server import PostgresServer, running_postgres

from bench.durable import SYNCED
from llamon_agent.domain.message import Message, Role, Text
from llamon_agent.domain.task import Artifact, Task, TaskQuery, TaskState, TaskStatus
from llamon_agent.runs.ports.store import TaskStore
from llamon_agent.store.postgres.pool import PoolOptions, open_pool
from llamon_agent.store.postgres.store import PostgresTaskStore
from llamon_agent.store.sqlite.store import SqliteTaskStore

FEW, MANY = 1_000, 500_000
PAGES = 100

_MINE = TaskQuery(owner="ann", agent="demo")


def _queries(count: int) -> Mapping[str, TaskQuery]:
    middle = (count // 2, f"task-{count // 2:07}")
    return {
        "the first page": _MINE,
        "a page in the middle": replace(_MINE, after=middle),
        "completed (97%)": replace(_MINE, state=TaskState.COMPLETED),
        "completed, in the middle": replace(_MINE, state=TaskState.COMPLETED, after=middle),
        "failed (1 in 1,000)": replace(_MINE, state=TaskState.FAILED),
        "a conversation of 5": replace(_MINE, context_id="c7"),
        "a conversation of 1%": replace(_MINE, context_id="long"),
    }


def table() -> Table:
    """Measure everything."""
    figures = asyncio.run(_measure())
    shown = Table(title=f"A page of 50 tasks, ms, median of {PAGES}")
    shown.add_column("page")
    for store in ("SQLite", "Postgres"):
        for count in (FEW, MANY):
            shown.add_column(f"{store}, {count:,} tasks", justify="right")
    for kind in _queries(MANY):
        shown.add_row(kind, *(f"{costs[kind]:.2f}" for costs in figures))
    return shown


async def _measure() -> list[dict[str, float]]:
    with running_postgres(*SYNCED) as postgres:
        figures: list[dict[str, float]] = []
        for kind in (_sqlite, _postgres):
            for count in (FEW, MANY):
                async with kind(count, postgres) as store:
                    figures.append({name: await _page_ms(store, query) for name, query in _queries(count).items()})
        return figures


async def _page_ms(store: TaskStore, query: TaskQuery) -> float:
    costs: list[float] = []
    for _ in range(PAGES):
        began_s = time.perf_counter()
        await store.list(query)
        costs.append((time.perf_counter() - began_s) * 1000)
    return median(costs)


def _body() -> bytes:
    """A task of about 1.5 kB, which stands for all."""
    said = Message(message_id="m", role=Role.USER, parts=(Text(text="The quick brown fox. " * 40),))
    status = TaskStatus(state=TaskState.COMPLETED, at_ms=1)
    answer = Artifact(artifact_id="a", parts=(Text(text="It jumps. " * 50),))
    task = Task(
        id="t", context_id="c", owner="ann", agent="demo", status=status, seq=3, created_ms=1, history=(said,),
        artifacts=(answer,),
    )  # fmt: skip
    return msgspec.json.encode(task)


@asynccontextmanager
async def _sqlite(count: int, _postgres: PostgresServer) -> AsyncIterator[TaskStore]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tasks.sqlite"
        await SqliteTaskStore.open(path).close()
        with sqlite3.connect(path) as file:
            file.execute(
                "with recursive number (n) as (select 0 union all select n + 1 from number where n + 1 < ?)"
                f" insert into task (id, {_COLUMNS}) select printf('task-%07d', n), {_VALUES} from number",
                (count, _body()),
            )
        file.close()
        store = SqliteTaskStore.open(path)
        try:
            yield store
        finally:
            await store.close()


@asynccontextmanager
async def _postgres(count: int, postgres: PostgresServer) -> AsyncIterator[TaskStore]:
    name = postgres.make_database()
    async with open_pool(PoolOptions(url=postgres.url(name))) as pool:
        store = await PostgresTaskStore.open(pool)
        with psycopg.connect(postgres.url(name), autocommit=True) as connection:
            values = _VALUES.replace("?", "%(body)s").replace("% ", "%% ")
            connection.execute(
                f"insert into llamon_task (id, {_COLUMNS}) select 'task-' || lpad(n::text, 7, '0'), {values}"
                " from generate_series(0, %(count)s - 1) as n",
                {"count": count, "body": _body()},
            )
            connection.execute("vacuum analyze")
        try:
            yield store
        finally:
            await store.close()
    postgres.drop_database(name)


_COLUMNS = "owner, agent, context_id, state, terminal, at_ms, seq, attempt, body"
_VALUES = (
    "'ann', 'demo', case when n % 100 = 0 then 'long' else 'c' || (n / 5) end,"
    " case when n % 1000 = 1 then 'failed' when n % 50 = 0 then 'working' else 'completed' end, 0 = 1, n, 3, 0, ?"
)
