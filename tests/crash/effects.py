"""Side effects of the served agents: lines in a file that survives any process, and tell when and by whom.

Each effect is two lines, `intent` and `done`: between them, the node that causes it is running.
"""

import asyncio
import os
import time
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

FILE_VARIABLE = "CRASH_EFFECTS"
"""The environment variable that names the file."""

TAKES_S = 0.01
"""How long an effect takes."""


class Line(msgspec.Struct, frozen=True):
    """A line of the file.

    Units: at_ns is of the monotonic clock, which all processes of a machine share.
    """

    token: str
    step: str
    phase: Literal["intent", "done"]
    at_ns: int
    process: int


_read_line = msgspec.json.Decoder(Line).decode


async def cause(token: str, step: str) -> None:
    """Have an effect that takes its time."""
    write(token, step, "intent")
    await asyncio.sleep(TAKES_S)
    write(token, step, "done")


def cause_blocking(token: str, step: str) -> None:
    """The same, in a thread."""
    write(token, step, "intent")
    time.sleep(TAKES_S)
    write(token, step, "done")


def write(token: str, step: str, phase: Literal["intent", "done"]) -> None:
    """Append a line, and return when it is on the disk."""
    line = Line(token, step, phase, time.monotonic_ns(), os.getpid())
    file = _file(os.environ[FILE_VARIABLE])
    os.write(file, msgspec.json.encode(line) + b"\n")
    os.fdatasync(file)


def read(file: Path) -> list[Line]:
    """All lines, in their order."""
    return [_read_line(line) for line in file.read_bytes().splitlines()] if file.exists() else []


@cache
def _file(name: str) -> int:
    return os.open(name, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
