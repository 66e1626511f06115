"""What a graph's call costs over the graph alone: a blocking send to a graph of one node, and a bare `astream` of it.

Both keep their threads in the same kind of store; the bare graph has LangGraph's own checkpointer. Neither has a model.
The processor time of the process counts for the ratio: the load generator and the database have processes of their own.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import product
from statistics import median
from typing import Any, NamedTuple

from rich.table import Table
from tests.postgres_server import PostgresServer, running_postgres

from bench.calls import PROMPT
from bench.durable import SYNCED
from bench.load import drive
from bench.servers import edge, running

ROUNDS = 3
CALLS = 600
AGENT = {"adapter": "langgraph", "target": "bench.shape_agents:graph"}
STORES = ("memory", "SQLite", "Postgres")
CONNECTIONS = (1, 16)


class Cost(NamedTuple):
    """What a call costs. Units: milliseconds; wall_ms is the time of the load over its calls."""

    cpu_ms: float
    wall_ms: float


def table() -> Table:
    """Measure everything."""
    shown = Table(title=f"A graph of one node, ms a call, median of {ROUNDS} rounds")
    for column in ("store, connections", "bare: processor", "bare: wall", "edge: processor", "edge: wall", "ratio"):
        shown.add_column(column, justify="left" if column.startswith("store") else "right")
    with running_postgres(*SYNCED) as postgres:
        for store, connections in product(STORES, CONNECTIONS):
            rounds = [[measure(store, connections, postgres) for measure in (_bare, _served)] for _ in range(ROUNDS)]
            bare, served = map(_median, zip(*rounds, strict=True))
            figures = [f"{figure:.2f}" for figure in (*bare, *served, served.cpu_ms / bare.cpu_ms)]
            shown.add_row(f"{store}, {connections}", *figures)
    return shown


def _median(costs: Sequence[Cost]) -> Cost:
    return Cost(median(cost.cpu_ms for cost in costs), median(cost.wall_ms for cost in costs))


def _bare(store: str, connections: int, postgres: PostgresServer) -> Cost:
    with tempfile.TemporaryDirectory() as folder:
        places = {"memory": [], "SQLite": [folder], "Postgres": [postgres.url(postgres.make_database())]}
        command = [sys.executable, "-m", "bench.bare_graph", str(CALLS), str(connections), *places[store]]
        return Cost(**json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def _served(store: str, connections: int, postgres: PostgresServer) -> Cost:
    with tempfile.TemporaryDirectory() as folder:
        data: dict[str, Any] = {"folder": folder, "ephemeral": store == "memory"}
        if store == "Postgres":
            data["postgres"] = {"url": postgres.url(postgres.make_database())}
        with running(edge(AGENT, data)) as server:
            asyncio.run(_sent(server.port, max(CALLS // 10, connections), connections))
            before_s = server.processor_s
            calls_per_s = asyncio.run(_sent(server.port, CALLS, connections))
            return Cost((server.processor_s - before_s) / CALLS * 1000, 1000 / calls_per_s)


async def _sent(port: int, calls: int, connections: int) -> float:
    measured = await drive(port, "SendMessage", PROMPT, calls=calls, connections=connections)
    return measured.calls_per_s
