"""Where LangGraph threads are kept: a SQLite file in the data folder, memory, or nowhere."""

import sqlite3
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Literal

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from llamon_agent.domain.errors import ConfigError

CheckpointKind = Literal["sqlite", "memory", "none"]

FILE_NAME = "checkpoints.sqlite"


@asynccontextmanager
async def open_checkpoints(kind: CheckpointKind, data_folder: Path) -> AsyncGenerator[BaseCheckpointSaver[str] | None]:
    """The checkpointer for graphs that bring none; open as long as the block runs.

    Raises: ConfigError if the data folder, or the file in it, cannot be used.
    """
    match kind:
        case "sqlite":
            async with AsyncExitStack() as opened:
                yield await _opened(_file_in(data_folder), opened)
        case "memory":
            yield InMemorySaver()
        case "none":
            yield None


def _file_in(data_folder: Path) -> Path:
    try:
        data_folder.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise ConfigError(f"The data folder '{data_folder}' cannot be made; choose one that can be written.") from exc
    return data_folder / FILE_NAME


async def _opened(file: Path, opened: AsyncExitStack) -> AsyncSqliteSaver:
    """The file, open, written to and read from: what is wrong with it comes out here and not in a run."""
    try:
        saver = await opened.enter_async_context(AsyncSqliteSaver.from_conn_string(str(file)))
        await saver.setup()
        await saver.conn.execute("begin immediate")
        await saver.conn.execute("create table llamon_start (x)")  # else a file that is set up is not written to
        await saver.conn.rollback()
        await saver.aget_tuple({"configurable": {"thread_id": "llamon:start", "checkpoint_ns": ""}})
    except (sqlite3.Error, OSError) as exc:
        raise ConfigError(_why_not(file, exc)) from exc
    return saver


def _why_not(file: Path, exc: sqlite3.Error | OSError) -> str:
    code = getattr(exc, "sqlite_errorcode", None)
    # SQLITE_ERROR is what a statement comes to whose tables have other columns.
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR):
        return f"The threads in {file} are damaged, or are no threads: move it away, or put a backup in its place."
    return (
        f"The threads in {file} cannot be opened or written: check that it is a file and writable for this user, "
        "that no other program holds it, and that the disk has room."
    )
