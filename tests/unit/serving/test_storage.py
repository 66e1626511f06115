"""What the section `data` says is what is opened."""

import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from psycopg import AsyncConnection
from pydantic import SecretStr
from tests.contract.task_store import MINE

from llamon_agent.adapters.langgraph.checkpoints.postgres import AgentPostgresSaver
from llamon_agent.config.data import DataConfig, PostgresConfig
from llamon_agent.config.edge import A2aConfig, AgentConfig, AgentSpec, EdgeConfig
from llamon_agent.domain.errors import ConfigError
from llamon_agent.serving.storage import open_database, open_storage
from llamon_agent.store.memory import MemoryTaskStore
from llamon_agent.store.postgres.store import PostgresTaskStore
from llamon_agent.store.sqlite.store import SqliteTaskStore


def spec(data: DataConfig) -> AgentSpec:
    return EdgeConfig(a2a=A2aConfig(adapter="echo"), data=data).agent_specs()[0]


def in_postgres(url: str, *, ephemeral: bool = False) -> DataConfig:
    return DataConfig(postgres=PostgresConfig(url=SecretStr(url), pool_min=1), ephemeral=ephemeral)


async def test_without_anything_it_is_the_data_folder(tmp_path: Path) -> None:
    data = DataConfig(folder=tmp_path / "data")
    async with open_storage(data) as storage, AsyncExitStack() as stack:
        assert isinstance(storage.store, SqliteTaskStore)
        assert isinstance(await storage.open_checkpoints(spec(data), stack), AsyncSqliteSaver)
        assert sorted(file.name for file in (tmp_path / "data").iterdir() if file.is_dir()) == ["echo"]
        with pytest.raises(ConfigError, match="in use by another process"):
            async with open_storage(data):
                pass


def modes_in(folder: Path) -> dict[str, int]:
    return {str(made.relative_to(folder)): made.stat().st_mode & 0o777 for made in folder.rglob("*")}


@pytest.fixture
def open_folder(tmp_path: Path) -> Path:
    """A data folder of an earlier version, which others may look into."""
    tmp_path.chmod(0o755)
    (tmp_path / "echo").mkdir(mode=0o755)
    for name in ("tasks.sqlite", "llamon.lock", "echo/checkpoints.sqlite"):
        (tmp_path / name).touch(0o644)
    return tmp_path


async def test_no_other_user_can_read_the_files_of_an_older_folder(
    open_folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data = DataConfig(folder=open_folder)
    async with open_storage(data) as storage, AsyncExitStack() as stack:
        await storage.open_checkpoints(spec(data), stack)
        await storage.store.renew(until_ms=1)
        modes = modes_in(open_folder)
    assert modes.pop("echo") == 0o700
    assert {"tasks.sqlite", "tasks.sqlite-wal", "llamon.lock", "echo/checkpoints.sqlite"} <= modes.keys()
    assert set(modes.values()) == {0o600}
    assert f"the data folder {open_folder} is open to other users" in caplog.text


async def test_ephemeral_is_memory_whatever_else_is_said(tmp_path: Path) -> None:
    data = in_postgres("postgresql://nowhere/x", ephemeral=True)
    async with open_storage(data) as storage, AsyncExitStack() as stack:
        assert isinstance(storage.store, MemoryTaskStore)
        assert isinstance(await storage.open_checkpoints(spec(data), stack), InMemorySaver)


async def test_a_database_keeps_tasks_and_threads_and_leaves_the_folder_alone(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data = in_postgres(database_url)
    async with open_storage(data) as storage, open_storage(data), AsyncExitStack() as stack:
        assert isinstance(storage.store, PostgresTaskStore)
        assert (await storage.store.list(MINE)).total == 0
        saver = await storage.open_checkpoints(spec(data), stack)
        assert isinstance(saver, AgentPostgresSaver)
        assert await saver.aget_tuple({"configurable": {"thread_id": "thread"}}) is None
    assert list(tmp_path.iterdir()) == []  # noqa: ASYNC240


async def test_durability_reaches_the_database(database_url: str) -> None:
    postgres = in_postgres(database_url).postgres
    assert postgres is not None
    async with open_database(postgres, durable=False) as pool, pool.connection() as connection:
        assert isinstance(connection, AsyncConnection)
        found = await (await connection.execute("show synchronous_commit")).fetchone()
        assert found == ("off",)


async def test_a_missing_library_is_reported_with_what_to_install(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "llamon_agent.store.postgres.pool", None)
    with pytest.raises(ConfigError, match=r"install llamon-agent\[postgres\]"):
        async with open_storage(in_postgres(database_url)):
            pass


async def test_threads_of_an_agent_with_a_list_of_classes_hold_no_others(tmp_path: Path) -> None:
    sections: dict[str, Any] = {"langgraph": {"allowed_msgpack_modules": []}}
    config = EdgeConfig(
        a2a=A2aConfig(target="x:y"),
        agents={"one": AgentConfig.model_validate(sections), "two": AgentConfig()},
        data=DataConfig(folder=tmp_path / "data"),
    )
    async with open_storage(config.data) as storage, AsyncExitStack() as stack:
        strict, open_to_all = [await storage.open_checkpoints(each, stack) for each in config.agent_specs()]
        assert strict is not None
        assert open_to_all is not None
        kept = open_to_all.serde.dumps_typed(DataConfig())
        assert open_to_all.serde.loads_typed(kept) == DataConfig()
        assert not isinstance(strict.serde.loads_typed(kept), DataConfig)
