"""Work that fails alone; the rest is tested where groups are used, in `store/sqlite/test_writer.py`."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable

import pytest

from llamon_agent.group_commit import Failed, GroupCommit, alone

Work = Callable[[sqlite3.Connection], int]


@pytest.fixture
def connection() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    connection.execute("create table kept (id integer primary key)")
    return connection


@pytest.fixture
async def group(connection: sqlite3.Connection) -> AsyncIterator[GroupCommit]:
    group = GroupCommit(connection, thread_name="test")
    yield group
    await group.close()


def insert(*ids: int | str) -> Work:
    """Insert each of them; a text with a lone surrogate cannot even be bound."""

    def work(connection: sqlite3.Connection) -> int:
        return sum(connection.execute("insert into kept (id) values (?)", (each,)).rowcount for each in ids)

    return work


async def all_kept(group: GroupCommit) -> list[int]:
    return await group.work(lambda connection: [each for (each,) in connection.execute("select id from kept")])


@pytest.mark.parametrize("refused", ["no number", "\ud800"])
async def test_of_work_that_fails_alone_nothing_is_kept_and_all_of_its_group(group: GroupCommit, refused: str) -> None:
    works = [insert(1), insert(2, refused), insert(3)]
    outcomes = await asyncio.gather(*(group.work(alone(work)) for work in works), return_exceptions=True)
    assert (outcomes[0], outcomes[2]) == (1, 1)
    assert isinstance(outcomes[1], sqlite3.Error | UnicodeEncodeError)
    assert await all_kept(group) == [1, 3]


async def test_work_whose_failure_ends_the_transaction_fails_its_group(group: GroupCommit) -> None:
    """SQLite undoes a whole transaction by itself, as it may if the disk is full."""

    def undo_all(connection: sqlite3.Connection) -> int:
        return connection.execute("insert or rollback into kept (id) values (1), (1)").rowcount

    works = [insert(1), undo_all, insert(3)]
    outcomes = await asyncio.gather(*(group.work(alone(work)) for work in works), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [sqlite3.IntegrityError] * 3
    assert await all_kept(group) == []


async def test_a_failed_outcome_of_work_is_raised_where_it_is_waited_for(group: GroupCommit) -> None:
    def refuse(_: sqlite3.Connection) -> Failed:
        return Failed(sqlite3.DataError("mine"))

    with pytest.raises(sqlite3.DataError, match="mine"):
        await group.work(refuse)


async def test_a_closed_group_takes_nothing_more(group: GroupCommit) -> None:
    await group.close()
    with pytest.raises(sqlite3.Error, match="closed"):
        await group.work(insert(1))
