"""Which hosts are on docs/clients.md, at which versions, and what is known of each that is not ours to mend."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec
from tests.e2e.clients.catalogue import CLIENTS, PROGRAMS, ROOT, Client, Program

JSON_RPC, REST, GRPC = "JSON-RPC", "HTTP+JSON", "gRPC"


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """A client package, and the way of calling us that is tried.

    Shape: `lock` names the file that has its version; `cannot` names the scenarios that its API has no way for, and
           `faults` those that fail, each with the reason and whose fault it is; `settings` are ours that it needs, and
           `config` is the file next to this one that has them.
    """

    package: str
    lock: Path
    part: str
    version: str
    binding: str
    program: Program
    sdk: Client | None = None
    cannot: Mapping[str, str] = {}
    faults: Mapping[str, str] = {}
    config: str = "plain"
    settings: str = ""
    is_light: bool = True

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
        part="official SDK",
        version=client.version,
        binding=binding,
        program=client.program,
        sdk=client,
        config="open" if binding == GRPC else "plain",
    )


SDKS: tuple[Host, ...] = tuple(map(_sdk, CLIENTS))

HOSTS: tuple[Host, ...] = SDKS
