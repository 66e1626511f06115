"""Prints what each server does in this run, and the ratios; ratios are what may be quoted, figures are this machine's.

Both servers get the same calls from the same load generator, one after the other, each in a process of its own: first a
warm-up, then the measured load, `ROUNDS` times in turn, of which the best round counts (others on the machine only slow
a round down).
"""

import asyncio
import platform
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from bench.load import Measured, drive

ROUNDS = 3
CHUNKS = 200
CONNECTIONS = 32
PROMPT = "The quick brown fox jumps over the lazy dog. " * 20
_READY_S = 30.0


@dataclass(frozen=True)
class Server:
    """A server to measure: its name and how to start it on a port with a number of chunks."""

    name: str
    command: Callable[[int, int, str], list[str]]
    share: float
    """How much of the load it gets, so that each measurement takes about as long."""


SERVERS = (
    Server("official SDK, memory", lambda port, chunks, _: ["bench.sdk_server", str(port), str(chunks)], 0.1),
    Server("this edge, memory", lambda port, chunks, _: ["bench.edge_server", str(port), str(chunks)], 1),
    Server("this edge, SQLite", lambda port, chunks, data: ["bench.edge_server", str(port), str(chunks), data], 1),
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


def main() -> None:
    table = Table(title=f"Python {platform.python_version()}, best of {ROUNDS} rounds")
    table.add_column("server")
    figures = {load.name: measure(load) for load in LOADS}
    for load in LOADS:
        table.add_column(load.name, justify="right")
        table.add_column("ratio", justify="right")
    for server in SERVERS:
        cells = [server.name]
        for load in LOADS:
            mine, peers = figures[load.name][server.name], figures[load.name][SERVERS[0].name]
            cells += [f"{mine:,.0f}", f"{mine / peers:.1f}"]
        table.add_row(*cells)
    Console().print(table)


def measure(load: Load) -> dict[str, float]:
    """The best figure of each server."""
    best = dict.fromkeys([server.name for server in SERVERS], 0.0)
    for _ in range(ROUNDS):
        for server in SERVERS:
            with running(server, load.chunks) as port:
                calls = max(CONNECTIONS, int(load.calls * server.share))
                warm_up = max(CONNECTIONS, calls // 10)
                asyncio.run(drive(port, load.method, PROMPT, calls=warm_up, connections=CONNECTIONS))
                measured = asyncio.run(drive(port, load.method, PROMPT, calls=calls, connections=CONNECTIONS))
            best[server.name] = max(best[server.name], load.figure(measured))
    return best


@contextmanager
def running(server: Server, chunks: int) -> Iterator[int]:
    """The server in a process of its own, as long as the context lasts; its port."""
    with tempfile.TemporaryDirectory() as data:
        port = free_port()
        process = subprocess.Popen([sys.executable, "-m", *server.command(port, chunks, data)])
        try:
            await_port(port, process)
            yield port
        finally:
            process.terminate()
            process.wait(_READY_S)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def await_port(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline_s = time.monotonic() + _READY_S
    while time.monotonic() < deadline_s and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("the server did not start")


if __name__ == "__main__":
    main()
