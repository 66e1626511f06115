"""Edges as they are served, and other people's clients in processes of their own."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.e2e.clients.catalogue import CLIENTS, Client, Program, node_is_installed
from tests.e2e.clients.hosts import LIGHT
from tests.e2e.clients.running import Remote, Running, running
from tests.e2e.conftest import Edge, running_edge

HERE = Path(__file__).parent
TOKEN = "open-sesame"


class Programs:
    """The clients' programs. All that can be started are at once, so that they load while the edges do."""

    def __init__(self, logs: Path, stack: ExitStack) -> None:
        self._running = {
            program: stack.enter_context(running(program, logs / f"{program.name}.log"))
            for program in {client.program for client in CLIENTS} | {host.program for host in LIGHT}
            if program.needs.exists() and (node_is_installed() or not program.node)
        }

    def of(self, program: Program) -> Running:
        if program.node and not node_is_installed():
            pytest.skip("no Node that is new enough is installed, so JavaScript clients cannot run here")
        if program not in self._running:
            pytest.fail(f"the environment of {program.name} is missing; `make clients` builds it", pytrace=False)
        return self._running[program]


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Programs]:
    with ExitStack() as stack:
        yield Programs(tmp_path_factory.mktemp("programs"), stack)


@pytest.fixture(scope="session")
def open_edge(programs: Programs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Edge]:
    """Anyone may call, and every answer is a task."""
    data = tmp_path_factory.mktemp("open") / "data"
    with running_edge("--config", str(HERE / "open.yaml"), data=data) as edge:
        yield edge


@pytest.fixture(scope="session")
def guarded_edge(programs: Programs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Edge]:
    """Callers need a token; the agent may answer with a message, and has an extended card."""
    data = tmp_path_factory.mktemp("guarded") / "data"
    with running_edge(
        "--config", str(HERE / "guarded.yaml"), data=data, env={"LLAMON_A2A__BEARER_TOKEN": TOKEN}
    ) as edge:
        yield edge


class Edges:
    """An edge for each of the hosts' configurations."""

    def __init__(self, data: Path, stack: ExitStack) -> None:
        self._data = data
        self._stack = stack
        self._running: dict[str, Edge] = {}

    def of(self, config: str) -> Edge:
        if config not in self._running:
            edge = running_edge("--config", str(HERE / f"{config}.yaml"), data=self._data / config)
            self._running[config] = self._stack.enter_context(edge)
        return self._running[config]


@pytest.fixture(scope="session")
def edges(programs: Programs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Edges]:
    with ExitStack() as stack:
        yield Edges(tmp_path_factory.mktemp("hosts"), stack)


class Connections:
    """One connection for each client and edge."""

    def __init__(self, programs: Programs) -> None:
        self._programs = programs
        self._made: dict[str, Remote] = {}

    def to(self, client: Client, url: str, token: str = "") -> Remote:
        name = f"{client} {url} {token}"
        if name not in self._made:
            program = self._programs.of(client.program)
            program.call("connect", name, url=url, binding=client.binding, version=client.version, token=token)
            self._made[name] = Remote(client, program, name)
        return self._made[name]


@pytest.fixture(scope="session")
def connections(programs: Programs) -> Connections:
    return Connections(programs)


@pytest.fixture(params=CLIENTS, ids=str)
def remote(request: pytest.FixtureRequest, connections: Connections, open_edge: Edge) -> Remote:
    """A client that is connected to the open edge; each of them in turn, but for tests that narrow them by `on`."""
    return connections.to(request.param, open_edge.url)


@pytest.fixture(params=CLIENTS, ids=str)
def guarded(request: pytest.FixtureRequest, connections: Connections, guarded_edge: Edge) -> Remote:
    """The same on the guarded edge, with the token."""
    return connections.to(request.param, guarded_edge.url, TOKEN)
