"""How a client's program is spoken to: one JSON value a line, calls in, what came of them out.

In:  {"id": n, "call": name, "of": connection, "params": {...}}     begin a call
     {"id": n, "drop": true}                                       end it, as a caller does that hangs up
Out: {"id": n, "value": ...}                                       what came: once, or for each event of a stream
     {"id": n, "end": null}                                        that was all; instead of null: the error

It runs in the Python of the client, so it is written with nothing but the standard library.
"""

import asyncio
import inspect
import json
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

Connect = Callable[..., Awaitable[Any]]

LINE_LIMIT_BYTES = 1 << 24

_out = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what else is printed goes to stderr, as some packages do so


async def serve(connect: Connect) -> None:
    """Answer until stdin ends. The call `connect` makes the connection that later calls name."""
    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader(limit=LINE_LIMIT_BYTES)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    connections: dict[str, Any] = {}
    calls: dict[int, asyncio.Task[None]] = {}
    while line := await lines.readline():
        asked = json.loads(line)
        if asked.get("drop"):
            calls[asked["id"]].cancel()
        else:
            calls[asked["id"]] = loop.create_task(_answer(connect, connections, asked))


async def _answer(connect: Connect, connections: dict[str, Any], asked: dict[str, Any]) -> None:
    try:
        if asked["call"] == "connect":
            connections[asked["of"]] = await connect(**asked["params"])
        else:
            await _call(asked["id"], getattr(connections[asked["of"]], asked["call"])(**asked["params"]))
        end = None
    except Exception as exc:  # noqa: BLE001 -- whatever the client raises is an answer
        end = {"type": type(exc).__name__, "text": str(exc)}
    _say({"id": asked["id"], "end": end})


async def _call(number: int, made: Any) -> None:
    if inspect.isasyncgen(made):
        async for value in made:
            _say({"id": number, "value": value})
    else:
        _say({"id": number, "value": await made})


def _say(said: dict[str, Any]) -> None:
    _out.write(json.dumps(said) + "\n")
    _out.flush()
