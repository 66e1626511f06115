"""Where LangGraph threads are saved: in a SQLite file in the data folder, in memory, or nowhere."""

import json
import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

import aiosqlite
import msgspec
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from llamon_agent.adapters.langgraph.checkpoints.access import Access, FreeAccess, write_patiently
from llamon_agent.adapters.langgraph.checkpoints.memory import PrunedMemory
from llamon_agent.adapters.langgraph.checkpoints.pruning import MOST_AT_ONCE, Metadata, PrunedSaver, Saved, unneeded
from llamon_agent.adapters.langgraph.checkpoints.serializer import serializer
from llamon_agent.adapters.langgraph.checkpoints.statements import TakenStatements
from llamon_agent.domain.errors import ConfigError
from llamon_agent.group_commit import GroupCommit, alone
from llamon_agent.private_files import close_to_others, make_private_file, make_private_folder

_T = TypeVar("_T")

CheckpointKind = Literal["sqlite", "memory", "none"]

FILE_NAME = "checkpoints.sqlite"


_SAVED = "select checkpoint_ns, checkpoint_id, parent_checkpoint_id, metadata from checkpoints where thread_id = ?"
_SIZE = "select coalesce(sum(length(checkpoint)), 0) from checkpoints where thread_id = ?"
_THREADS = "select distinct thread_id from checkpoints"
_DELETE_CHECKPOINT = "delete from checkpoints where thread_id = ? and checkpoint_ns = ? and checkpoint_id = ?"
_DELETE_WRITES = "delete from writes where thread_id = ? and checkpoint_ns = ? and checkpoint_id = ?"

AccessTo = Callable[[Path], Access]
"""Makes the hook around each use of an open file."""


def _free(_file: Path) -> Access:
    return FreeAccess()


@asynccontextmanager
async def open_checkpoints(
    kind: CheckpointKind, data_folder: Path, *, access_to: AccessTo = _free, past_turns: int | None = 1
) -> AsyncGenerator[BaseCheckpointSaver[str] | None]:
    """The checkpointer for graphs that have none of their own; open as long as the block runs.

    Shape:  past_turns counts the turns whose checkpoints are kept besides the newest one's; None keeps all.
    Raises: ConfigError: the data folder, or the file in it, cannot be used.
    """
    match kind:
        case "sqlite":
            async with AsyncExitStack() as opened:
                file = _file_in(data_folder)
                saver = await _opened(file, opened)
                saver.access, saver.past_turns = access_to(file), past_turns
                yield saver
        case "memory":
            in_memory = PrunedMemory()
            in_memory.past_turns = past_turns
            yield in_memory
        case "none":
            yield None


class FileSaver(AsyncSqliteSaver, PrunedSaver):
    """A checkpointer in a file, whose writes are committed in groups: those of all its threads that come together.

    LangGraph's own commits each write by itself, one after the other, and leaves its transaction open after a failure,
    so that the next commit includes half of a node's writes. Here LangGraph's statements are taken and executed in the
    group's transaction; of a write that fails nothing is kept. The latest checkpoint is read on the event loop, which
    costs less than to hand it to a thread and back. All other reads are LangGraph's own.

    Shape: reading is a connection of the event loop's, which never waits for a lock.
    """

    def __init__(self, connection: aiosqlite.Connection, group: GroupCommit, reading: sqlite3.Connection) -> None:
        super().__init__(connection, serde=serializer())
        self.access: Access = FreeAccess()
        self._group = group
        self._inner = _Statements(reading)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        with self.access.reading():
            try:
                return self._inner_saver.get_tuple(config)
            except sqlite3.OperationalError as exc:
                if exc.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                    raise
            return await super().aget_tuple(config)  # it waits for the lock, in a thread

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 -- the library's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        with self.access.reading():
            async for found in super().alist(config, filter=filter, before=before, limit=limit):
                yield found

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        inner = self._inner_saver
        saved = inner.put(config, checkpoint, metadata, new_versions)
        await self._write(inner.take())
        return saved

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        inner = self._inner_saver
        inner.put_writes(config, writes, task_id, task_path)
        await self._write(inner.take())

    async def adelete_thread(self, thread_id: str) -> None:
        inner = self._inner_saver
        inner.delete_thread(thread_id)
        await self._write(inner.take())

    async def prune_thread(self, thread_id: str, *, completed: str | None) -> bool:
        if self.past_turns is None or self._size_of(thread_id) < self.small_bytes:
            return False
        return await self._write(partial(_prune, thread_id=thread_id, past_turns=self.past_turns, completed=completed))

    def _size_of(self, thread_id: str) -> int:
        """The bytes of a thread's checkpoints, which SQLite knows without reading them."""
        with self.access.reading():
            (size,) = self._inner.conn.execute(_SIZE, (thread_id,)).fetchone()
        return int(size)

    async def thread_ids(self) -> list[str]:
        with self.access.reading():
            return [thread_id for (thread_id,) in await self.conn.execute_fetchall(_THREADS)]

    async def _write(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        """The one place of every write. It is on the disk on return."""
        return await write_patiently(self.access, partial(self._group.work, alone(work)))

    @property
    def _inner_saver(self) -> "_Statements":
        """LangGraph's saver, with this one's serializer: the copy that LangGraph makes of this one has another."""
        self._inner.serde = self.serde
        return self._inner


class _Statements(SqliteSaver):
    """LangGraph's saver for code that is not async: it reads, and what it would write can be taken from it."""

    def __init__(self, reading: sqlite3.Connection) -> None:
        super().__init__(reading)
        self.is_setup = True
        self._taken = TakenStatements()

    @contextmanager
    def cursor(self, transaction: bool = True) -> Iterator[Any]:
        if not transaction:
            with super().cursor(transaction=False) as cursor:
                yield cursor
            return
        self._taken = TakenStatements()
        yield self._taken

    def take(self) -> Callable[[sqlite3.Connection], None]:
        """What the last call would have written, to be done on a connection, as often as needed."""
        taken = self._taken.statements

        def execute_on(connection: sqlite3.Connection) -> None:
            for statement, rows in taken:
                connection.executemany(statement, rows)

        return execute_on


def _read_saved(row: Sequence[Any]) -> Saved:
    namespace, checkpoint_id, parent, metadata = row
    found = json.loads(metadata or b"{}")  # written by json, which knows NaN; msgspec does not
    return Saved(namespace, checkpoint_id, parent, msgspec.convert(found, Metadata))


def _prune(connection: sqlite3.Connection, *, thread_id: str, past_turns: int, completed: str | None) -> bool:
    """Delete some of a thread's checkpoints, with their writes; whether more can go."""
    saved = [_read_saved(row) for row in connection.execute(_SAVED, (thread_id,))]
    gone = unneeded(saved, past_turns=past_turns, completed=completed)
    keys = [(thread_id, each.namespace, each.id) for each in gone[:MOST_AT_ONCE]]
    connection.executemany(_DELETE_WRITES, keys)
    connection.executemany(_DELETE_CHECKPOINT, keys)
    return len(gone) > MOST_AT_ONCE


def _file_in(data_folder: Path) -> Path:
    try:
        make_private_folder(data_folder)
        close_to_others(data_folder)  # an earlier version may have made this agent's folder
    except OSError as exc:
        raise ConfigError(f"The data folder '{data_folder}' cannot be made; choose one that can be written.") from exc
    return data_folder / FILE_NAME


async def _opened(file: Path, opened: AsyncExitStack) -> FileSaver:
    """Open the file, write to it and read from it: its faults show here, and not first in a run."""
    try:
        make_private_file(file)
        connection = await opened.enter_async_context(aiosqlite.connect(file))
        writing = opened.enter_context(closing(sqlite3.connect(file, isolation_level=None, check_same_thread=False)))
        reading = opened.enter_context(closing(sqlite3.connect(file, timeout=0)))
        group = GroupCommit(writing, thread_name="llamon-threads-writer")
        opened.push_async_callback(group.close)
        saver = FileSaver(connection, group, reading)
        await saver.setup()
        writing.execute("pragma secure_delete=fast")  # else pruning writes zeros into every page that it frees
        writing.execute("begin immediate")
        writing.execute("create table llamon_start (x)")  # else nothing is written to a file that is set up
        writing.rollback()
        await saver.aget_tuple({"configurable": {"thread_id": "llamon:start", "checkpoint_ns": ""}})
    except (sqlite3.Error, OSError) as exc:
        raise ConfigError(_why_not(file, exc)) from exc
    return saver


def _why_not(file: Path, exc: sqlite3.Error | OSError) -> str:
    code = getattr(exc, "sqlite_errorcode", None)
    # A statement fails with SQLITE_ERROR if its tables have other columns.
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR):
        return f"The threads in {file} are damaged, or are no threads: move it away, or put a backup in its place."
    return (
        f"The threads in {file} cannot be opened or written: check that it is a file and writable for this user, "
        "that no other program holds it, and that the disk has room."
    )
