"""This checkout beside another one, in one run: is it as fast as that was?

Usage: python -m bench.against OTHER, a checkout with a `.venv` of its own. Both servers get the same load in turn,
ROUNDS times; the medians count.
"""

import asyncio
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from bench.calls import CONNECTIONS, LOADS, PROMPT, Load
from bench.load import drive
from bench.servers import await_port, edge, free_port

ROUNDS = 5
HERE = Path(__file__).parents[1]


def main() -> None:
    (other,) = (Path(argument).resolve() for argument in sys.argv[1:])
    table = Table("load", "store", "there", "here", "ratio", title=f"Medians of {ROUNDS}")
    for load in LOADS:
        for store in ("memory", "SQLite"):
            there, here = compare(load, store, other)
            table.add_row(load.name, store, f"{there:,.0f}", f"{here:,.0f}", f"{here / there:.2f}")
    Console().print(table)


def compare(load: Load, store: str, other: Path) -> tuple[float, float]:
    """The median figures of the other checkout and of this one."""
    rounds = [(measure(load, store, other), measure(load, store, HERE)) for _ in range(ROUNDS)]
    return median(there for there, _ in rounds), median(here for _, here in rounds)


def measure(load: Load, store: str, checkout: Path) -> float:
    """The figure of one round: a warm-up, then the load."""
    agent = {"adapter": "echo", "target": str(load.chunks)}
    with tempfile.TemporaryDirectory() as folder:
        command = edge(agent, {"ephemeral": True} if store == "memory" else {"folder": folder})
        port = free_port()
        python = str(checkout / ".venv/bin/python")
        process = subprocess.Popen([python, "-m", command[0], str(port), *command[1:]], cwd=checkout)
        try:
            await_port(port, process)
            for calls in (load.calls // 10, load.calls):
                measured = asyncio.run(drive(port, load.method, PROMPT, calls=calls, connections=CONNECTIONS))
        finally:
            process.terminate()
            process.wait(30)
    return load.figure(measured)


if __name__ == "__main__":
    main()
