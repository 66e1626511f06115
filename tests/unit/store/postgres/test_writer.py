"""Writes come in groups, and one whose answer was lost is put right."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import psycopg
import pytest
from tests.contract.task_store import a_key, a_task, next_of

from llamon_agent.domain.errors import BackendError
from llamon_agent.domain.task import Task, TaskState
from llamon_agent.store.postgres import writer as postgres_writer
from llamon_agent.store.postgres.pool import Connection, Pool, PoolOptions, open_pool
from llamon_agent.store.postgres.rows import Row, created_row, saved_row
from llamon_agent.store.postgres.store import PostgresTaskStore
from llamon_agent.store.postgres.writer import GroupCommitWriter


class Line:
    """The way to the server: it counts what is sent, and can lose the answers, or break before anything is sent."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.access = pool.access
        self.sent: list[int] = []  # the rows of each statement
        self.loses_answers = False
        self.is_cut = False

    @asynccontextmanager
    async def connection(self) -> AsyncIterator["Line"]:
        if self.is_cut:
            raise psycopg.OperationalError
        async with self._pool.connection() as self._connection:
            yield self

    async def execute(self, statement: str, row: Row, **options: bool) -> psycopg.AsyncCursor[Any]:
        connection: Connection = self._connection
        answer = await connection.execute(statement, row, **options)
        self.sent.append(len(row["id"]))
        if self.loses_answers:
            raise psycopg.OperationalError
        return answer


@pytest.fixture
async def pool(store_url: str) -> AsyncIterator[Pool]:
    async with open_pool(PoolOptions(url=store_url, pool_min=1)) as pool:
        yield pool


@pytest.fixture
def line(pool: Pool) -> Line:
    return Line(pool)


@pytest.fixture
async def writer(line: Line) -> AsyncIterator[GroupCommitWriter]:
    writer = GroupCommitWriter(cast(Pool, line), holder="me")
    yield writer
    await writer.close()


@pytest.fixture
def store(pool: Pool) -> PostgresTaskStore:
    """Somebody who looks."""
    return PostgresTaskStore(pool)


async def create(writer: GroupCommitWriter, task: Task) -> bool:
    return await writer.write("create", created_row(task, None, None))


async def save(writer: GroupCommitWriter, task: Task, expect: int) -> bool:
    return await writer.write("save", saved_row(task, expect, None, None))


async def lost(line: Line, writing: Any) -> None:
    line.loses_answers = True
    with pytest.raises(BackendError) as raised:
        await writing
    assert isinstance(raised.value.__cause__, psycopg.OperationalError)
    line.loses_answers = False


async def test_writes_that_come_together_are_one_statement(writer: GroupCommitWriter, line: Line) -> None:
    assert all(await asyncio.gather(*(create(writer, a_task(f"task-{number}")) for number in range(50))))
    assert line.sent == [50]


async def test_a_group_has_a_bound(writer: GroupCommitWriter, line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_writer, "_MAX_GROUP", 20)
    assert all(await asyncio.gather(*(create(writer, a_task(f"task-{number}")) for number in range(50))))
    assert line.sent == [20, 20, 10]


async def test_two_writes_of_one_task_are_carried_out_in_their_order(writer: GroupCommitWriter) -> None:
    first, second = next_of(a_task()), next_of(next_of(a_task()))
    outcomes = await asyncio.gather(create(writer, a_task()), save(writer, first, 1), save(writer, second, 2))
    assert list(outcomes) == [True, True, True]


async def test_a_create_whose_answer_was_lost_is_taken_back(
    writer: GroupCommitWriter, line: Line, store: PostgresTaskStore
) -> None:
    task = a_task()
    await lost(line, writer.write("create", created_row(task, None, a_key())))
    assert await store.get("ann", "demo", "task-1") == task
    assert await create(writer, a_task("task-2"))
    assert await store.get("ann", "demo", "task-1") is None
    assert await store.find_key("ann", "demo", "key-1") is None


async def test_a_create_whose_answer_was_lost_can_be_tried_again(
    writer: GroupCommitWriter, line: Line, store: PostgresTaskStore
) -> None:
    await lost(line, create(writer, a_task()))
    later = a_task(at_ms=9)
    assert await create(writer, later)
    assert await create(writer, a_task("task-2"))
    assert await store.get("ann", "demo", "task-1") == later


async def test_a_create_that_another_process_has_taken_over_stays(
    writer: GroupCommitWriter, line: Line, store: PostgresTaskStore, pool: Pool
) -> None:
    await lost(line, create(writer, a_task()))
    async with pool.connection() as connection:
        await connection.execute("update llamon_task set holder = 'other'")
    assert await create(writer, a_task("task-2"))
    assert await store.get("ann", "demo", "task-1") == a_task()


async def test_a_save_whose_answer_was_lost_gives_way_to_the_next(
    writer: GroupCommitWriter, line: Line, store: PostgresTaskStore
) -> None:
    await create(writer, a_task())
    await lost(line, save(writer, next_of(a_task()), 1))
    ended = next_of(next_of(a_task()), TaskState.COMPLETED)
    assert await save(writer, ended, 1)
    assert await store.get("ann", "demo", "task-1") == ended


async def test_an_end_whose_answer_was_lost_can_be_tried_again_and_is_then_final(
    writer: GroupCommitWriter, line: Line, store: PostgresTaskStore
) -> None:
    await create(writer, a_task())
    ended = next_of(a_task(), TaskState.COMPLETED)
    await lost(line, writer.write("save", saved_row(ended, 1, None, a_key())))
    again = next_of(a_task(), TaskState.COMPLETED, at_ms=9)
    assert await writer.write("save", saved_row(again, 1, None, a_key()))
    assert await store.get("ann", "demo", "task-1") == again
    assert not await save(writer, next_of(again, TaskState.FAILED), again.seq)


async def test_a_save_that_never_arrived_changes_nothing_for_the_next(
    writer: GroupCommitWriter, line: Line, store: PostgresTaskStore
) -> None:
    await create(writer, a_task())
    line.is_cut = True
    with pytest.raises(BackendError):
        await save(writer, next_of(a_task()), 1)
    line.is_cut = False
    assert not await save(writer, next_of(next_of(a_task())), 2)
    assert await save(writer, next_of(a_task()), 1)


async def test_a_write_of_another_process_is_no_lost_answer(
    writer: GroupCommitWriter, line: Line, store: PostgresTaskStore
) -> None:
    await create(writer, a_task())
    await lost(line, save(writer, next_of(a_task()), 1))
    theirs = next_of(next_of(a_task()), TaskState.CANCELED)
    await store.save(theirs, expect=2)
    assert not await save(writer, next_of(a_task(), TaskState.COMPLETED), 1)
    assert await store.get("ann", "demo", "task-1") == theirs


async def test_a_server_that_does_not_answer_counts_as_away(
    writer: GroupCommitWriter, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    await create(writer, a_task())
    monkeypatch.setattr(postgres_writer, "DEADLINE_S", 0.2)
    async with pool.connection() as busy, busy.transaction():
        await busy.execute("select from llamon_task for update")
        with pytest.raises(BackendError) as raised:
            await save(writer, next_of(a_task()), 1)
        assert isinstance(raised.value.__cause__, TimeoutError)
    monkeypatch.setattr(postgres_writer, "DEADLINE_S", 20.0)
    assert await save(writer, next_of(a_task()), 1)


async def test_closing_carries_out_what_waits_and_takes_no_more(writer: GroupCommitWriter) -> None:
    writes = [asyncio.create_task(create(writer, a_task(f"task-{number}"))) for number in range(5)]
    await asyncio.sleep(0)
    async with asyncio.timeout(5):
        await writer.close()
        assert await asyncio.gather(*writes) == [True] * 5
    with pytest.raises(BackendError):
        await create(writer, a_task("late"))


async def test_a_bug_in_a_row_leaves_no_caller_waiting(line: Line) -> None:
    writer = GroupCommitWriter(cast(Pool, line), holder="me")
    with pytest.raises(BackendError):
        await writer.write("create", {**created_row(a_task(), None, None), "context_id": "\ud800"})
    with pytest.raises(UnicodeEncodeError):  # it is not hidden, either
        await writer.close()
