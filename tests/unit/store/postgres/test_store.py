"""The Postgres store keeps the contracts, and what it was told, when the server or the way to it goes wrong."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import cast

import msgspec
import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from tests.contract.lease import LeaseContract
from tests.contract.push_store import PushStoreContract, a_push
from tests.contract.task_store import MINE, TaskStoreContract, a_key, a_task, a_turn, next_of
from tests.postgres_server import PostgresServer

from llamon_agent.domain.errors import BackendError, Conflict
from llamon_agent.domain.task import TaskQuery, TaskState
from llamon_agent.runs.ports.store import Remembered, Store, TaskStore
from llamon_agent.store.postgres import pool as postgres_pool
from llamon_agent.store.postgres.pool import Connection, Pool, PoolOptions, open_pool
from llamon_agent.store.postgres.store import PostgresTaskStore
from llamon_agent.store.statements import load_statements

ROOT = Path(__file__).parents[4]
PYTHONPATH = f"{ROOT / 'src'}{os.pathsep}{ROOT}"

DIES_AFTER_AN_ANSWER = """
import asyncio, os, signal, sys
from llamon_agent.store.postgres.store import PostgresTaskStore
from llamon_agent.store.postgres.pool import PoolOptions, open_pool
from tests.contract.task_store import a_task, a_turn

async def main():
    async with open_pool(PoolOptions(url=sys.argv[1], durable=False)) as pool:
        store = await PostgresTaskStore.open(pool)
        await store.renew(until_ms=100)
        await store.create(a_task("answered"), turn=a_turn("answered"))
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


@asynccontextmanager
async def opened(
    url: str, *, prepare: bool = True, durable: bool = True, pool_max: int = 4
) -> AsyncIterator[PostgresTaskStore]:
    options = PoolOptions(url=url, pool_min=1, pool_max=pool_max, prepare=prepare, durable=durable)
    async with open_pool(options) as pool:
        store = await PostgresTaskStore.open(pool)
        try:
            yield store
        finally:
            await store.close()


class TestPostgresTaskStore(TaskStoreContract):
    @pytest.fixture(params=["by itself", "behind a pooler"])
    async def store(self, store_url: str, request: pytest.FixtureRequest) -> AsyncIterator[TaskStore]:
        async with opened(store_url, prepare=request.param == "by itself") as store:
            yield store


class TestPostgresPushStore(PushStoreContract):
    @pytest.fixture
    async def store(self, store_url: str) -> AsyncIterator[Store]:
        async with opened(store_url) as store:
            yield store


class TestPostgresLeases(LeaseContract):
    @pytest.fixture
    async def store(self, store_url: str) -> AsyncIterator[TaskStore]:
        async with opened(store_url) as store:
            yield store

    @pytest.fixture
    async def other(self, store_url: str) -> AsyncIterator[TaskStore]:
        async with opened(store_url) as store:
            yield store


def name_of(url: str) -> str:
    return str(conninfo_to_dict(url)["dbname"])


@contextmanager
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nobody waits long for a server that is away."""
    with monkeypatch.context() as changed:
        changed.setattr(postgres_pool, "CHECKOUT_S", 0.1)
        changed.setattr(postgres_pool, "_RECONNECT_S", 0.1)
        yield


async def test_what_a_killed_process_was_answered_is_kept_and_can_be_taken_over(store_url: str) -> None:
    program = [sys.executable, "-c", DIES_AFTER_AN_ANSWER, store_url]
    killed = subprocess.run(program, env=os.environ | {"PYTHONPATH": PYTHONPATH}, timeout=30, check=False)  # noqa: ASYNC221
    assert killed.returncode == -signal.SIGKILL
    async with opened(store_url) as store:
        await store.renew(until_ms=1_000)
        found = await store.take_over(now_ms=100, limit=10)
        assert [(each.task.id, each.attempt) for each in found] == [("answered", 2)]


async def test_a_server_that_was_killed_keeps_what_it_answered_and_is_used_again(
    postgres: PostgresServer, store_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with impatient(monkeypatch):
        async with opened(store_url) as store:
            await store.create(a_task())
            postgres.kill()
            try:
                for call in (
                    store.create(a_task("new")),
                    store.save(next_of(a_task()), expect=1),
                    store.get("ann", "demo", "task-1"),
                    store.list(MINE),
                    store.renew(until_ms=1),
                    store.take_over(now_ms=1, limit=1),
                    store.put_push(a_push()),
                ):
                    with pytest.raises(BackendError) as raised:
                        await call
                    assert type(raised.value) is BackendError
                    assert raised.value.public == BackendError.public
            finally:
                postgres.start()
            async with asyncio.timeout(10):
                while await is_away(store):
                    pass
            await store.create(a_task("new"))
            assert (await store.list(MINE)).total == 2
    assert caplog.text.count("the database cannot be written: it cannot be reached") == 1
    assert caplog.text.count("the database cannot be read: it cannot be reached") == 1


async def is_away(store: PostgresTaskStore) -> bool:
    try:
        await store.get("ann", "demo", "task-1")
    except BackendError:
        return True
    return False


async def test_no_write_is_lost_or_doubled_when_connections_drop_under_load(
    postgres: PostgresServer, store_url: str
) -> None:
    drop = sql.SQL("select pg_terminate_backend(pid) from pg_stat_activity where datname = {} and query like {}")
    dropping = drop.format(sql.Literal(name_of(store_url)), sql.Literal("%unnest%"))
    failures = 0

    async def until_kept(write: Callable[[], Awaitable[None]]) -> None:
        nonlocal failures
        while True:
            try:
                return await write()
            except Conflict:  # it was kept, and told to have failed
                raise
            except BackendError:
                failures += 1

    async def live(number: int) -> None:
        task = a_task(f"task-{number}")
        await until_kept(lambda: store.create(task))
        for state in (TaskState.WORKING, TaskState.WORKING, TaskState.COMPLETED):
            task, seq = next_of(task, state), task.seq
            await until_kept(partial(store.save, task, expect=seq))

    async with opened(store_url) as store, asyncio.timeout(20):
        async with asyncio.TaskGroup() as living:
            lives = [living.create_task(live(number)) for number in range(300)]
            while not all(one.done() for one in lives):
                await asyncio.to_thread(postgres.execute, dropping)
        page = await store.list(msgspec.structs.replace(MINE, state=TaskState.COMPLETED, limit=300))
        assert {(task.id, task.seq) for task in page.tasks} == {(f"task-{number}", 4) for number in range(300)}
    assert failures


async def test_a_takeover_whose_answer_was_lost_is_made_again(store_url: str) -> None:
    async with opened(store_url) as gone, opened(store_url) as store:
        await gone.renew(until_ms=1)
        await store.renew(until_ms=1_000)
        for number in range(3):
            await gone.create(a_task(f"task-{number}"), turn=a_turn(f"task-{number}"))
        pool = store._pool
        store._pool = cast(Pool, LosesCommits(pool))
        with pytest.raises(BackendError):
            await store.take_over(now_ms=1, limit=2)
        store._pool = pool
        found = [await store.take_over(now_ms=1, limit=2) for _ in range(3)]
        assert [[(each.task.id, each.attempt) for each in batch] for batch in found] == [
            [("task-0", 2), ("task-1", 2)],
            [("task-2", 2)],
            [],
        ]


class LosesCommits:
    """Connections that break when everything is done, before the answer is there."""

    def __init__(self, inner: Pool) -> None:
        self.inner = inner
        self.access = inner.access

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        async with self.inner.connection() as connection:
            yield connection
        raise psycopg.OperationalError


async def test_a_caller_that_gets_no_connection_gets_an_error_of_the_store(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with impatient(monkeypatch):
        async with opened(store_url, pool_max=1) as store:
            async with store._pool.connection():
                with pytest.raises(BackendError):
                    await store.create(a_task())
                with pytest.raises(BackendError):
                    await store.list(MINE)
            await store.create(a_task())


async def test_any_name_that_a_caller_gives_is_kept_as_it_is(store_url: str) -> None:
    odd = ["a\0b", "a\\0b", "\\", "", "한국어'; drop table llamon_task"]
    async with opened(store_url) as store:
        for name in odd:
            task = a_task(f"task-{name}", owner=name, agent=name, context_id=name, state=TaskState.COMPLETED)
            push = a_push(name, task_id=task.id, owner=name, agent=name)
            await store.create(task, key=a_key(name))
            await store.put_push(push)
            assert await store.get(name, name, task.id) == task
            assert (await store.list(TaskQuery(owner=name, agent=name, context_id=name))).tasks == (task,)
            assert await store.list_push(name, name, task.id) == (push,)
            assert await store.find_key(name, name, name) == Remembered(digest="d", task_id=task.id)
        assert len(await store.undelivered()) == len(odd)
        pruned = await store.prune(before_ms=10_000, limit=100)
        assert set(pruned.task_ids) == {f"task-{name}" for name in odd}
        assert set(pruned.contexts) == {(name, name, name) for name in odd}
        assert await store.undelivered() == ()


async def test_a_pruned_task_takes_its_webhooks_along(postgres: PostgresServer, store_url: str) -> None:
    async with opened(store_url) as store:
        await store.create(a_task(state=TaskState.COMPLETED))
        await store.put_push(a_push())
        await store.prune(before_ms=10_000, limit=1)
    assert postgres.execute(sql.SQL("select count(*) from llamon_push"), name_of(store_url)) == [(0,)]


async def test_a_damaged_task_is_a_backend_error(
    postgres: PostgresServer, store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(store_url) as store:
        await store.create(a_task())
        postgres.execute(sql.SQL("update llamon_task set body = 'nonsense'"), name_of(store_url))
        for call in (store.get("ann", "demo", "task-1"), store.list(MINE)):
            with pytest.raises(BackendError):
                await call
    assert "cannot be read" in caplog.text


async def test_a_damaged_task_does_not_stop_the_others(postgres: PostgresServer, store_url: str) -> None:
    async with opened(store_url) as gone, opened(store_url) as store:
        await gone.renew(until_ms=1)
        for name in ("bad", "good"):
            await gone.create(a_task(name), turn=a_turn(name))
            await gone.create(a_task(f"{name}-paused", state=TaskState.INPUT_REQUIRED))
        damage = sql.SQL("update llamon_task set body = 'nonsense' where id like 'bad%'")
        postgres.execute(damage, name_of(store_url))
        assert [each.task.id for each in await store.take_over(now_ms=1, limit=10)] == ["good"]
        assert [task.id for task in await store.paused_before(before_ms=10_000, limit=10)] == ["good-paused"]


async def test_a_store_without_its_table_fails(postgres: PostgresServer, own_store_url: str) -> None:
    async with opened(own_store_url) as store:
        postgres.execute(sql.SQL("drop table llamon_task"), name_of(own_store_url))
        for call in (store.create(a_task("new")), store.save(next_of(a_task()), expect=1), store.list(MINE)):
            with pytest.raises(BackendError) as raised:
                await call
            assert type(raised.value) is BackendError
            assert isinstance(raised.value.__cause__, psycopg.errors.UndefinedTable)


async def test_no_statement_reads_the_whole_table(postgres: PostgresServer, store_url: str) -> None:
    statements = {**load_statements("postgres/task.sql"), **load_statements("postgres/lease.sql")}
    statements |= load_statements("postgres/push.sql")
    async with open_pool(PoolOptions(url=store_url)) as pool, pool.connection() as connection:
        await connection.execute("set enable_seqscan = off")
        for name, statement in statements.items():
            cursor = await connection.execute("explain (generic_plan) " + numbered(statement))
            plan = "\n".join(row[0] for row in await cursor.fetchall())
            read_whole = set(re.findall(r"Seq Scan on (llamon_\w+)", plan))
            assert read_whole <= {"llamon_holder"}, f"{name}:\n{plan}"  # which has one row per process


def numbered(statement: str) -> str:
    """The statement with its parameters by number, as the server wants them."""
    found = list(dict.fromkeys(re.findall(r"%\((\w+)\)", statement)))
    return re.sub(r"%\((\w+)\)[sb]", lambda match: f"${found.index(match[1]) + 1}", statement)
