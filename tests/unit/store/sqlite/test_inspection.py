"""A file is looked at as it is, whoever works on it, and never written."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from tests.unit.store.inspecting import InspectionContract, Look, fill

from llamon_agent.domain.errors import BackendError, ConfigError
from llamon_agent.runs.inspection import TaskFilter
from llamon_agent.runs.ports.store import Store
from llamon_agent.store.sqlite.inspection import SqliteInspection
from llamon_agent.store.sqlite.store import SqliteTaskStore
from llamon_agent.store.statements import load_migrations


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a #1 folder?" / "tasks.sqlite"


class TestSqliteInspection(InspectionContract):
    @pytest.fixture
    async def store(self, path: Path) -> AsyncIterator[Store]:
        path.parent.mkdir()
        store = SqliteTaskStore.open(path)
        yield store
        await store.close()

    @pytest.fixture
    def look(self, path: Path) -> Look:
        return lambda: SqliteInspection.open(path)


def made(path: Path, versions: int) -> None:
    """A file whose schema has so many versions."""
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for script in load_migrations("sqlite/migrations")[:versions]:
            connection.executescript(script)
        connection.execute(f"pragma user_version = {versions}")


def refused(path: Path) -> str:
    with pytest.raises(ConfigError) as raised, SqliteInspection.open(path) as stored:
        stored.find("t")
    return raised.value.public


async def filled(path: Path) -> None:
    store = SqliteTaskStore.open(path)
    await fill(store)
    await store.close()


def test_looking_leaves_a_closed_file_as_it_was(path: Path) -> None:
    path.parent.mkdir()
    asyncio.run(filled(path))
    before = path.read_bytes()
    with SqliteInspection.open(path) as stored:
        assert stored.count(TaskFilter()) == 3
        with suppress(sqlite3.OperationalError):
            stored._connection.execute("delete from task")
        assert stored.count(TaskFilter()) == 3
    assert path.read_bytes() == before


def test_an_older_file_is_looked_at_before_it_is_migrated(path: Path) -> None:
    made(path, 1)
    with SqliteInspection.open(path) as stored:
        facts = stored.facts()
        assert (stored.count(TaskFilter()), facts.webhooks, facts.keys) == (0, 0, 0)
    assert (facts.schema, facts.pending) == (1, len(load_migrations("sqlite/migrations")) - 1)


def test_a_newer_file_is_not_guessed_at(path: Path) -> None:
    made(path, 1)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("pragma user_version = 99")
    assert "newer version's: upgrade" in refused(path)
    with SqliteInspection.open(path) as stored:
        assert stored.facts().pending < 0


def test_a_file_that_is_not_there_is_not_made(path: Path) -> None:
    assert f"There is no task store at {path}" in refused(path)
    assert not path.parent.exists()


def test_a_file_of_something_else_is_said_to_be_that(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("no database, however long it may be. " * 100)
    assert "cannot be read" in refused(path)
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create table other (x)")
    assert "holds no tasks" in refused(path)


def test_a_task_that_cannot_be_read_is_an_error_and_not_left_out(path: Path) -> None:
    made(path, 1)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("insert into task values ('t', 'o', 'a', 'c', 'working', 0, 1, 1, '{}')")
        connection.commit()
    with SqliteInspection.open(path) as stored, pytest.raises(BackendError, match="cannot be read"):
        stored.find("t")
