import asyncio
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import aiosqlite
import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from tests.unit.adapters.langgraph.scripted import agent_of, chat_graph, messages_of, plain

from llamon_agent.adapters.langgraph.checkpoints.sqlite import FileSaver, open_checkpoints
from llamon_agent.domain.errors import BackendError, ConfigError


async def test_sqlite_keeps_a_thread_over_a_restart(tmp_path: Path) -> None:
    folder = tmp_path / "made" / "on demand"
    async with open_checkpoints("sqlite", folder) as saver:
        await agent_of(chat_graph(plain("one"), saver)).invoke("q", thread_id="thread")
    async with open_checkpoints("sqlite", folder) as saver:
        kept = await messages_of(chat_graph(plain(), saver))
    assert [message.content for message in kept] == ["q", "one"]


async def test_memory_and_none_touch_no_disk(tmp_path: Path) -> None:
    async with open_checkpoints("memory", tmp_path) as memory, open_checkpoints("none", tmp_path) as none:
        assert isinstance(memory, InMemorySaver)
        assert none is None
    assert os.listdir(tmp_path) == []


async def test_a_data_folder_that_cannot_be_made_is_a_config_error(tmp_path: Path) -> None:
    await asyncio.to_thread((tmp_path / "file").write_text, "")
    with pytest.raises(ConfigError, match="cannot be made"):
        async with open_checkpoints("sqlite", tmp_path / "file" / "folder"):
            pass


def random_bytes(file: Path) -> None:
    file.write_bytes(b"no database at all" * 100)


def a_folder(file: Path) -> None:
    file.mkdir()


def other_tables(file: Path) -> None:
    connection = sqlite3.connect(file)
    connection.execute("create table checkpoints (other text)")
    connection.close()


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (random_bytes, "damaged, or are no threads: move it away"),
        (a_folder, "cannot be opened or written: check that it is a file and writable"),
        (other_tables, "damaged, or are no threads: move it away"),
    ],
)
async def test_a_file_that_cannot_be_used_is_a_config_error(
    tmp_path: Path, damage: Callable[[Path], None], told: str
) -> None:
    file = tmp_path / "checkpoints.sqlite"
    await asyncio.to_thread(damage, file)
    with pytest.raises(ConfigError, match=told) as raised:
        async with open_checkpoints("sqlite", tmp_path):
            pass
    assert str(file) in raised.value.public


async def test_a_file_that_is_set_up_but_cannot_be_written_any_more_is_a_config_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_checkpoints("sqlite", tmp_path):
        pass
    connect = aiosqlite.connect
    monkeypatch.setattr(aiosqlite, "connect", lambda file: connect(f"file:{file}?mode=ro", uri=True))
    with pytest.raises(ConfigError, match="cannot be opened or written"):
        async with open_checkpoints("sqlite", tmp_path):
            pass


async def test_an_error_in_the_block_is_not_the_files(tmp_path: Path) -> None:
    with pytest.raises(sqlite3.OperationalError, match="mine"):
        async with open_checkpoints("sqlite", tmp_path):
            raise sqlite3.OperationalError("mine")


THREAD: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "1"}}


class Counted:
    """An access that counts uses, and says of a file's failures that the place is away."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.reads = 0
        self.writes = 0

    @contextmanager
    def reading(self) -> Iterator[None]:
        self.reads += 1
        with self._used():
            yield

    @contextmanager
    def writing(self) -> Iterator[None]:
        self.writes += 1
        with self._used():
            yield

    @contextmanager
    def _used(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as exc:
            raise BackendError from exc


async def test_every_use_of_a_file_goes_through_its_access(tmp_path: Path) -> None:
    async with open_checkpoints("sqlite", tmp_path, access_to=Counted) as saver:
        assert isinstance(saver, FileSaver)
        access = saver.access
        assert isinstance(access, Counted)
        assert access.file == tmp_path / "checkpoints.sqlite"
        await saver.aput(THREAD, empty_checkpoint(), {}, {})
        await saver.aput_writes(THREAD, [("a", 1)], "task")
        await saver.aget_tuple(THREAD)
        assert len([found async for found in saver.alist({"configurable": {"thread_id": "t"}})]) == 1
        await saver.adelete_thread("t")
        assert (access.reads, access.writes) == (2, 3)


async def test_of_a_write_that_failed_in_the_middle_nothing_is_kept_by_the_next(tmp_path: Path) -> None:
    """LangGraph's own checkpointer would commit one of a node's two writes together with what somebody else writes."""
    async with open_checkpoints("sqlite", tmp_path, access_to=Counted) as saver:
        assert isinstance(saver, FileSaver)
        await saver.conn.execute(
            "create trigger full before insert on writes when new.channel = 'second' "
            "begin select raise(abort, 'disk is full'); end"
        )
        await saver.conn.commit()
        with pytest.raises(BackendError):
            await saver.aput_writes(THREAD, [("first", 1), ("second", 2)], "task")
        await saver.aput(THREAD, empty_checkpoint(), {}, {})
        assert await (await saver.conn.execute("select channel from writes")).fetchall() == []
