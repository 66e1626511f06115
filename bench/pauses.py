"""For how long the event loop is busy with one thing at most, while it is sent messages as fast as it answers them.

All else waits for that long: other calls, and the pieces of streams. See `pause_watcher` for what is measured.
"""

import asyncio
import json
import tempfile
import urllib.request
from statistics import median

from rich.table import Table

from bench.calls import CONNECTIONS, PROMPT
from bench.load import drive, message
from bench.servers import edge, running

ROUNDS = 3
LOADS = (("memory", 8_000), ("memory", 40_000), ("SQLite", 8_000))
AGENTS = {"echo": {"adapter": "echo"}, "watch": {"adapter": "custom", "target": "bench.pause_watcher:longest_pause"}}


def table() -> Table:
    """Measure everything."""
    shown = Table(title=f"The longest pause during sends over {CONNECTIONS} connections, ms, {ROUNDS} rounds")
    for column in ("tasks in", "sends", "wall: median", "wall: worst", "processor, of these: worst"):
        shown.add_column(column, justify="left" if column == "tasks in" else "right")
    for place, calls in LOADS:
        walls, processors = zip(*[_measure(place, calls) for _ in range(ROUNDS)], strict=True)
        shown.add_row(
            place, f"{calls:,}", *(f"{figure:.1f}" for figure in (median(walls), max(walls), max(processors)))
        )
    return shown


def _measure(place: str, calls: int) -> tuple[float, float]:
    """The longest pause, in milliseconds: wall time, and how much of that the loop's thread worked."""
    with tempfile.TemporaryDirectory() as folder:
        data = {"folder": folder, "ephemeral": place == "memory"}
        with running(edge(AGENTS["echo"], data, AGENTS)) as (port, _pid):
            asyncio.run(drive(port, "SendMessage", PROMPT, calls=calls // 10, connections=CONNECTIONS))
            _asked(port)
            asyncio.run(drive(port, "SendMessage", PROMPT, calls=calls, connections=CONNECTIONS))
            wall_ms, processor_ms = _asked(port)
    return wall_ms, processor_ms


def _asked(port: int) -> tuple[float, float]:
    """What the watching agent answers; the first time it answers nothing."""
    body = json.dumps(message("?")).encode()
    headers = {"Content-Type": "application/json", "A2A-Version": "1.0"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/a2a/watch/message:send", body, headers)
    with urllib.request.urlopen(request, timeout=10) as response:
        task = json.load(response)["task"]
    wall_ms, processor_ms = json.loads(task["artifacts"][0]["parts"][0]["text"]) or (0.0, 0.0)
    return wall_ms, processor_ms
