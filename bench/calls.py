"""How many calls and events a second, with tasks in memory and in SQLite.

Each server gets the same calls from the same load generator, one after the other: first a warm-up, then the measured
load, `ROUNDS` times in turn, of which the best round counts (others on the machine only slow a round down).
"""

import asyncio
import tempfile
from collections.abc import Callable
from dataclasses import dataclass

from rich.table import Table

from bench.load import Measured, drive
from bench.servers import edge, running, sdk

ROUNDS = 3
CHUNKS = 200
CONNECTIONS = 32
PROMPT = "The quick brown fox jumps over the lazy dog. " * 20


@dataclass(frozen=True)
class Server:
    """A server to measure: its name, and what starts it for a number of chunks and a folder."""

    name: str
    command: Callable[[int, str], list[str]]
    share: float
    """How much of the load it gets, so that each measurement takes about as long."""


SERVERS = (
    Server("official SDK, memory", lambda chunks, _: sdk(str(chunks)), 0.1),
    Server("this edge, memory", lambda chunks, _: edge(_echo(chunks), {"ephemeral": True}), 1),
    Server("this edge, SQLite", lambda chunks, folder: edge(_echo(chunks), {"folder": folder}), 1),
)


@dataclass(frozen=True)
class Load:
    """One kind of load, and which of its figures counts."""

    name: str
    method: str
    chunks: int
    calls: int
    figure: Callable[[Measured], float]


LOADS = (
    Load(f"calls/s, blocking send, {CONNECTIONS} connections", "SendMessage", 1, 8_000, lambda m: m.calls_per_s),
    Load(f"stream events/s, {CHUNKS} chunks an answer", "SendStreamingMessage", CHUNKS, 640, lambda m: m.events_per_s),
)


def table() -> Table:
    """Measure everything."""
    shown = Table(title=f"Calls and events, best of {ROUNDS} rounds")
    shown.add_column("server")
    figures = {load.name: _measure(load) for load in LOADS}
    for load in LOADS:
        shown.add_column(load.name, justify="right")
        shown.add_column("ratio", justify="right")
    for server in SERVERS:
        cells = [server.name]
        for load in LOADS:
            mine, peers = figures[load.name][server.name], figures[load.name][SERVERS[0].name]
            cells += [f"{mine:,.0f}", f"{mine / peers:.1f}"]
        shown.add_row(*cells)
    return shown


def _measure(load: Load) -> dict[str, float]:
    """The best figure of each server."""
    best = dict.fromkeys([server.name for server in SERVERS], 0.0)
    for _ in range(ROUNDS):
        for server in SERVERS:
            calls = max(CONNECTIONS, int(load.calls * server.share))
            warm_up = max(CONNECTIONS, calls // 10)
            with tempfile.TemporaryDirectory() as folder, running(server.command(load.chunks, folder)) as (port, _pid):
                asyncio.run(drive(port, load.method, PROMPT, calls=warm_up, connections=CONNECTIONS))
                measured = asyncio.run(drive(port, load.method, PROMPT, calls=calls, connections=CONNECTIONS))
            best[server.name] = max(best[server.name], load.figure(measured))
    return best


def _echo(chunks: int) -> dict[str, str]:
    return {"adapter": "echo", "target": str(chunks)}
