"""How much later a token of a model comes at a caller than at the graph's own stream, at 50 tokens a second.

One call at a time, by a stream over keep-alive HTTP; threads and tasks are in SQLite. The reader has a process of its
own, as a host has; the bare graph is read in its own process, by `astream`.
"""

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import chain
from statistics import median, quantiles

import httpx2
from rich.table import Table

from bench.load import message
from bench.servers import edge, running
from bench.spoken_graph import TOKENS

CALLS = 20
AGENT = {"adapter": "langgraph", "target": "bench.spoken_graph:graph"}

_TOKEN = re.compile(r"\d{9,}")
_HEADERS = {"A2A-Version": "1.0", "Accept": "text/event-stream"}


def table() -> Table:
    """Measure everything."""
    bare, served = _bare(), _served()
    shown = Table(title=f"Delay of a token, ms, {CALLS} calls of {TOKENS} tokens")
    for column in ("", "bare", "edge", "added"):
        shown.add_column(column, justify="right" if column else "left")
    for name, figure in (("first token, p50", _first), ("every token, p50", _each), ("every token, p99", _worst)):
        figures = figure(bare), figure(served)
        shown.add_row(name, *(f"{each:.2f}" for each in (*figures, figures[1] - figures[0])))
    return shown


Delays = list[list[int]]
"""By call and token. Units: nanoseconds."""


def _first(delays: Delays) -> float:
    return median(call[0] for call in delays) / 1e6


def _each(delays: Delays) -> float:
    return median(chain.from_iterable(delays)) / 1e6


def _worst(delays: Delays) -> float:
    return quantiles(chain.from_iterable(delays), n=100)[-1] / 1e6


def _bare() -> Delays:
    command = [sys.executable, "-m", "bench.spoken_graph", str(CALLS)]
    delays: Delays = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return delays


def _served() -> Delays:
    with (
        tempfile.TemporaryDirectory() as folder,
        running(edge(AGENT, {"folder": folder})) as (port, _pid),
        httpx2.Client(base_url=f"http://127.0.0.1:{port}", headers=_HEADERS) as http,
    ):
        list(_streamed(http))  # a warm-up
        delays = [list(_streamed(http)) for _ in range(CALLS)]
    assert {len(call) for call in delays} == {TOKENS}, "tokens were lost"
    return delays


def _streamed(http: httpx2.Client) -> Iterator[int]:
    """The delay of each token of an answer."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": message("when?")}
    with http.stream("POST", "/a2a", json=call) as response:
        for line in response.iter_lines():
            if "artifactUpdate" in line:
                now = time.monotonic_ns()
                yield from (now - int(token) for token in _TOKEN.findall(_text_of(line)))


def _text_of(line: str) -> str:
    update = json.loads(line.removeprefix("data:"))["result"]["artifactUpdate"]
    return "".join(part.get("text", "") for part in update["artifact"]["parts"])
