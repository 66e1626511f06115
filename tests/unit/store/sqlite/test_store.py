"""The SQLite store keeps the contracts, and what it was told, when its process or its file goes wrong."""

import asyncio
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path

import msgspec
import pytest
from tests.contract.lease import LeaseContract
from tests.contract.push_store import PushStoreContract, a_full_push, a_push, told, untold
from tests.contract.task_store import (
    MINE,
    TaskStoreContract,
    a_full_task,
    a_task,
    a_turn,
    ids,
    next_of,
)

from llamon_agent.domain.errors import BackendError, ConfigError, Conflict
from llamon_agent.domain.task import TaskState
from llamon_agent.runs.ports.store import Store, TaskStore
from llamon_agent.store.sqlite.store import Durability, SqliteTaskStore
from llamon_agent.store.statements import load_migrations, load_statements

ROOT = Path(__file__).parents[4]
PYTHONPATH = f"{ROOT / 'src'}{os.pathsep}{ROOT}"

DIES_AFTER_AN_ANSWER = """
import asyncio, os, signal, sys
from llamon_agent.store.sqlite.store import SqliteTaskStore
from tests.contract.push_store import PushStoreContract, a_full_push, a_push, told, untold
from tests.contract.task_store import a_task

async def main():
    store = SqliteTaskStore.open(sys.argv[1], durability="normal")
    await store.create(a_task("answered"))
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tasks.sqlite3"


class TestSqliteTaskStore(TaskStoreContract):
    @pytest.fixture(params=["full", "normal"])
    async def store(self, path: Path, request: pytest.FixtureRequest) -> AsyncIterator[TaskStore]:
        durability: Durability = request.param
        async with opened(path, durability) as store:
            yield store


class TestSqliteLeases(LeaseContract):
    @pytest.fixture
    async def store(self, path: Path) -> AsyncIterator[TaskStore]:
        async with opened(path) as store:
            yield store

    @pytest.fixture
    async def other(self, path: Path, store: TaskStore) -> AsyncIterator[TaskStore]:
        async with opened(path) as other:
            yield other


class TestSqlitePushStore(PushStoreContract):
    @pytest.fixture
    async def store(self, path: Path) -> AsyncIterator[Store]:
        async with opened(path) as store:
            yield store


@asynccontextmanager
async def opened(path: Path, durability: Durability = "full") -> AsyncIterator[SqliteTaskStore]:
    store = SqliteTaskStore.open(path, durability=durability)
    try:
        yield store
    finally:
        await store.close()


@contextmanager
def held_by_a_writer(path: Path) -> Iterator[None]:
    """Somebody else is in the middle of a write."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("begin immediate")
        yield
        other.execute("rollback")


def change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as file, file:
        file.execute(statement)


def refused(path: Path) -> str:
    with pytest.raises(ConfigError) as raised:
        SqliteTaskStore.open(path)
    assert str(path) in raised.value.public
    return raised.value.public


async def test_tasks_are_there_when_the_store_is_opened_again(path: Path) -> None:
    ended = next_of(a_task("ended"), TaskState.FAILED)
    async with opened(path) as store:
        await store.create(a_full_task())
        await store.create(a_task("ended"))
        await store.save(ended, expect=1)
    async with opened(path) as store:
        assert await store.get("ann", "demo", "task-1") == a_full_task()
        assert await store.get("ann", "demo", "ended") == ended
        with pytest.raises(Conflict):
            await store.save(next_of(ended), expect=ended.seq)


async def test_webhooks_are_there_when_the_store_is_opened_again(path: Path) -> None:
    async with opened(path) as store:
        await store.create(a_task())
        await store.put_push(a_full_push())
        await store.put_push(a_push(told_seq=1))
        await store.mark_delivered("task-1", "push-1", 6)
    async with opened(path) as store:
        assert await told(store) == {a_full_push().config.id: a_full_push().told_seq, "push-1": 6}
        assert (await store.list_push("ann", "demo", "task-1"))[0] == a_full_push()
        assert len(await untold(store)) == 2


async def test_a_file_from_before_there_were_webhooks_is_brought_up_to_date(path: Path) -> None:
    first, *_ = load_migrations("sqlite/migrations")
    with closing(sqlite3.connect(path)) as file:
        file.executescript(f"{first}; pragma user_version = 1")
        body = msgspec.json.encode(a_task()).decode()
        file.execute("insert into task values ('task-1', 'ann', 'demo', 'c', 'working', 0, 1000, 1, ?)", (body,))
        file.commit()
    async with opened(path) as store:
        assert await store.get("ann", "demo", "task-1") == a_task()
        await store.put_push(a_push())
        assert await untold(store) == [("task-1", "push-1")]


async def test_what_was_working_before_there_were_leases_is_taken_over_without_its_turn(path: Path) -> None:
    first, second, *_ = load_migrations("sqlite/migrations")
    with closing(sqlite3.connect(path)) as file:
        file.executescript(f"{first}; {second}; pragma user_version = 2")
        for state in ("submitted", "working", "completed", "input-required"):
            body = msgspec.json.encode(a_task(state, state=TaskState(state)))
            row = (state, state, state == "completed", body)
            file.execute("insert into task values (?, 'ann', 'demo', 'c', ?, ?, 1000, 1, ?)", row)
        file.commit()
    async with opened(path) as store:
        await store.renew(until_ms=1)
        taken = await store.take_over(now_ms=1, limit=10)
        assert [(each.task.id, each.turn, each.attempt) for each in taken] == [
            ("submitted", None, 1),
            ("working", None, 2),
        ]


async def test_opening_the_file_ends_whoever_had_it_open(path: Path) -> None:
    async with opened(path) as dead:
        await dead.renew(until_ms=1_000)
        await dead.create(a_task(), turn=a_turn())
        async with opened(path) as store:
            await store.renew(until_ms=1_000)
            assert [each.task.id for each in await store.take_over(now_ms=0, limit=10)] == ["task-1"]
            assert not await dead.renew(until_ms=1_000)


async def test_closing_keeps_writes_that_are_still_waiting(path: Path) -> None:
    store = SqliteTaskStore.open(path)
    writes = [asyncio.create_task(store.create(a_task(f"task-{number}"))) for number in range(50)]
    await asyncio.sleep(0)
    async with asyncio.timeout(5):
        await store.close()
        await asyncio.gather(*writes)
    async with opened(path) as again:
        assert (await again.list(MINE)).total == 50


async def test_closing_leaves_one_whole_file(path: Path) -> None:
    async with opened(path) as store:
        await store.create(a_task())
    assert [file.name for file in path.parent.iterdir()] == [path.name]


async def test_what_a_killed_process_was_answered_is_kept(path: Path) -> None:
    program = [sys.executable, "-c", DIES_AFTER_AN_ANSWER, str(path)]
    killed = subprocess.run(program, env=os.environ | {"PYTHONPATH": PYTHONPATH}, timeout=30, check=False)  # noqa: ASYNC221
    assert killed.returncode == -signal.SIGKILL
    async with opened(path) as store:
        assert ids(await store.list(MINE)) == ["answered"]


async def test_a_read_does_not_wait_for_a_write(path: Path) -> None:
    async with opened(path) as store, asyncio.timeout(5):
        await store.create(a_task())
        with held_by_a_writer(path):
            write = asyncio.create_task(store.create(a_task("late")))
            assert await store.get("ann", "demo", "task-1") == a_task()
            assert ids(await store.list(MINE)) == ["task-1"]
            assert not write.done()
        await write


@pytest.mark.parametrize("statements", ["task", "lease", "retention"])
async def test_no_statement_reads_the_whole_table(path: Path, statements: str) -> None:
    async with opened(path):
        pass
    with closing(sqlite3.connect(path)) as file:
        for name, statement in load_statements(f"sqlite/{statements}.sql").items():
            anything = dict.fromkeys(re.findall(r":(\w+)", statement))
            plan = [str(row[-1]) for row in file.execute(f"explain query plan {statement}", anything)]
            assert [step for step in plan if re.match("SCAN (task|idempotency|push)", step)] == [], name
            sorts = any("TEMP B-TREE" in step for step in plan)
            assert sorts == (name == "take_over"), name


async def test_webhooks_of_tasks_that_are_over_cost_a_start_nothing(path: Path) -> None:
    async with opened(path):
        pass
    with closing(sqlite3.connect(path)) as file:
        for name, statement in load_statements("sqlite/push.sql").items():
            anything = dict.fromkeys(re.findall(r":(\w+)", statement))
            plan = [str(row[-1]) for row in file.execute(f"explain query plan {statement}", anything)]
            expected = ["SCAN push USING INDEX push_to_tell"] if name == "undelivered" else []
            assert [step for step in plan if step.startswith("SCAN") or "TEMP B-TREE" in step] == expected, name


def test_a_folder_that_is_not_there_is_reported(tmp_path: Path) -> None:
    assert "cannot be opened or written" in refused(tmp_path / "nowhere" / "tasks.sqlite3")


def test_a_folder_in_the_files_place_is_reported(tmp_path: Path) -> None:
    assert "cannot be opened or written" in refused(tmp_path)


def test_a_file_that_is_no_task_store_is_reported_and_not_changed(path: Path) -> None:
    path.write_bytes(b"my novel " * 1_000)
    assert "it is damaged, or not what it should be" in refused(path)
    assert path.read_bytes() == b"my novel " * 1_000


def test_a_newer_versions_file_is_reported_and_not_changed(path: Path) -> None:
    change(path, "pragma user_version = 999")
    assert "a newer version's" in refused(path)
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("select count(*) from sqlite_schema").fetchone() == (0,)


async def test_a_damaged_task_is_a_backend_error(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with opened(path) as store:
        await store.create(a_task())
        change(path, "update task set body = 'nonsense'")
        for call in (store.get("ann", "demo", "task-1"), store.list(MINE)):
            with pytest.raises(BackendError) as raised:
                await call
            assert raised.value.public == BackendError.public
    assert "a record of the task store cannot be read" in caplog.text


async def test_a_damaged_task_does_not_stop_the_others(path: Path) -> None:
    async with opened(path) as gone, opened(path) as store:
        await gone.renew(until_ms=1)
        for name in ("bad", "good"):
            await gone.create(a_task(name), turn=a_turn(name))
            await gone.create(a_task(f"{name}-paused", state=TaskState.INPUT_REQUIRED))
        change(path, "update task set body = 'nonsense' where id like 'bad%'")
        assert [each.task.id for each in await store.take_over(now_ms=1, limit=10)] == ["good"]
        assert [task.id for task in await store.paused_before(before_ms=10_000, limit=10)] == ["good-paused"]


async def test_a_store_without_its_table_fails(path: Path) -> None:
    async with opened(path) as store:
        await store.create(a_task())
        change(path, "drop table task")
        for call in (store.create(a_task("new")), store.save(next_of(a_task()), expect=1), store.list(MINE)):
            with pytest.raises(BackendError) as raised:
                await call
            assert not isinstance(raised.value, Conflict)
            assert raised.value.public == BackendError.public
            assert isinstance(raised.value.__cause__, sqlite3.OperationalError)
