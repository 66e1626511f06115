"""Writes are grouped; a group's failure reaches all who wait for it, and nobody else."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator

import pytest

from llamon_agent.domain.errors import BackendError
from llamon_agent.store.sqlite.file import SqliteFile
from llamon_agent.store.sqlite.writer import GroupCommitWriter, Row

INSERT = "insert into kept (id) values (:id) on conflict do nothing"


class Recorded(sqlite3.Connection):
    """A connection that counts its commits."""

    commits = 0

    def execute(self, sql: str, parameters: Row = {}) -> sqlite3.Cursor:  # type: ignore[override]  # noqa: B006
        self.commits += sql == "commit"
        return super().execute(sql, parameters)


def a_file() -> SqliteFile:
    return SqliteFile(":memory:", "the task store")


@pytest.fixture
def connection() -> Recorded:
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False, factory=Recorded)
    connection.execute("create table kept (id integer primary key)")
    return connection


@pytest.fixture
async def writer(connection: Recorded) -> AsyncIterator[GroupCommitWriter]:
    writer = GroupCommitWriter(connection, a_file())
    yield writer
    await writer.close()


def kept(connection: sqlite3.Connection) -> int:
    (count,) = connection.execute("select count(*) from kept").fetchone()
    assert isinstance(count, int)
    return count


async def test_writes_of_one_moment_share_a_transaction(writer: GroupCommitWriter, connection: Recorded) -> None:
    assert all(await asyncio.gather(*(writer.write(INSERT, {"id": number}) for number in range(100))))
    assert (kept(connection), connection.commits) == (100, 1)


async def test_callers_that_were_answered_together_write_together_again(
    writer: GroupCommitWriter, connection: Recorded
) -> None:
    async def write_three(first: int) -> None:
        for number in range(first, first + 3):
            await writer.write(INSERT, {"id": number})

    await asyncio.gather(*(write_three(first) for first in range(0, 300, 3)))
    assert (kept(connection), connection.commits) == (300, 3)


async def test_a_write_that_waited_shares_with_those_of_just_answered_callers(
    writer: GroupCommitWriter, connection: Recorded
) -> None:
    async def write_two() -> None:
        await writer.write(INSERT, {"id": 1})
        await writer.write(INSERT, {"id": 2})

    first = asyncio.create_task(write_two())
    for _ in range(2):
        await asyncio.sleep(0)  # it has written, and its group was handed over
    await asyncio.gather(first, writer.write(INSERT, {"id": 3}))
    assert (kept(connection), connection.commits) == (3, 2)


async def test_a_write_that_changes_nothing_says_so(writer: GroupCommitWriter, connection: Recorded) -> None:
    changed = await asyncio.gather(*(writer.write(INSERT, {"id": number % 2}) for number in range(4)))
    assert changed == [True, True, False, False]
    assert kept(connection) == 2


async def test_a_failure_reaches_everyone_in_the_group_and_keeps_nothing(
    writer: GroupCommitWriter, connection: Recorded, caplog: pytest.LogCaptureFixture
) -> None:
    writes = [writer.write(INSERT, {"id": 1}), writer.write("nonsense", {}), writer.write(INSERT, {"id": 2})]
    outcomes = await asyncio.gather(*writes, return_exceptions=True)
    for outcome in outcomes:
        assert isinstance(outcome, BackendError)
        assert outcome.public == BackendError.public
        assert isinstance(outcome.__cause__, sqlite3.OperationalError)
    assert kept(connection) == 0
    assert caplog.text.count("the task store :memory: cannot be written") == 1


async def test_a_full_disk_fails_writes_until_there_is_room(connection: Recorded) -> None:
    (pages,) = connection.execute("pragma page_count").fetchone()
    connection.execute(f"pragma max_page_count = {pages}")
    many = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 10000)"
    writer = GroupCommitWriter(connection, a_file())
    for _ in range(2):
        with pytest.raises(BackendError):
            await writer.write(f"{many} insert into kept select i from n", {})
    connection.execute("pragma max_page_count = 1000000")
    assert await writer.write(INSERT, {"id": 1})
    assert kept(connection) == 1
    await writer.close()


async def test_work_of_several_statements_shares_the_transaction_and_gives_what_it_returns(
    writer: GroupCommitWriter, connection: Recorded
) -> None:
    def count_after_two(inner: sqlite3.Connection) -> int:
        for number in (1, 2):
            inner.execute(INSERT, {"id": number})
        return kept(inner)

    outcomes = await asyncio.gather(writer.write(INSERT, {"id": 7}), writer.work(count_after_two))
    assert (list(outcomes), connection.commits) == ([True, 3], 1)


async def test_a_cancelled_caller_leaves_the_group_alone(writer: GroupCommitWriter) -> None:
    cancelled = asyncio.create_task(writer.write(INSERT, {"id": 1}))
    other = asyncio.create_task(writer.write(INSERT, {"id": 2}))
    await asyncio.sleep(0)
    cancelled.cancel()
    assert await other
    assert cancelled.cancelled()
    assert await writer.write(INSERT, {"id": 3})


async def test_without_a_thread_the_callers_get_an_error(connection: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    writer = GroupCommitWriter(connection, a_file())
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        async with asyncio.timeout(5):
            with pytest.raises(BackendError):
                await writer.write(INSERT, {"id": 1})
    await writer.close()


async def test_a_closed_writer_takes_nothing_more(writer: GroupCommitWriter) -> None:
    waiting = asyncio.create_task(writer.write(INSERT, {"id": 1}))
    await asyncio.sleep(0)
    await asyncio.gather(writer.close(), writer.close())
    assert await waiting
    with pytest.raises(BackendError):
        await writer.write(INSERT, {"id": 2})
