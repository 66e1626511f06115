"""Where LangGraph threads are kept: a SQLite file in the data folder, memory, or nowhere."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
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

    Raises: ConfigError if the data folder cannot be used.
    """
    match kind:
        case "sqlite":
            async with AsyncSqliteSaver.from_conn_string(str(_file_in(data_folder))) as saver:
                await saver.setup()
                yield saver
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
