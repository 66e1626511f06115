"""Items of stores in a Postgres database. All agents share LangGraph's own table; a caller's label names its agent."""

from collections.abc import AsyncGenerator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import psycopg
from langgraph.store.base import Op, Result
from langgraph.store.postgres.aio import AsyncPostgresStore
from langgraph.store.postgres.base import _group_ops
from psycopg_pool import AsyncConnectionPool

from llamon_agent.adapters.langgraph.checkpoints.access import Access
from llamon_agent.adapters.langgraph.checkpoints.postgres_groups import REFUSED
from llamon_agent.adapters.langgraph.stores.opening import StoreOptions, index_for, sweeping
from llamon_agent.adapters.langgraph.stores.owned import Table
from llamon_agent.domain.errors import ConfigError


class PooledStore(AsyncPostgresStore):
    """A store that takes one connection of the pool for each use.

    That of langgraph-checkpoint-postgres 3.0 holds one and waits for another, so uses at once wait for each other.
    """

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        grouped, count = _group_ops(ops)
        results: list[Result] = [None] * count
        await self._execute_batch(grouped, results, None)
        return results


@asynccontextmanager
async def open_postgres(
    pool: AsyncConnectionPool[Any],
    *,
    agent: str,
    options: StoreOptions,
    lock: AbstractAsyncContextManager[object],
    pipeline: bool,
    access: Access,
) -> AsyncGenerator[Table]:
    """Items in a database. Shape: see open_postgres_checkpoints. Raises: ConfigError: its table cannot be made."""
    inner = PooledStore(pool, ttl=options.ttl)
    inner.supports_pipeline = inner.supports_pipeline and pipeline
    try:
        async with lock:
            await inner.setup()
    except psycopg.Error as exc:
        raise ConfigError(
            "data.postgres: the table of LangGraph's store cannot be made or changed: "
            "grant this user create on the schema, and make it the tables' owner."
        ) from exc
    index = index_for(inner, options, agent)
    async with sweeping(inner.sweep_ttl, access, options):
        yield Table(inner, agent=agent, access=access, index=index, blocks=True, refused=REFUSED)
