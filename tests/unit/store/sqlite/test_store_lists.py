"""A page of a list costs the same however many tasks there are; what an earlier version has written is counted."""

import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from tests.contract.task_store import MINE, a_task, next_of

from llamon_agent.domain.task import TaskQuery, TaskState
from llamon_agent.store.sqlite.store import SqliteTaskStore, _list
from llamon_agent.store.statements import load_migrations

FEW, MANY = 200, 4_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tasks.sqlite3"


def fill(file: sqlite3.Connection, count: int) -> None:
    """Tasks of ann's, one in a hundred failed, ten in the context c, each of the others in a context of its own."""
    body = msgspec.json.encode(a_task())
    rows = [
        (f"task-{number:06}", f"c{number}" if number >= 10 else "c", "failed" if number % 100 == 0 else "working", body)
        for number in range(count)
    ]
    file.executemany(
        "insert into task (id, owner, agent, context_id, state, terminal, at_ms, seq, body)"
        " values (?, 'ann', 'demo', ?, ?, 0, 1000, 1, ?)",
        rows,
    )
    file.commit()


def steps_of(path: Path, count: int, query: TaskQuery) -> int:
    """How many steps of SQLite's machine a page takes among so many tasks."""
    steps = 0

    def count_step() -> int:
        nonlocal steps
        steps += 1
        return 0

    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.executescript(";".join(load_migrations("sqlite/migrations")))
        file.execute("begin")
        fill(file, count)
        file.set_progress_handler(count_step, 1)
        page = _list(file, query)
    assert page.tasks
    return steps


@pytest.mark.parametrize(
    "query",
    [
        MINE,
        msgspec.structs.replace(MINE, after=(1000, "task-000100")),
        msgspec.structs.replace(MINE, state=TaskState.WORKING),
        msgspec.structs.replace(MINE, state=TaskState.FAILED, limit=1),
        msgspec.structs.replace(MINE, state=TaskState.FAILED, limit=1, after=(1000, "task-000100")),
        msgspec.structs.replace(MINE, context_id="c"),
        msgspec.structs.replace(MINE, context_id="c", state=TaskState.WORKING, after=(1000, "task-000003")),
    ],
)
def test_a_page_takes_as_many_steps_among_many_tasks_as_among_few(tmp_path: Path, query: TaskQuery) -> None:
    few, many = steps_of(tmp_path / "few", FEW, query), steps_of(tmp_path / "many", MANY, query)
    assert many <= few + 20, "a state more to add up is a few steps"


async def test_the_tasks_of_an_earlier_versions_file_are_counted(path: Path) -> None:
    with closing(sqlite3.connect(path)) as file:
        file.executescript(";".join([*load_migrations("sqlite/migrations")[:3], "pragma user_version = 3"]))
        fill(file, 300)
    store = SqliteTaskStore.open(path)
    try:
        failed = TaskQuery(owner="ann", agent="demo", state=TaskState.FAILED)
        assert ((await store.list(MINE)).total, (await store.list(failed)).total) == (300, 3)
        await store.create(a_task("new", state=TaskState.SUBMITTED))
        await store.save(next_of(a_task("new"), TaskState.FAILED), expect=1)
        assert ((await store.list(MINE)).total, (await store.list(failed)).total) == (301, 4)
    finally:
        await store.close()


async def test_nothing_is_left_of_the_counts_of_an_owner_without_tasks(path: Path) -> None:
    store = SqliteTaskStore.open(path)
    try:
        await store.create(a_task())
        await store.save(next_of(a_task(), TaskState.COMPLETED), expect=1)
        await store.prune(before_ms=5_000, limit=10)
    finally:
        await store.close()
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("select * from task_count").fetchall() == []
