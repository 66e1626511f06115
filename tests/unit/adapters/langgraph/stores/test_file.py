"""A store in a SQLite file: who may read it, and what stays of it if a write fails."""

import logging
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from langgraph.store.base import PutOp

from llamon_agent.adapters.langgraph.checkpoints.access import FreeAccess
from llamon_agent.adapters.langgraph.stores.opening import FILE_NAME, FileStore, StoreOptions, open_file
from llamon_agent.adapters.langgraph.stores.owned import Table
from llamon_agent.domain.errors import AgentError, BackendError, ConfigError
from llamon_agent.store.sqlite.file import SqliteFile


@pytest.fixture
async def table(tmp_path: Path) -> AsyncIterator[Table]:
    async with open_file(
        "demo", tmp_path / "demo", StoreOptions(), lambda file: SqliteFile(file, "the store in")
    ) as opened:
        yield opened


def connection_of(table: Table) -> sqlite3.Connection:
    assert isinstance(table.inner, FileStore)
    return table.inner.conn


async def test_a_file_is_private(tmp_path: Path) -> None:
    async with open_file("demo", tmp_path / "demo", StoreOptions(), lambda _file: FreeAccess()) as table:
        await table.of("ann").aput(("n",), "k", {})
        assert {file.stat().st_mode & 0o777 for file in (tmp_path / "demo").iterdir()} == {0o600}


async def test_a_file_that_is_no_store_is_refused_at_start(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text("no database, and long enough to be taken for one" * 50)
    with pytest.raises(ConfigError, match="cannot be opened"):
        async with open_file("demo", tmp_path, StoreOptions(), lambda _file: FreeAccess()):
            pass


async def test_a_store_that_is_away_is_an_outage(table: Table, tmp_path: Path) -> None:
    await table.of("ann").aput(("n",), "k", {})
    (tmp_path / "demo" / FILE_NAME).rename(tmp_path / "away")
    with pytest.raises(BackendError):
        await table.of("ann").aput(("n",), "k", {})


async def test_a_full_disk_is_an_outage_that_the_log_explains_and_that_ends(
    table: Table, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    connection, store = connection_of(table), table.of("ann")
    connection.execute("pragma max_page_count = 12")
    with pytest.raises(BackendError):
        await store.aput(("n",), "k", {"text": "x" * 100_000})
    assert "cannot be written: the disk is full" in caplog.text
    connection.execute("pragma max_page_count = 100000")
    await store.aput(("n",), "k", {"text": "fine"})
    assert "can be written again" in caplog.text


async def test_of_operations_at_once_all_or_none_are_kept(table: Table) -> None:
    connection, store = connection_of(table), table.of("ann")
    await store.aput(("n",), "old", {})
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 10_000)
    with pytest.raises(AgentError, match="cannot be saved"):
        await store.abatch([PutOp(("n",), "old", None), PutOp(("n",), "large", {"text": "x" * 20_000})])
    assert [item.key for item in await store.asearch(())] == ["old"]
