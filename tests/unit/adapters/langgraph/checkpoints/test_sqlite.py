import asyncio
import os
import sqlite3
import sys
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import aiosqlite
import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint, empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from tests.unit.adapters.langgraph.scripted import agent_of, chat_graph, messages_of, plain

from llamon_agent.adapters.langgraph.checkpoints import access as access_module
from llamon_agent.adapters.langgraph.checkpoints.sqlite import FileSaver, open_checkpoints
from llamon_agent.adapters.worker_threads import joining, sleep_in_run
from llamon_agent.domain.errors import BackendError, ConfigError
from llamon_agent.store.sqlite.file import SqliteFile


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
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda file, **given: connect(f"file:{file}?mode=ro", uri=True, **given))
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

    def may_pass(self, error: BaseException) -> bool:
        return isinstance(error, sqlite3.OperationalError)

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


async def refuse(saver: FileSaver, channel: str) -> None:
    """From now on the file refuses writes to a channel."""
    await saver.conn.execute(
        f"create trigger refuses before insert on writes when new.channel = '{channel}' "
        "begin select raise(abort, 'no'); end"
    )
    await saver.conn.commit()


async def test_of_a_write_that_failed_in_the_middle_nothing_is_kept_by_the_next(tmp_path: Path) -> None:
    """LangGraph's own checkpointer would commit one of a node's two writes together with what somebody else writes."""
    async with open_checkpoints("sqlite", tmp_path, access_to=Counted) as saver:
        assert isinstance(saver, FileSaver)
        await refuse(saver, "second")
        with pytest.raises(BackendError):
            await saver.aput_writes(THREAD, [("first", 1), ("second", 2)], "task")
        await saver.aput(THREAD, empty_checkpoint(), {}, {})
        assert await (await saver.conn.execute("select channel from writes")).fetchall() == []


async def test_writes_of_one_moment_share_a_commit(tmp_path: Path) -> None:
    async with open_checkpoints("sqlite", tmp_path) as saver:
        assert isinstance(saver, FileSaver)
        commits = await changes_seen(tmp_path)
        threads: list[RunnableConfig] = [
            {"configurable": {"thread_id": str(each), "checkpoint_ns": "", "checkpoint_id": "1"}} for each in range(50)
        ]
        puts = [saver.aput(thread, empty_checkpoint(), {}, {}) for thread in threads]
        writes = [saver.aput_writes(thread, [("a", 1)], "task") for thread in threads]
        await asyncio.gather(*puts, *writes)
        assert await changes_seen(tmp_path) == commits + 1
        assert len([found async for found in saver.alist(None)]) == 50


async def changes_seen(folder: Path) -> int:
    """How often the file was changed by a commit. Source: the index of a WAL, whose third word counts transactions."""

    def read() -> int:
        return int.from_bytes((folder / "checkpoints.sqlite-shm").read_bytes()[8:12], sys.byteorder)

    return await asyncio.to_thread(read)


async def test_a_write_that_fails_fails_no_other_of_its_group(tmp_path: Path) -> None:
    async with open_checkpoints("sqlite", tmp_path, access_to=Counted) as saver:
        assert isinstance(saver, FileSaver)
        await refuse(saver, "refused")
        channels = ["a", "refused", "b", "lone \ud800"]
        writes = [saver.aput_writes(THREAD, [(channel, 1)], channel[0]) for channel in channels]
        outcomes = await asyncio.gather(*writes, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [type(None), BackendError, type(None), UnicodeEncodeError]
        kept = await (await saver.conn.execute("select channel from writes order by channel")).fetchall()
        assert [channel for (channel,) in kept] == ["a", "b"]


async def test_a_step_is_in_the_file_when_its_save_returns(tmp_path: Path) -> None:
    """Another connection sees it, so it is committed."""
    async with open_checkpoints("sqlite", tmp_path) as saver:
        assert saver is not None
        checkpoint = empty_checkpoint()
        await saver.aput(THREAD, checkpoint, {}, {})
        with closing(sqlite3.connect(tmp_path / "checkpoints.sqlite")) as other:
            assert other.execute("select checkpoint_id from checkpoints").fetchall() == [(checkpoint["id"],)]


async def test_a_value_is_saved_as_it_was_when_it_was_given(tmp_path: Path) -> None:
    async with open_checkpoints("sqlite", tmp_path) as saver:
        assert saver is not None
        checkpoint, state = empty_checkpoint(), ["given"]
        saving = asyncio.create_task(saver.aput(THREAD, {**checkpoint, "channel_values": {"state": state}}, {}, {}))
        await asyncio.sleep(0)
        state.append("later")
        found = await saver.aget_tuple(await saving)
        assert found is not None
        assert found.checkpoint["channel_values"] == {"state": ["given"]}


async def test_a_read_waits_for_a_program_that_holds_the_file(tmp_path: Path) -> None:
    """Not on the event loop, which goes on."""
    async with open_checkpoints("sqlite", tmp_path) as saver:
        assert isinstance(saver, FileSaver)
        saved = await saver.aput(THREAD, empty_checkpoint(), {}, {})
    file = tmp_path / "checkpoints.sqlite"
    with (
        closing(sqlite3.connect(file, isolation_level=None)) as other,
        closing(sqlite3.connect(file, timeout=0)) as own,
    ):
        other.execute("pragma journal_mode = delete")  # in which a writer keeps readers out
        async with aiosqlite.connect(file) as waits:
            again = FileSaver(waits, saver._group, own)
            again.is_setup = True
            other.execute("begin exclusive")
            reading = asyncio.create_task(again.aget_tuple(saved))
            await asyncio.sleep(0)
            assert not reading.done()
            other.execute("rollback")
            assert await reading is not None


async def test_a_disk_that_is_full_for_a_moment_fails_no_write_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_checkpoints("sqlite", tmp_path, access_to=lambda file: SqliteFile(file, "the threads in")) as saver:
        assert isinstance(saver, FileSaver)
        group = saver._group
        (pages,) = await group.work(lambda writing: writing.execute("pragma page_count").fetchone())
        await group.work(lambda writing: writing.execute(f"pragma max_page_count = {pages}").fetchone() and None)

        async def make_room(time_s: float) -> bool:
            await group.work(lambda writing: writing.execute("pragma max_page_count = 1000000").fetchone() and None)
            return await sleep_in_run(time_s)

        monkeypatch.setattr(access_module, "sleep_in_run", make_room)

        async def run() -> AsyncGenerator[RunnableConfig]:
            checkpoint: Checkpoint = {**empty_checkpoint(), "channel_values": {"large": "x" * 100_000}}
            yield await saver.aput(THREAD, checkpoint, {}, {})

        (saved,) = [each async for each in joining(run())]
        assert await saver.aget_tuple(saved) is not None
