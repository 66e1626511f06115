"""The graph of `bench.threads` without a server: LangGraph's own checkpointer and nothing around `astream`.

Usage: bare_graph CALLS CONNECTIONS [PLACE]; threads are in a file of this folder, in the database at this URL, or in
memory. Each call has a thread of its own, and each step is saved before the next one, as the edge has it. Prints
processor time and wall time of a call, in milliseconds, as JSON.
"""

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from itertools import count
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from bench.calls import PROMPT
from bench.shape_agents import graph

_MODES = ["messages", "values", "custom"]


async def main(calls: int, connections: int, place: str = "") -> dict[str, float]:
    async with AsyncExitStack() as stack:
        saver = await _saver(stack, place)
        compiled, ids = graph().compile(checkpointer=saver), count()
        await _run(compiled, ids, max(calls // 10, connections), connections)
        began, began_cpu = time.perf_counter(), time.process_time()
        await _run(compiled, ids, calls, connections)
        wall_s, cpu_s = time.perf_counter() - began, time.process_time() - began_cpu
    return {"cpu_ms": cpu_s / calls * 1000, "wall_ms": wall_s / calls * 1000}


async def _saver(stack: AsyncExitStack, place: str) -> BaseCheckpointSaver[Any]:
    """LangGraph's own, as its documentation opens it."""
    if not place:
        return InMemorySaver()
    if not place.startswith("postgres"):
        return await stack.enter_async_context(AsyncSqliteSaver.from_conn_string(f"{place}/checkpoints.sqlite"))
    saver = await stack.enter_async_context(AsyncPostgresSaver.from_conn_string(place))
    await saver.setup()
    return saver


async def _run(compiled: Any, ids: Iterator[int], calls: int, connections: int) -> None:
    left = iter(range(calls))

    async def one_after_the_other() -> None:
        for _ in left:
            config = {"configurable": {"thread_id": str(next(ids))}}
            given = {"messages": [("user", PROMPT)]}
            async for _chunk in compiled.astream(given, config, stream_mode=_MODES, subgraphs=True, durability="sync"):
                pass

    await asyncio.gather(*(one_after_the_other() for _ in range(connections)))


if __name__ == "__main__":
    calls, connections, *place = sys.argv[1:]
    print(json.dumps(asyncio.run(main(int(calls), int(connections), *place))))
