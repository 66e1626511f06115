"""Prints what each server does in this run, and the ratios; ratios are what may be quoted, figures are this machine's.

Usage: bench [agents] [calls] [durable] [lists] [memory] [pauses] [threads] [tokens]; all of them if none is named.
"""

import platform
import sys

from rich.console import Console

from bench import agents, calls, durable, lists, open_streams, pauses, threads, tokens

TABLES = {
    "agents": agents.table,
    "calls": calls.table,
    "durable": durable.table,
    "lists": lists.table,
    "memory": open_streams.table,
    "pauses": pauses.table,
    "threads": threads.table,
    "tokens": tokens.table,
}


def main() -> None:
    named = sys.argv[1:] or list(TABLES)
    if unknown := set(named) - TABLES.keys():
        sys.exit(f"{', '.join(unknown)}: no benchmark; there are {', '.join(TABLES)}")
    console = Console()
    console.print(f"Python {platform.python_version()}")
    for name in named:
        console.print(TABLES[name]())


if __name__ == "__main__":
    main()
