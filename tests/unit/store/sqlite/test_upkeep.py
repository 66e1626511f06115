"""Each function is one transaction's work: what it leaves behind is seen on the connection that it was given."""

import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.contract.push_store import a_push
from tests.contract.task_store import a_key, a_task, a_turn

from llamon_agent.domain.errors import Conflict, KeyTaken
from llamon_agent.domain.task import TaskState
from llamon_agent.store.sqlite import upkeep
from llamon_agent.store.sqlite.store import SqliteTaskStore
from llamon_agent.store.statements import load_statements

S = TaskState

CREATE = load_statements("sqlite/task.sql")["create"]


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteTaskStore]:
    store = SqliteTaskStore.open(tmp_path / "tasks.sqlite")
    await store.renew(until_ms=100)
    yield store
    await store.close()


@pytest.fixture
def connection(store: SqliteTaskStore, tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(tmp_path / "tasks.sqlite", isolation_level=None)) as connection:
        yield connection


def column(connection: sqlite3.Connection, query: str) -> list[Any]:
    return [value for (value,) in connection.execute(query)]


def row(task_id: str) -> dict[str, Any]:
    texts = {"owner": "ann", "agent": "demo", "context_id": "c", "state": "working", "holder": "h"}
    return {**texts, "id": task_id, "terminal": False, "at_ms": 1, "seq": 1, "body": b"{}", "turn": None}


async def test_a_key_that_is_taken_keeps_the_task_out(connection: sqlite3.Connection, store: SqliteTaskStore) -> None:
    await store.create(a_task("first"), key=a_key("k", "digest"))
    conflict = upkeep.write_keyed(connection, CREATE, row("second"), a_task("second"), a_key("k", "other"))
    assert isinstance(conflict, KeyTaken)
    assert (conflict.task_id, conflict.digest) == ("first", "digest")
    assert column(connection, "select id from task") == ["first"]


async def test_a_write_that_conflicts_keeps_no_key(connection: sqlite3.Connection, store: SqliteTaskStore) -> None:
    await store.create(a_task("first"))
    conflict = upkeep.write_keyed(connection, CREATE, row("first"), a_task("first"), a_key("k"))
    assert type(conflict) is Conflict
    assert column(connection, "select key from idempotency") == []


async def test_a_holder_that_was_ended_gets_a_successor(connection: sqlite3.Connection) -> None:
    (holder,) = column(connection, "select id from holder")
    assert upkeep.renew(connection, holder, 200, successor="next")
    assert not upkeep.renew(connection, "ended", 300, successor="next")
    assert dict(connection.execute("select id, until_ms from holder")) == {holder: 200, "next": 300}


async def test_abandoned_runs_come_oldest_first_and_not_more_than_asked_for(
    connection: sqlite3.Connection, store: SqliteTaskStore
) -> None:
    for task_id, at_ms in (("b", 2), ("a", 2), ("c", 1), ("d", 3)):
        await store.create(a_task(task_id, at_ms=at_ms), turn=a_turn(task_id))
    found = upkeep.take_over(connection, "heir", now_ms=100, limit=3, task_id=None)
    assert [each.task.id for each in found] == ["c", "a", "b"]
    assert column(connection, "select id from task where holder = 'heir' order by id") == ["a", "b", "c"]


async def test_one_damaged_task_does_not_stop_a_takeover(
    connection: sqlite3.Connection, store: SqliteTaskStore
) -> None:
    for task_id in ("bad", "good"):
        await store.create(a_task(task_id), turn=a_turn(task_id))
    connection.execute("update task set body = 'damaged' where id = 'bad'")
    found = upkeep.take_over(connection, "heir", now_ms=100, limit=9, task_id=None)
    assert [each.task.id for each in found] == ["good"]


async def test_a_pruned_task_takes_its_webhooks_and_keys_and_no_others(
    connection: sqlite3.Connection, store: SqliteTaskStore
) -> None:
    for task_id in ("old", "new"):
        at_ms = 10 if task_id == "old" else 20
        task = a_task(task_id, context_id=task_id, state=S.COMPLETED, at_ms=at_ms)
        await store.create(task, key=a_key(f"key of {task_id}"))
        await store.put_push(a_push(task_id=task_id))
    pruned = upkeep.prune(connection, before_ms=20, limit=9)
    assert (pruned.task_ids, pruned.contexts) == (("old",), (("ann", "demo", "old"),))
    tables = ("select id from task", "select task_id from push", "select task_id from idempotency")
    assert [column(connection, query) for query in tables] == [["new"]] * 3


async def test_a_context_with_a_task_left_is_not_reported(
    connection: sqlite3.Connection, store: SqliteTaskStore
) -> None:
    for number in range(3):
        await store.create(a_task(f"t{number}", context_id="c", state=S.FAILED, at_ms=number))
    assert upkeep.prune(connection, before_ms=9, limit=2).contexts == ()
    assert upkeep.prune(connection, before_ms=9, limit=2).contexts == (("ann", "demo", "c"),)


async def test_only_keys_that_are_older_are_deleted_and_not_more_than_asked_for(
    connection: sqlite3.Connection, store: SqliteTaskStore
) -> None:
    for at_ms in (1, 2, 3, 4):
        await store.create(a_task(f"t{at_ms}"), key=a_key(f"k{at_ms}", at_ms=at_ms))
    assert upkeep.forget_keys(connection, before_ms=4, limit=2) == 2
    assert upkeep.forget_keys(connection, before_ms=4, limit=2) == 1
    assert column(connection, "select key from idempotency") == ["k4"]
