"""Which hosts are on docs/clients.md, at which versions, and what is known of each that is not ours to mend."""

import json
import re
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from tests.e2e.clients.catalogue import CLIENTS, ENVIRONMENTS, PROGRAMS, ROOT, Client, Program
from tests.e2e.clients.scenarios import SCENARIOS

JSON_RPC, REST, GRPC = "JSON-RPC", "HTTP+JSON", "gRPC"


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """A client package, and the way of calling us that is tried.

    Shape: `lock` is the file that has its release, `part` what of the package is called; `cannot` are the scenarios
           that its API has no way for, `faults` those that fail, with the reason and whose fault it is; `settings` are
           ours that it needs, and `config` is the file next to this one that has them.
    """

    package: str
    lock: Path
    part: str
    version: str
    binding: str
    program: Program
    sdk: Client | None = None
    cannot: Collection[str] = ()
    faults: Mapping[str, str] = {}
    config: str = "plain"
    settings: str = ""

    @property
    def release(self) -> str:
        return locked_version(self.package, self.lock)

    @property
    def title(self) -> str:
        return f"{self.package} {self.release} {self.version} {self.binding}"

    def __str__(self) -> str:
        return f"{self.program.name}-{self.version}-{self.binding}"

    @property
    def reasons(self) -> dict[str, str]:
        """What does not work, of the scenarios and else. Bugs in the catalogue of SDKs are those SDKs'."""
        bugs = self.sdk.bugs if self.sdk else {}
        return {**self.faults, **{what: f"{why}. Fault: the SDK's." for what, why in bugs.items()}}

    def expected(self, scenario: str) -> str:
        """What the page has in that column."""
        return NO_API if scenario in self.cannot else FAILS if scenario in self.faults else WORKS


WORKS, FAILS, NO_API = "yes", "NO", "–"


def locked_version(package: str, lock: Path) -> str:
    """Raises: LookupError: the lock does not have the package."""
    if lock.suffix == ".json":
        installed = json.loads(lock.read_text())["packages"].get(f"node_modules/{package}", {})
        if version := installed.get("version"):
            return str(version)
    elif found := re.search(
        rf"^{re.escape(package)}(?:\[[\w,-]*\])?==(?P<version>\S+)", lock.read_text(), re.MULTILINE
    ):
        return found["version"]
    raise LookupError(f"{lock.name} has no {package}")


_LOCKS = {
    "py1": ("a2a-sdk", ROOT / "locks" / "dev.txt"),
    "py03": ("a2a-sdk", ROOT / "locks" / "client-sdk03.txt"),
    "py02": ("a2a-sdk", ROOT / "locks" / "client-sdk02.txt"),
    "js1": ("@a2a-js/sdk", PROGRAMS / "js" / "sdk1" / "package-lock.json"),
    "js03": ("@a2a-js/sdk", PROGRAMS / "js" / "sdk03" / "package-lock.json"),
}
_BINDINGS = {"JSONRPC": JSON_RPC, "HTTP+JSON": REST, "GRPC": GRPC}


def _sdk(client: Client) -> Host:
    package, lock = _LOCKS[client.sdk]
    binding = _BINDINGS[client.binding]
    return Host(
        package=package,
        lock=lock,
        part="",
        version=client.version,
        binding=binding,
        program=client.program,
        sdk=client,
        config="open" if binding == GRPC else "plain",
    )


SDKS: tuple[Host, ...] = tuple(map(_sdk, CLIENTS))


def _python(package: str, name: str, part: str, *, version: str, **more: Any) -> Host:
    """A host with a program and a lock of that name."""
    python = ENVIRONMENTS / name / "bin" / "python"
    command = (str(python), "-m", f"tests.e2e.clients.programs.hosts.{name}")
    return Host(
        package=package,
        lock=ROOT / "locks" / f"client-{name}.txt",
        part=part,
        version=version,
        program=Program(name=name, command=command, needs=python),
        **more,
    )


def _node(package: str, name: str, part: str, *, version: str, **more: Any) -> Host:
    folder = PROGRAMS / "js" / name
    program = Program(
        name=f"js-{name}",
        command=("node", str(folder / "program.mjs")),
        needs=folder / "node_modules" / "@a2a-js",
        node=True,
    )
    lock = folder / "package-lock.json"
    return Host(package=package, lock=lock, part=part, version=version, program=program, **more)


def _all_but(*names: str) -> tuple[str, ...]:
    return tuple(name for name in SCENARIOS if name not in names)


def _older(name: str) -> Host:
    """An older official SDK, by the program of the newest."""
    host = _python("a2a-sdk", name, "", version="1.0", binding=JSON_RPC)
    program = msgspec.structs.replace(
        host.program, command=(host.program.command[0], "-m", "tests.e2e.clients.programs.sdk1")
    )
    sdk = msgspec.structs.replace(CLIENTS[0], program=program)
    return msgspec.structs.replace(host, program=program, sdk=sdk)


_CLIENTS_FAULT = "Fault: the client's."
_READS_ARTIFACTS_FIRST = (
    "it shows the beginning of a failed task's answer as the answer, as it reads artifacts first, and gives no sign of "
    f"the state. {_CLIENTS_FAULT}"
)
_AGNO = (
    "`send_message` reads the agent's messages in the task's history, and neither artifacts nor the status; "
    f"`stream_message` shows the answers. {_CLIENTS_FAULT}"
)
_STRANDS_JS = f"it reads the status message of completed tasks only. {_CLIENTS_FAULT}"
_FASTA2A = (
    "it calls by 0.3's methods and reads a form of its own, 1.0's `{task: ...}` with 0.3's names of states, so it "
    f"finds nothing in answers of either version. {_CLIENTS_FAULT}"
)
_PYTHON_A2A = f"it posts a message in a form of its own, without JSON-RPC. {_CLIENTS_FAULT}"

_python_10 = partial(_python, version="1.0", binding=JSON_RPC)
_python_03 = partial(_python, version="0.3", binding=JSON_RPC)
_node_03 = partial(_node, version="0.3", binding=JSON_RPC)

LIGHT: tuple[Host, ...] = (
    _python_10(
        "google-adk",
        "google_adk",
        "RemoteA2aAgent",
        cannot=("cancels",),
        settings="no `card: true` below `a2a.grpc`. It refuses a card with an address on another port.",
    ),
    _python_10(
        "agent-framework-a2a",
        "agent_framework",
        "A2AAgent",
        cannot=("cancels",),
        faults={"breaks off": _READS_ARTIFACTS_FIRST},
    ),
    _python_10("ag2", "ag2", "A2AConfig", cannot=("history",)),
    _node_03("a2a-ai-provider", "ai-provider", "a2a()", cannot=("cancels", "history")),
)
"""Those that install within seconds: `make test` calls with them."""

HEAVY: tuple[Host, ...] = (
    *map(_older, ("sdk10", "sdk11", "sdk12")),
    _python_10("a2a-handler", "a2a_handler", "handler", cannot=("history",)),
    _python_10(
        "langchain-remote-a2a-agent",
        "langchain_remote",
        "RemoteAgent",
        cannot=("cancels", "history"),
        faults={"breaks off": f"it shows a stream's artifacts, and not the status that ends it. {_CLIENTS_FAULT}"},
    ),
    _python_10("litellm", "litellm", "asend_message", cannot=("cancels",)),
    _python_10(
        "fasta2a", "fasta2a", "A2AClient", cannot=("cancels",), faults=dict.fromkeys(_all_but("cancels"), _FASTA2A)
    ),
    _python_03("fasta2a", "fasta2a_06", "A2AClient", cannot=("streams", "cancels")),
    _python_03(
        "agno",
        "agno",
        "A2AClient",
        cannot=("cancels",),
        faults=dict.fromkeys(("answers", "remembers", "asks", "history"), _AGNO),
    ),
    _python_03(
        "beeai-framework", "beeai", "A2AAgent", cannot=("cancels",), faults={"breaks off": _READS_ARTIFACTS_FIRST}
    ),
    _python_03(
        "crewai",
        "crewai",
        "A2AClientConfig",
        cannot=_all_but("answers"),
        config="single",
        settings="`artifacts: single`. It joins all pieces of a stream with blanks, replaced ones too.",
    ),
    _python_03(
        "langgraph-a2a-client",
        "langgraph_a2a_client",
        "a2a_send_message",
        cannot=_all_but("answers", "fails", "breaks off"),
    ),
    _python_03(
        "nvidia-nat-a2a",
        "nvidia_nat",
        "A2ABaseClient",
        cannot=("history",),
        config="whole-last",
        settings="`artifacts: whole-last`. It joins the pieces of a stream with blanks.",
    ),
    _python_03(
        "python-a2a",
        "python_a2a",
        "A2AClient",
        cannot=("cancels", "history"),
        faults=dict.fromkeys(_all_but("cancels", "history"), _PYTHON_A2A),
    ),
    _python_03("strands-agents", "strands_agents", "A2AAgent", cannot=("remembers", "asks", "cancels", "history")),
    _node_03(
        "@strands-agents/sdk",
        "strands",
        "A2AAgent",
        cannot=("remembers", "asks", "cancels", "history"),
        faults=dict.fromkeys(("fails", "breaks off"), _STRANDS_JS),
    ),
    _node_03("@google/adk", "adk", "RemoteA2AAgent", cannot=("cancels",)),
)

HOSTS: tuple[Host, ...] = (*SDKS, *LIGHT, *HEAVY)
