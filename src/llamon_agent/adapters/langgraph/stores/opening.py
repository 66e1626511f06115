"""Where the items of stores are: in a SQLite file in the data folder, in Postgres, or in memory."""

import asyncio
import inspect
import logging
import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
from langgraph.store.base import BaseStore, Op, Result, TTLConfig
from langgraph.store.base.embed import ensure_embeddings
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

from llamon_agent.adapters.imports.failure import explain
from llamon_agent.adapters.imports.target import import_target
from llamon_agent.adapters.langgraph.checkpoints.access import Access, FreeAccess
from llamon_agent.adapters.langgraph.checkpoints.sqlite import AccessTo
from llamon_agent.adapters.langgraph.stores.owned import Table
from llamon_agent.adapters.langgraph.stores.vectors import VectorIndex
from llamon_agent.domain.errors import BackendError, ConfigError
from llamon_agent.private_files import close_to_others, make_private_file, make_private_folder

FILE_NAME = "store.sqlite"

_TOO_LARGE = (sqlite3.DataError, OverflowError)
"""The errors by which SQLite refuses a value. Source: sqlite.org/rescode.html (SQLITE_TOOBIG, SQLITE_MISMATCH)."""

log = logging.getLogger(__name__)


class FileStore(SqliteStore):
    """A store in a file that has methods for both kinds of code.

    LangGraph's async one keeps code that is not async from calling it on the event loop, as stores in memory allow.
    """

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await asyncio.to_thread(self.batch, list(ops))


class StoreOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How items are searched and when they end.

    Shape: embed is `provider:model` or `./file.py:function`, None without search by meaning; fields are the paths in an
           item that are searched.
    Units: ttl_minutes and sweep_minutes are minutes; ttl_minutes None: items do not end.
    """

    embed: str | None = None
    fields: tuple[str, ...] = ("$",)
    ttl_minutes: float | None = None
    refresh_on_read: bool = True
    sweep_minutes: float = 60.0

    @property
    def ttl(self) -> TTLConfig | None:
        if self.ttl_minutes is None:
            return None
        return TTLConfig(default_ttl=self.ttl_minutes, refresh_on_read=self.refresh_on_read)


@asynccontextmanager
async def open_memory(agent: str, options: StoreOptions) -> AsyncGenerator[Table]:
    """Items in memory. They have no end."""
    if options.ttl_minutes is not None:
        log.warning("the store of %s is in memory, so its items do not end by store.ttl", agent)
    inner = InMemoryStore()
    yield Table(inner, agent=agent, access=FreeAccess(), index=index_for(inner, options, agent))


@asynccontextmanager
async def open_file(agent: str, folder: Path, options: StoreOptions, access_to: AccessTo) -> AsyncGenerator[Table]:
    """Items in a file of the agent's own. Raises: ConfigError: it cannot be used."""
    file = folder / FILE_NAME
    async with AsyncExitStack() as stack:
        inner = await asyncio.to_thread(_open_file, folder, file, options)
        stack.callback(inner.conn.close)
        access = access_to(file)
        table = Table(inner, agent=agent, access=access, index=index_for(inner, options, agent), refused=_TOO_LARGE)
        await stack.enter_async_context(sweeping(inner, access, options))
        yield table


def _open_file(folder: Path, file: Path, options: StoreOptions) -> FileStore:
    try:
        make_private_folder(folder)
        close_to_others(folder)
        make_private_file(file)
        connection = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
        inner = FileStore(connection, ttl=options.ttl)
        inner.setup()
    except (sqlite3.Error, OSError) as exc:
        raise ConfigError(
            f"The store in {file} cannot be opened or written: check that it is a file and writable for this user, "
            "that no other program holds it, and that the disk has room."
        ) from exc
    return inner


@asynccontextmanager
async def sweeping(inner: Any, access: Access, options: StoreOptions) -> AsyncIterator[None]:
    """Delete the items whose time has passed, now and then, as long as the block runs."""
    if options.ttl_minutes is None:
        yield
        return
    task = asyncio.create_task(_sweep(inner, access, options.sweep_minutes * 60))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _sweep(inner: Any, access: Access, every_s: float) -> None:
    while True:
        with suppress(BackendError), access.writing():  # an outage is in the log, and the next time does it
            await sweep_once(inner)
        await asyncio.sleep(every_s)


async def sweep_once(inner: Any) -> None:
    """Delete the items whose time has passed."""
    if inspect.iscoroutinefunction(inner.sweep_ttl):
        await inner.sweep_ttl()
    else:
        await asyncio.to_thread(inner.sweep_ttl)


def index_for(inner: BaseStore, options: StoreOptions, agent: str) -> VectorIndex | None:
    """The index that is configured. Raises: ConfigError: its embeddings cannot be made."""
    if options.embed is None:
        return None
    place = options.embed.partition(":")[0]
    try:
        embed: Any = import_target(options.embed) if place.endswith(".py") or "/" in place else options.embed
        embeddings = ensure_embeddings(embed)
    except ConfigError:
        raise
    except Exception as exc:  # the code of a provider's package, which may raise anything
        raise ConfigError(f"The store of {agent}: {options.embed!r} makes no embeddings: {explain(exc)}.") from exc
    log.info("the store of %s compares all its items with a search's query, one by one", agent)
    return VectorIndex(inner, embeddings, options.fields)


def index_of(own: InMemoryStore, inner: BaseStore) -> VectorIndex | None:
    """The index of a graph's own store in memory, for the store that takes its place."""
    config: Mapping[str, Any] | None = getattr(own, "index_config", None)
    if not config or own.embeddings is None:
        return None
    fields: Sequence[str] = config.get("fields") or ("$",)
    return VectorIndex(inner, own.embeddings, fields)
