"""Prints what each server does in this run, and the ratios; ratios are what may be quoted, figures are this machine's.

Usage: bench [calls] [durable] [memory] [threads] [tokens]; all of them if none is named.
"""

import platform
import sys

from rich.console import Console

from bench import calls, durable, open_streams, threads, tokens

TABLES = {
    "calls": calls.table,
    "durable": durable.table,
    "memory": open_streams.table,
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
