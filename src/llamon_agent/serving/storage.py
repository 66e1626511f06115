"""Where tasks and threads are kept, opened as the section `data` says: for an edge, and for the operator's commands.

What a Postgres database needs is imported when there is one.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from llamon_agent.config.adapters import Checkpointer
from llamon_agent.config.data import DataConfig, PostgresConfig
from llamon_agent.config.edge import AgentSpec
from llamon_agent.domain.errors import ConfigError
from llamon_agent.runs.inspection import Inspection
from llamon_agent.runs.ports.store import Store
from llamon_agent.store.memory import MemoryTaskStore
from llamon_agent.store.sqlite.file import SqliteFile
from llamon_agent.store.sqlite.folder import TASKS_NAME, own_folder
from llamon_agent.store.sqlite.store import SqliteTaskStore

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver

    from llamon_agent.adapters.langgraph.stores.opening import StoreOptions
    from llamon_agent.adapters.langgraph.stores.owned import Table
    from llamon_agent.store.postgres.pool import Pool


class Storage:
    """An open task store, and the place for threads that goes with it."""

    def __init__(self, data: DataConfig, store: Store, pool: "Pool | None" = None) -> None:
        self.store = store
        self._data = data
        self._pool = pool

    async def open_checkpoints(self, spec: AgentSpec, stack: AsyncExitStack) -> "BaseCheckpointSaver[str] | None":
        """The checkpointer for an agent's graph. Each agent has its own, so two agents never share a thread.

        Raises: ConfigError.
        """
        checkpoints = await self._checkpoints(spec.target.name, spec.langgraph.checkpointer, stack)
        allowed = spec.langgraph.allowed_msgpack_modules
        if checkpoints is not None and allowed is not None:
            from llamon_agent.adapters.langgraph.checkpoints.serializer import strict_serializer

            checkpoints.serde = strict_serializer(allowed)
        return checkpoints

    async def open_store(self, spec: AgentSpec, stack: AsyncExitStack) -> "Table":
        """The store for an agent's graph, where its threads are. Raises: ConfigError."""
        from llamon_agent.adapters.langgraph.stores.opening import open_file, open_memory

        name, kind = spec.target.name, spec.langgraph.checkpointer
        options = _store_options(spec)
        if self._pool is not None and self._data.postgres is not None and kind == "postgres":
            from llamon_agent.adapters.langgraph.stores.postgres import open_postgres
            from llamon_agent.store.postgres.schema import schema_lock

            lock, pipeline, access = schema_lock(self._pool), self._data.postgres.pipeline, self._pool.access
            in_database = open_postgres(
                self._pool, agent=name, options=options, lock=lock, pipeline=pipeline, access=access
            )
            return await stack.enter_async_context(in_database)
        if kind == "sqlite":
            in_file = open_file(name, self._data.folder / name, options, _store_file)
            return await stack.enter_async_context(in_file)
        return await stack.enter_async_context(open_memory(name, options))

    async def open_threads(self, agent: str, stack: AsyncExitStack) -> "BaseCheckpointSaver[str] | None":
        """The threads of an agent that are kept here, whether or not it is still served; None where there are none.

        Raises: ConfigError.
        """
        if self._pool is not None:
            return await self._checkpoints(agent, "postgres", stack)
        from llamon_agent.adapters.langgraph.checkpoints.sqlite import FILE_NAME

        has_threads = (self._data.folder / agent / FILE_NAME).is_file()
        return await self._checkpoints(agent, "sqlite", stack) if has_threads else None

    async def prune_threads(self) -> None:
        """Delete the old checkpoints of all threads that are kept here, also of agents that are not served any more.

        Raises: ConfigError, BackendError.
        """
        from llamon_agent.adapters.langgraph.checkpoints.pruning import PrunedSaver

        for agent in await self._agents():
            async with AsyncExitStack() as stack:
                threads: object = await self.open_threads(agent, stack)
                assert isinstance(threads, PrunedSaver)
                threads.small_bytes = 0
                for thread_id in await threads.thread_ids():
                    while await threads.prune_thread(thread_id, completed=None):
                        pass

    async def _agents(self) -> list[str]:
        """The agents with threads that are kept here."""
        if self._pool is None:
            from llamon_agent.adapters.langgraph.checkpoints.sqlite import FILE_NAME

            return sorted(file.parent.name for file in self._data.folder.glob(f"*/{FILE_NAME}"))
        from llamon_agent.adapters.langgraph.checkpoints.postgres import AgentPostgresSaver

        async with AsyncExitStack() as stack:
            threads = await self.open_threads("any", stack)
            assert isinstance(threads, AgentPostgresSaver)
            return await threads.agents()

    async def _checkpoints(
        self, name: str, kind: Checkpointer, stack: AsyncExitStack
    ) -> "BaseCheckpointSaver[str] | None":
        if self._pool is not None and self._data.postgres is not None and kind == "postgres":
            from llamon_agent.adapters.langgraph.checkpoints.postgres import open_postgres_checkpoints
            from llamon_agent.store.postgres.schema import schema_lock

            lock, pipeline = schema_lock(self._pool), self._data.postgres.pipeline
            return await open_postgres_checkpoints(
                self._pool,
                agent=name,
                lock=lock,
                pipeline=pipeline,
                access=self._pool.access,
                past_turns=self._data.past_turns,
            )
        from llamon_agent.adapters.langgraph.checkpoints.sqlite import open_checkpoints

        assert kind in ("sqlite", "memory", "none")
        return await stack.enter_async_context(
            open_checkpoints(kind, self._data.folder / name, access_to=_threads_file, past_turns=self._data.past_turns)
        )


def _store_options(spec: AgentSpec) -> "StoreOptions":
    from llamon_agent.adapters.langgraph.stores.opening import StoreOptions

    index, ttl = spec.langgraph.store.index, spec.langgraph.store.ttl
    options = StoreOptions(embed=index.embed, fields=index.fields) if index else StoreOptions()
    if ttl is None:
        return options
    return msgspec.structs.replace(
        options,
        ttl_minutes=ttl.default_ttl,
        refresh_on_read=ttl.refresh_on_read,
        sweep_minutes=ttl.sweep_interval_minutes,
    )


def _store_file(file: Path) -> SqliteFile:
    return SqliteFile(file, "the store in")


def _threads_file(file: Path) -> SqliteFile:
    return SqliteFile(file, "the threads in")


@asynccontextmanager
async def open_storage(data: DataConfig) -> AsyncIterator[Storage]:
    """The storage, open as long as the block runs. Raises: ConfigError, naming the remedy."""
    async with AsyncExitStack() as stack:
        storage = await _open(data, stack)
        stack.push_async_callback(storage.store.close)
        yield storage


async def _open(data: DataConfig, stack: AsyncExitStack) -> Storage:
    if data.ephemeral:
        return Storage(data, MemoryTaskStore())
    if data.postgres is None:
        folder = stack.enter_context(own_folder(data.folder))
        return Storage(data, SqliteTaskStore.open(folder / TASKS_NAME, durability=data.durability))
    pool = await stack.enter_async_context(open_database(data.postgres, durable=data.durability == "full"))
    from llamon_agent.store.postgres.store import PostgresTaskStore

    return Storage(data, await PostgresTaskStore.open(pool), pool)


@contextmanager
def inspect_storage(data: DataConfig) -> Iterator[Inspection]:
    """Read access to the tasks as long as the block runs, even while an edge works on them. Raises: ConfigError."""
    if data.postgres is None:
        from llamon_agent.store.sqlite.inspection import SqliteInspection

        with SqliteInspection.open(data.folder / TASKS_NAME) as sqlite:
            yield sqlite
        return
    with _needing_psycopg():
        from llamon_agent.store.postgres.inspection import PostgresInspection
        from llamon_agent.store.postgres.pool import PoolOptions
    options = PoolOptions(url=data.postgres.url.get_secret_value(), prepare=data.postgres.prepare)
    with PostgresInspection.open(options) as postgres:
        yield postgres


@asynccontextmanager
async def open_database(postgres: PostgresConfig, *, durable: bool = True) -> AsyncIterator["Pool"]:
    """Connections to the database, as long as the block runs; its schema is left as it is. Raises: ConfigError."""
    with _needing_psycopg():
        from llamon_agent.store.postgres.pool import PoolOptions, open_pool
    options = PoolOptions(
        url=postgres.url.get_secret_value(),
        pool_min=postgres.pool_min,
        pool_max=postgres.pool_max,
        prepare=postgres.prepare,
        durable=durable,
    )
    async with open_pool(options) as pool:
        yield pool


@contextmanager
def _needing_psycopg() -> Iterator[None]:
    try:
        yield
    except ImportError as exc:  # psycopg raises it, too, where libpq is missing
        raise ConfigError(
            "data.postgres needs psycopg, which is not installed: install llamon-agent[postgres]."
        ) from exc
