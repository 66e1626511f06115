"""An operator changes a store only where no edge uses it, and leaves nothing behind."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from pydantic import SecretStr
from tests.contract.task_store import a_task, a_turn

from llamon_agent.cli.exits import Usage
from llamon_agent.cli.store_admin import cancel_stored, migrate_stored, prune_stored
from llamon_agent.config.data import DataConfig, PostgresConfig
from llamon_agent.domain.errors import ConfigError, TaskNotFound
from llamon_agent.domain.task import TaskState
from llamon_agent.runs.ports.store import Store
from llamon_agent.serving.storage import inspect_storage, open_storage
from llamon_agent.store.sqlite.folder import TASKS_NAME, own_folder

S = TaskState
FOREVER_MS = 1 << 60


@pytest.fixture
def data(tmp_path: Path) -> DataConfig:
    return DataConfig(folder=tmp_path / "data")


@asynccontextmanager
async def opened(data: DataConfig) -> AsyncIterator[Store]:
    async with open_storage(data) as storage:
        yield storage.store


def state_of(data: DataConfig, task_id: str) -> TaskState | None:
    with inspect_storage(data) as stored:
        task = stored.find(task_id)
        return None if task is None else task.status.state


async def test_no_store_is_made_where_there_is_none(data: DataConfig) -> None:
    with pytest.raises(ConfigError, match="There is no task store"):
        await cancel_stored(data, "t1")
    with pytest.raises(ConfigError, match="There is no task store"):
        await prune_stored(data, before_ms=FOREVER_MS)
    assert not data.folder.exists()


async def test_a_task_that_is_not_stored_cannot_be_canceled(data: DataConfig) -> None:
    await migrate_stored(data)
    with pytest.raises(TaskNotFound):
        await cancel_stored(data, "t1")


async def test_after_a_cancel_no_process_is_left_registered(data: DataConfig) -> None:
    async with opened(data) as store:
        await store.create(a_task("t1"), turn=a_turn("t1"))
    await cancel_stored(data, "t1")
    assert state_of(data, "t1") is S.CANCELED
    with sqlite3.connect(data.folder / TASKS_NAME) as connection:
        assert connection.execute("select count(*) from holder").fetchone() == (0,)
    connection.close()


async def test_a_run_of_a_process_that_lives_is_not_canceled(own_store_url: str) -> None:
    data = DataConfig(postgres=PostgresConfig(url=SecretStr(own_store_url)))
    async with opened(data) as edge:
        await edge.renew(until_ms=FOREVER_MS)
        await edge.create(a_task("t1"), turn=a_turn("t1"))
        with pytest.raises(Usage, match="An edge is running on these tasks: cancel the task there, with --url"):
            await cancel_stored(data, "t1")
        assert state_of(data, "t1") is S.WORKING


async def test_a_conversation_with_a_task_left_is_not_counted(data: DataConfig) -> None:
    async with opened(data) as store:
        for task_id, at_ms in (("old", 10), ("new", 20)):
            await store.create(a_task(task_id, context_id="c", state=S.COMPLETED, at_ms=at_ms))
    assert await prune_stored(data, before_ms=20) == (1, 0)
    assert await prune_stored(data, before_ms=21) == (1, 1)


async def test_migrating_makes_a_store_and_may_be_repeated(data: DataConfig) -> None:
    for _ in range(2):
        await migrate_stored(data)
        with inspect_storage(data) as stored:
            assert stored.facts().pending == 0


async def test_an_edge_that_runs_is_not_migrated(data: DataConfig) -> None:
    with own_folder(data.folder), pytest.raises(Usage, match="Or stop the edge first"):
        await migrate_stored(data)
    assert not (data.folder / TASKS_NAME).exists()
