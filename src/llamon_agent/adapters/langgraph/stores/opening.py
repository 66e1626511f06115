"""Where the items of stores are: in a SQLite file in the data folder, in Postgres, or in memory."""

import asyncio
import logging
import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

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

T = TypeVar("T")

Sweep = Callable[[], Awaitable[object]]
"""Deletes the items whose time has passed."""

log = logging.getLogger(__name__)


class FileStore(SqliteStore):
    """A store in a file that has methods for both kinds of code, and that rolls failed writes back.

    LangGraph's async one keeps code that is not async from calling it on the event loop, as stores in memory allow.
    Both commit after a failure: half of the operations would be kept, and the commit's error would hide the reason.
    """

    def __init__(self, connection: sqlite3.Connection, *, ttl: TTLConfig | None = None) -> None:
        super().__init__(connection, ttl=ttl)
        self._thread = ThreadPoolExecutor(1, "llamon-store")

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await self._in_thread(self.batch, list(ops))

    async def asweep_ttl(self) -> None:
        """Delete the items whose time has passed."""
        await self._in_thread(self.sweep_ttl)

    async def aclose(self) -> None:
        """Close the file after what was begun."""
        await self._in_thread(self.conn.close)
        self._thread.shutdown(wait=False)

    async def _in_thread(self, work: Callable[..., T], *arguments: Any) -> T:
        """Work in the store's own thread: all worker threads may be waiting for it."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments)

    @contextmanager
    def _cursor(self, *, transaction: bool = True) -> Iterator[sqlite3.Cursor]:
        with self.lock, closing(self.conn.cursor()) as cursor:
            if transaction:
                cursor.execute("begin")
            try:
                yield cursor
                if transaction:
                    cursor.execute("commit")
            except BaseException:
                self.conn.rollback()
                raise


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
        stack.push_async_callback(inner.aclose)
        access = access_to(file)
        table = Table(inner, agent=agent, access=access, index=index_for(inner, options, agent), refused=_TOO_LARGE)
        await stack.enter_async_context(sweeping(inner.asweep_ttl, access, options))
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
async def sweeping(sweep: Sweep, access: Access, options: StoreOptions) -> AsyncIterator[None]:
    """Delete the items whose time has passed, now and then, as long as the block runs."""
    if options.ttl_minutes is None:
        yield
        return
    task = asyncio.create_task(_sweep(sweep, access, options.sweep_minutes * 60))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _sweep(sweep: Sweep, access: Access, every_s: float) -> None:
    while True:
        with suppress(BackendError), access.writing():  # an outage is in the log, and the next time does it
            await sweep()
        await asyncio.sleep(every_s)


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
