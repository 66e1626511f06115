"""A real edge in a process of its own, and the official client in both of its modes."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import httpx
import pytest
from a2a.client import Client, ClientConfig, ClientFactory
from a2a.client.card_resolver import A2ACardResolver

ROOT = Path(__file__).parents[2]
_READY = re.compile(r"running on (http://127\.0\.0\.1:\d+)")


class Edge:
    """An edge that runs: where it answers, and its process."""

    def __init__(self, url: str, process: subprocess.Popen[str], log: Path) -> None:
        self.url = url
        self.process = process
        self.log = log

    def await_line(self, text: str, *, after: int = 0) -> None:
        """Wait until its log holds the text, after so many bytes."""
        assert any(text in seen for seen in _logged(self.process, self.log, after)), self.log.read_text()


@contextmanager
def running_edge(
    *arguments: str,
    data: Path,
    cwd: Path = ROOT,
    env: dict[str, str] | None = None,
    python: Path = Path(sys.executable),
    port: int = 0,
) -> Iterator[Edge]:
    """`llamon serve` on a port (0: a free one) until the context ends; what it logs is shown when a test fails."""
    log = data.parent / f"{data.name}.log"
    command = [
        str(python),
        "-m",
        "llamon_agent",
        "serve",
        *arguments,
        "--listen",
        f"127.0.0.1:{port}",
        "--data",
        str(data),
    ]
    with log.open("a+") as out:
        process = subprocess.Popen(
            command, cwd=cwd, stdout=out, stderr=out, text=True, env={**os.environ, **(env or {}), "NO_COLOR": "1"}
        )
        try:
            yield Edge(_await_ready(process, log, log.stat().st_size), process, log)
        finally:
            process.terminate()
            process.wait(30)
            print(log.read_text())


def _await_ready(process: subprocess.Popen[str], log: Path, after: int) -> str:
    """The address, as soon as the edge says that it listens."""
    for seen in _logged(process, log, after):
        if found := _READY.search(seen):
            return found.group(1)
    raise AssertionError(f"the edge ended with {process.returncode}:\n{log.read_text()}")


def _logged(process: subprocess.Popen[str], log: Path, after: int) -> Iterator[str]:
    """What it has logged since then, again and again, until it has ended."""
    with log.open() as file:
        file.seek(after)
        seen, has_ended = "", False
        while not has_ended:
            has_ended = process.poll() is not None
            seen += file.read()
            yield seen
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.02)  # without it, waiting for the edge would take half of a small machine from it


def reload(edge: Edge, text: str) -> None:
    """Have the configuration loaded again, and wait until the edge has logged this."""
    logged_bytes = edge.log.stat().st_size
    edge.process.send_signal(signal.SIGHUP)
    edge.await_line(text, after=logged_bytes)


@pytest.fixture(scope="session")
def edge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Edge]:
    """The demo agent, durable."""
    data = tmp_path_factory.mktemp("edge") / "data"
    with running_edge("./examples/demo_agent.py:graph", data=data) as running:
        yield running


@asynccontextmanager
async def connected(url: str, version: str, *, streaming: bool = True, token: str = "") -> AsyncIterator[Client]:
    """The official client, held to one version: 1.0 by the shared card, 0.3 by the old card."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    path = "/.well-known/agent.json" if version == "0.3" else "/.well-known/agent-card.json"
    async with httpx.AsyncClient(timeout=30, headers=headers) as http:
        card = await A2ACardResolver(http, url, agent_card_path=path).get_agent_card()
        async with ClientFactory(ClientConfig(httpx_client=http, streaming=streaming)).create(card) as client:
            yield client


@pytest.fixture(params=["1.0", "0.3"])
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def client(edge: Edge, version: str) -> AsyncIterator[Client]:
    """Streams its answers."""
    async with connected(edge.url, version) as client:
        yield client


@pytest.fixture
async def blocking(edge: Edge, version: str) -> AsyncIterator[Client]:
    """Waits for its answers."""
    async with connected(edge.url, version, streaming=False) as client:
        yield client
