"""A store in Postgres takes one connection for each use, with every version of LangGraph's store."""

import asyncio
from contextlib import nullcontext
from typing import Any

from psycopg_pool import AsyncConnectionPool

from llamon_agent.adapters.langgraph.checkpoints.access import FreeAccess
from llamon_agent.adapters.langgraph.stores.opening import StoreOptions
from llamon_agent.adapters.langgraph.stores.postgres import open_postgres


async def test_a_pool_of_one_connection_is_enough_for_uses_at_once(database_url: str) -> None:
    pool: AsyncConnectionPool[Any] = AsyncConnectionPool(
        database_url, kwargs={"autocommit": True}, min_size=1, max_size=1, open=False
    )
    async with (
        pool,
        open_postgres(
            pool, agent="demo", options=StoreOptions(), lock=nullcontext(), pipeline=True, access=FreeAccess()
        ) as table,
        asyncio.timeout(5),
    ):
        store = table.of("ann")
        await asyncio.gather(*(store.aput(("n",), f"k{number}", {}) for number in range(20)))
        assert len(await store.asearch(("n",), limit=100)) == 20
