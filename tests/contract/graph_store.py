"""The stores of graphs in memory, in SQLite and in Postgres, for the tests of what all of them must do."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

from langgraph.store.base import BaseStore
from langgraph.store.postgres.aio import AsyncPostgresStore
from langgraph.store.sqlite import SqliteStore
from psycopg_pool import AsyncConnectionPool

from llamon_agent.adapters.langgraph.checkpoints.access import FreeAccess
from llamon_agent.adapters.langgraph.stores.opening import FileStore, StoreOptions, open_file, open_memory
from llamon_agent.adapters.langgraph.stores.owned import Table
from llamon_agent.adapters.langgraph.stores.postgres import open_postgres
from llamon_agent.store.sqlite.file import SqliteFile

KINDS = ("memory", "sqlite", "postgres")


class Opener:
    """Opens a kind of store; a second time with what the first one has kept."""

    def __init__(self, kind: str, folder: Path, url: str) -> None:
        self.kind = kind
        self._folder = folder
        self._url = url

    @asynccontextmanager
    async def __call__(self, agent: str = "demo", options: StoreOptions = StoreOptions()) -> AsyncIterator[Table]:
        async with AsyncExitStack() as stack:
            match self.kind:
                case "memory":
                    opened: Any = open_memory(agent, options)
                case "sqlite":
                    opened = open_file(
                        agent, self._folder / agent, options, lambda file: SqliteFile(file, "the store in")
                    )
                case _:
                    pool: AsyncConnectionPool[Any] = AsyncConnectionPool(
                        self._url, kwargs={"autocommit": True}, min_size=1, max_size=4, open=False
                    )
                    await stack.enter_async_context(pool)
                    opened = open_postgres(
                        pool, agent=agent, options=options, lock=nullcontext(), pipeline=True, access=FreeAccess()
                    )
            yield await stack.enter_async_context(opened)


async def keys(store: BaseStore, prefix: tuple[str, ...] = (), **more: Any) -> list[str]:
    """The keys of what a search finds, in order."""
    return sorted(item.key for item in await store.asearch(prefix, **more))


async def ends_within(table: Table, minutes: int) -> int:
    """How many items, and vectors of items, end within some minutes."""
    match table.inner:
        case SqliteStore(conn=connection):
            late = f"datetime('now', '{minutes} minutes')"
            return int(connection.execute(f"select count(*) from store where expires_at < {late}").fetchone()[0])
        case AsyncPostgresStore(conn=AsyncConnectionPool() as pool):
            late = f"now() + interval '{minutes} minutes'"
            async with pool.connection() as connection:
                found = await connection.execute(f"select count(*) from store where expires_at < {late}")
                return int((await found.fetchone())[0])
    return 0


async def swept(table: Table) -> None:
    """Delete the items whose time has passed, as it is done now and then."""
    match table.inner:
        case FileStore() as inner:
            await inner.asweep_ttl()
        case AsyncPostgresStore() as inner:
            await inner.sweep_ttl()


async def end_in(table: Table, minutes: int) -> None:
    """Let all items that have an end have it in some minutes."""
    match table.inner:
        case SqliteStore(conn=connection):
            connection.execute(
                f"update store set expires_at = datetime('now', '{minutes} minutes') where ttl_minutes > 0"
            )
        case AsyncPostgresStore(conn=AsyncConnectionPool() as pool):
            async with pool.connection() as connection:
                await connection.execute(
                    f"update store set expires_at = now() + interval '{minutes} minutes' where ttl_minutes > 0"
                )
