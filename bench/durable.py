"""How fast answers stream while their tasks are kept where they survive, and whether that depends on their length.

Both kinds of server get the same databases: SQLite in WAL mode, and a Postgres that syncs to the disk. Each measurement
has a server and a database that nothing else was asked of, and of the rounds the median counts. What is not done after
`AT_MOST_S` is broken off, and what came by then is the figure; it flatters a server that slows down as answers grow.
"""

import asyncio
import sqlite3
import tempfile
from collections.abc import Callable, Sequence
from itertools import chain, product
from statistics import median
from typing import NamedTuple
from urllib.parse import quote

from rich.table import Table
from tests.postgres_server import PostgresServer, running_postgres

from bench.load import Measured, drive
from bench.servers import edge, running, sdk

ROUNDS = 3
CONNECTIONS = 16
AT_MOST_S = 10.0
SPEAKER = {"adapter": "custom", "target": "bench.speaker:speak"}

SYNCED = ("-c", "fsync=on", "-c", "full_page_writes=on", "-c", "autovacuum=on")
"""What a Postgres is started with, so that it is as durable as in production."""


class Place(NamedTuple):
    """Where a server may keep its tasks: an empty folder, and an empty database of a Postgres."""

    folder: str
    server: PostgresServer
    database: str


class Length(NamedTuple):
    """How many chunks an answer has, and how many such answers this edge is asked for; the peer, one a connection."""

    chunks: int
    answers: int


LENGTHS = (Length(200, 400), Length(2_000, 40), Length(20_000, CONNECTIONS))


class Server(NamedTuple):
    """A server to measure: its name, the one it is compared to, and what starts it."""

    name: str
    peer: str
    command: Callable[[Place], list[str]]

    @property
    def is_peer(self) -> bool:
        return self.name == self.peer


_SDK_SQLITE, _SDK_POSTGRES = "official SDK, SQLite", "official SDK, Postgres"


def _sdk_sqlite(place: Place) -> list[str]:
    file = f"{place.folder}/tasks.sqlite"
    with sqlite3.connect(file) as connection:
        connection.execute("pragma journal_mode = wal")  # which the file keeps; without it the peer is slower
    connection.close()
    return sdk("speak", f"sqlite+aiosqlite:///{file}?timeout=60")  # with the default, many streams find it locked


def _sdk_postgres(place: Place) -> list[str]:
    host = quote(str(place.server.folder), safe="")
    return sdk("speak", f"postgresql+asyncpg://postgres@/{place.database}?host={host}")


def _postgres(place: Place) -> list[str]:
    return edge(SPEAKER, {"folder": place.folder, "postgres": {"url": place.server.url(place.database)}})


SERVERS = (
    Server(_SDK_SQLITE, _SDK_SQLITE, _sdk_sqlite),
    Server("this edge, SQLite, `full`", _SDK_SQLITE, lambda place: edge(SPEAKER, {"folder": place.folder})),
    Server(
        "this edge, SQLite, `normal`",
        _SDK_SQLITE,
        lambda place: edge(SPEAKER, {"folder": place.folder, "durability": "normal"}),
    ),
    Server(_SDK_POSTGRES, _SDK_POSTGRES, _sdk_postgres),
    Server("this edge, Postgres, `full`", _SDK_POSTGRES, _postgres),
)


def table() -> Table:
    """Measure everything."""
    figures = _measure()
    shown = Table(
        title=f"Chunks/s of durable answers by their length, {CONNECTIONS} streams, median of {ROUNDS} rounds",
        caption=f"* broken off after {AT_MOST_S:g} s, before the answers were whole",
    )
    shown.add_column("server", no_wrap=True)
    for length in LENGTHS:
        shown.add_column(f"{length.chunks:,} chunks", justify="right")
        shown.add_column("ratio", justify="right")
    for server in SERVERS:
        cells = [_cells(figures[server.name][length], figures[server.peer][length]) for length in LENGTHS]
        shown.add_row(server.name, *chain.from_iterable(cells))
    return shown


def _cells(mine: Sequence[Measured], peers: Sequence[Measured]) -> tuple[str, str]:
    """A figure, and its ratio to the peer's."""
    chunks_per_s = median([measured.chunks_per_s for measured in mine])
    ratio = chunks_per_s / median([measured.chunks_per_s for measured in peers])
    cut = "" if all(measured.in_time for measured in mine) else "*"
    return f"{chunks_per_s:,.0f}{cut}", f"{ratio:,.0f}"


def _measure() -> dict[str, dict[Length, list[Measured]]]:
    """Each server's figures at each length, a figure a round."""
    figures: dict[str, dict[Length, list[Measured]]] = {
        server.name: {length: [] for length in LENGTHS} for server in SERVERS
    }
    with running_postgres(*SYNCED) as postgres:
        for _ in range(ROUNDS):
            for server, length in product(SERVERS, LENGTHS):
                figures[server.name][length].append(_streamed(server, length, postgres))
    return figures


def _streamed(server: Server, length: Length, postgres: PostgresServer) -> Measured:
    """The server's figures at the length. It has a process and a database that nothing else was asked of."""
    answers = CONNECTIONS if server.is_peer else length.answers
    with tempfile.TemporaryDirectory() as folder:
        place = Place(folder, postgres, postgres.make_database())
        with running(server.command(place)) as (port, _pid):
            _drive(port, 20, answers=2, connections=1)  # a warm-up, which also makes the tables
            measured = _drive(port, length.chunks, answers=answers, connections=CONNECTIONS)
        postgres.drop_database(place.database)
    told = round(measured.chunks_per_s / measured.calls_per_s) if measured.in_time else length.chunks
    assert told == length.chunks, f"{server.name}: {told} chunks came of {length.chunks}"
    return measured


def _drive(port: int, chunks: int, *, answers: int, connections: int) -> Measured:
    calls = drive(
        port, "SendStreamingMessage", str(chunks), calls=answers, connections=connections, at_most_s=AT_MOST_S
    )
    return asyncio.run(calls)
