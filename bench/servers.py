"""The servers that are measured, each in a process of its own."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

_READY_S = 30.0


class Running(NamedTuple):
    """A server that answers."""

    port: int
    pid: int

    @property
    def resident_bytes(self) -> int:
        """How much memory it has."""
        shown = subprocess.run(["ps", "-o", "rss=", "-p", str(self.pid)], capture_output=True, check=True, text=True)
        return int(shown.stdout) * 1024

    @property
    def processor_s(self) -> float:
        """Its processor time so far, its own code and the kernel's. Source: man 5 proc, /proc/PID/stat."""
        with open(f"/proc/{self.pid}/stat") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def edge(
    agent: Mapping[str, Any], data: Mapping[str, Any], agents: Mapping[str, Mapping[str, Any]] | None = None
) -> list[str]:
    """What starts this edge with an agent and where it keeps its data, and with further agents by their names; all as
    the configuration has them.
    """
    return ["bench.edge_server", json.dumps({"a2a": agent, "data": data, **({"agents": agents} if agents else {})})]


def sdk(agent: str, *database: str) -> list[str]:
    """What starts the official SDK's server, see there."""
    return ["bench.sdk_server", agent, *database]


@contextmanager
def running(command: Sequence[str]) -> Iterator[Running]:
    """The server, as long as the block runs."""
    port = free_port()
    process = subprocess.Popen([sys.executable, "-m", command[0], str(port), *command[1:]])
    try:
        await_port(port, process)
        yield Running(port, process.pid)
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
