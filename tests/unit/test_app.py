import asyncio
import gc
import logging
import uuid
from contextlib import suppress
from pathlib import Path

import pytest
from tests.contract.task_store import a_task

from llamon_agent import app
from llamon_agent.app import new_id, now_ms, open_edge, serve
from llamon_agent.config.data import DataConfig, RetentionConfig
from llamon_agent.config.edge import A2aConfig, EdgeConfig
from llamon_agent.domain.errors import ConfigError, TaskNotFound
from llamon_agent.domain.task import TaskState
from llamon_agent.store.sqlite.folder import TASKS_NAME
from llamon_agent.store.sqlite.store import SqliteTaskStore


def test_ids_are_uuids_of_version_7_that_nobody_else_has() -> None:
    ids = [new_id() for _ in range(1000)]
    assert len(set(ids)) == 1000
    assert {(uuid.UUID(one).version, uuid.UUID(one).variant) for one in ids} == {(7, uuid.RFC_4122)}


def test_ids_sort_by_time() -> None:
    before_ms = now_ms()
    made_ms = uuid.UUID(new_id()).int >> 80
    assert before_ms <= made_ms <= now_ms()


def test_an_edge_that_is_off_listens_to_nobody(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def listen(*_address: object) -> None:
        raise AssertionError("it listens")

    monkeypatch.setattr(app, "listening", listen)
    serve(EdgeConfig(a2a=A2aConfig(enabled=False, adapter="echo")))
    assert "nothing listens" in caplog.text


def test_the_web_server_has_no_log_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_address: object) -> None:
        raise ConfigError("taken")

    monkeypatch.setattr(app, "listening", refuse)
    names = ("uvicorn", "uvicorn.error", "uvicorn.access")
    for name in names:
        monkeypatch.setattr(logging.getLogger(name), "handlers", [])
    with pytest.raises(ConfigError, match="taken"):
        serve(EdgeConfig(a2a=A2aConfig(adapter="echo"), data=DataConfig(ephemeral=True)))
    assert not any(logging.getLogger(name).handlers for name in names)


async def test_an_edge_in_a_process_of_somebody_else_leaves_its_garbage_alone() -> None:
    before = gc.get_threshold(), gc.get_freeze_count()
    async with open_edge(EdgeConfig(a2a=A2aConfig(adapter="echo"), data=DataConfig(ephemeral=True))):
        assert (gc.get_threshold(), gc.get_freeze_count()) == before


@pytest.mark.parametrize("target", ["many", "-1", "1.5"])
async def test_an_echo_of_no_number_of_pieces_is_refused(target: str) -> None:
    config = EdgeConfig(a2a=A2aConfig(adapter="echo", target=target), data=DataConfig(ephemeral=True))
    with pytest.raises(ConfigError, match="number of pieces"):
        async with open_edge(config):
            pass


async def test_one_folder_is_one_edges(tmp_path: Path) -> None:
    config = EdgeConfig(a2a=A2aConfig(adapter="echo"), data=DataConfig(folder=tmp_path))
    async with open_edge(config):
        with pytest.raises(ConfigError, match="in use by another process"):
            async with open_edge(config):
                pass
    async with open_edge(config):
        pass


async def test_an_edge_forgets_what_is_old_as_soon_as_it_starts(tmp_path: Path) -> None:
    old = a_task("old", owner="default", agent="echo", state=TaskState.COMPLETED, at_ms=1)
    store = SqliteTaskStore.open(tmp_path / TASKS_NAME)
    await store.create(old)
    await store.create(a_task("asks", owner="default", agent="echo", state=TaskState.INPUT_REQUIRED, at_ms=1))
    await store.close()
    data = DataConfig(folder=tmp_path, retention=RetentionConfig(tasks="1h", paused="1h"))
    async with asyncio.timeout(10), open_edge(EdgeConfig(a2a=A2aConfig(adapter="echo"), data=data)) as edge:
        with suppress(TaskNotFound):
            while True:
                await edge.runs.get("default", "echo", "old")
        after = await edge.runs.get("default", "echo", "asks")
    assert after.status.state is TaskState.FAILED  # just now, so that its owner can still read why
