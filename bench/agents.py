"""Whether a call costs more the more agents an edge has: a send over HTTP+JSON, one over JSON-RPC, and a card.

The processor time of the server's process counts. Tasks are in memory, and the last of the agents is called.
"""

import asyncio
from statistics import median

from rich.table import Table

from bench.calls import CONNECTIONS, PROMPT
from bench.load import COMPLETED, drive_request, get_bytes, message, post_bytes, request_bytes
from bench.servers import Running, edge, running

ROUNDS = 3
CALLS = 4_000
COUNTS = (1, 1_000)
ECHO = {"adapter": "echo", "target": "1"}

KINDS = {"send, HTTP+JSON": "rest", "send, JSON-RPC": "rpc", "card": "card"}


def table() -> Table:
    """Measure everything."""
    shown = Table(title=f"Processor time of a call by the number of agents, ms, median of {ROUNDS} rounds")
    shown.add_column("call")
    for count in COUNTS:
        shown.add_column(f"{count:,} agents" if count > 1 else "1 agent", justify="right")
    shown.add_column("ratio", justify="right")
    rounds = [{count: _measure(count) for count in COUNTS} for _ in range(ROUNDS)]
    for kind in KINDS:
        costs = [median(each[count][kind] for each in rounds) for count in COUNTS]
        shown.add_row(kind, *(f"{cost:.3f}" for cost in costs), f"{costs[-1] / costs[0]:.2f}")
    return shown


def _measure(count: int) -> dict[str, float]:
    """What each kind of call costs on an edge with so many agents, in milliseconds."""
    names = [f"agent-{number}" for number in range(count)]
    with running(edge(ECHO, {"ephemeral": True}, dict.fromkeys(names, ECHO))) as server:
        return {kind: _cost_ms(server, kind, names[-1]) for kind in KINDS}


def _cost_ms(server: Running, kind: str, name: str) -> float:
    path, params = f"/a2a/{name}", message(PROMPT)
    request, expected = {
        "rest": (post_bytes(server.port, f"{path}/message:send", params), COMPLETED),
        "rpc": (request_bytes(server.port, "SendMessage", params, path=path), COMPLETED),
        "card": (get_bytes(server.port, f"{path}/.well-known/agent-card.json"), b'"skills"'),
    }[KINDS[kind]]
    for calls in (CALLS // 10, CALLS):
        before_s = server.processor_s
        asyncio.run(drive_request(server.port, request, expected, calls=calls, connections=CONNECTIONS))
    return (server.processor_s - before_s) / CALLS * 1000
