"""What an open stream that is quiet costs in memory: as one more reader of a task, and with a task and run of its own.

A hundred streams are opened first, so that what a server allocates once does not count, then the ones that do.
"""

import asyncio
import re
import resource
from contextlib import ExitStack
from typing import Any

from rich.table import Table

from bench.durable import SPEAKER
from bench.load import LIMIT_S, message, request_bytes
from bench.servers import Running, edge, running, sdk

STREAMS = 2_000
_WARM_UP = 100
_AT_A_TIME = 50
_OPEN_FILES = STREAMS + _WARM_UP + 200
_TASK_ID = re.compile(rb'"taskId": ?"([^"]+)"')

SERVERS = {"official SDK, memory": sdk("speak"), "this edge, memory": edge(SPEAKER, {"ephemeral": True})}
KINDS = {"a reader of one task": "SubscribeToTask", "a task of its own": "SendStreamingMessage"}


def table() -> Table:
    """Measure everything."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (_OPEN_FILES, most))  # the servers inherit it
    shown = Table(title=f"Memory per open stream, {STREAMS:,} of them, quiet")
    for column in ("server", *KINDS):
        shown.add_column(column, justify="right" if column in KINDS else "left")
    for name, command in SERVERS.items():
        shown.add_row(name, *[f"{_bytes_per_stream(command, method) / 1024:,.1f} KiB" for method in KINDS.values()])
    return shown


def _bytes_per_stream(command: list[str], method: str) -> float:
    """How much a server's memory grows with each stream."""
    with running(command) as server:
        return asyncio.run(_grown(server, method))


async def _grown(server: Running, method: str) -> float:
    with ExitStack() as opened:
        async with asyncio.timeout(LIMIT_S):
            begun = await _open(server.port, "SendStreamingMessage", message("wait"), opened)
            found = _TASK_ID.search(begun)
            assert found is not None
            params = {"id": found[1].decode()} if method == "SubscribeToTask" else message("wait")
            await _open_many(_WARM_UP, server.port, method, params, opened)
            before_bytes = server.resident_bytes
            await _open_many(STREAMS, server.port, method, params, opened)
        return (server.resident_bytes - before_bytes) / STREAMS


async def _open_many(count: int, port: int, method: str, params: dict[str, Any], opened: ExitStack) -> None:
    for _ in range(count // _AT_A_TIME):
        await asyncio.gather(*[_open(port, method, params, opened) for _ in range(_AT_A_TIME)])


async def _open(port: int, method: str, params: dict[str, Any], opened: ExitStack) -> bytes:
    """Open a stream and read until it has told what the agent said; what it told."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    opened.callback(writer.close)
    writer.write(request_bytes(port, method, params))
    told = b""
    while b"about a token" not in told:
        more = await reader.read(1 << 16)
        assert more, told.decode()
        told += more
    return told
