"""Where LangGraph threads are saved: in a SQLite file in the data folder, in memory, or nowhere."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Literal

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from llamon_agent.adapters.langgraph.checkpoints.access import Access, FreeAccess
from llamon_agent.domain.errors import ConfigError
from llamon_agent.private_files import close_to_others, make_private_file, make_private_folder

CheckpointKind = Literal["sqlite", "memory", "none"]

FILE_NAME = "checkpoints.sqlite"


AccessTo = Callable[[Path], Access]
"""Makes the hook around each use of an open file."""


def _free(_file: Path) -> Access:
    return FreeAccess()


@asynccontextmanager
async def open_checkpoints(
    kind: CheckpointKind, data_folder: Path, *, access_to: AccessTo = _free
) -> AsyncGenerator[BaseCheckpointSaver[str] | None]:
    """The checkpointer for graphs that have none of their own; open as long as the block runs.

    Raises: ConfigError: the data folder, or the file in it, cannot be used.
    """
    match kind:
        case "sqlite":
            async with AsyncExitStack() as opened:
                file = _file_in(data_folder)
                saver = await _opened(file, opened)
                saver.access = access_to(file)
                yield saver
        case "memory":
            yield InMemorySaver()
        case "none":
            yield None


class FileSaver(AsyncSqliteSaver):
    """A checkpointer in a file that rolls failed writes back.

    LangGraph's own leaves its transaction open after a failure, and the next commit includes it: half of a node's
    writes would be saved.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.access: Access = FreeAccess()
        self._write_lock = asyncio.Lock()

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        with self.access.reading():
            return await super().aget_tuple(config)

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
        async with self._writing():
            return await super().aput(config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        async with self._writing():
            await super().aput_writes(config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        async with self._writing():
            await super().adelete_thread(thread_id)

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[None]:
        async with self._write_lock:  # the rollback must not undo another task's writes
            with self.access.writing():
                try:
                    yield
                except sqlite3.Error:
                    await self.conn.rollback()
                    raise


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
        saver = await opened.enter_async_context(FileSaver.from_conn_string(str(file)))
        assert isinstance(saver, FileSaver)
        await saver.setup()
        await saver.conn.execute("begin immediate")
        await saver.conn.execute("create table llamon_start (x)")  # else nothing is written to a file that is set up
        await saver.conn.rollback()
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
