"""Whose clients call us, over which bindings, and what is known of each that is not ours to mend."""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Literal

import msgspec
from tests.e2e.clients.shapes import Wire
from tests.e2e.clients.wire_03 import Wire03
from tests.e2e.clients.wire_10 import Wire10

ROOT = Path(__file__).parents[3]
PROGRAMS = Path(__file__).parent / "programs"
ENVIRONMENTS = ROOT / ".venv" / "clients"
"""Where `make clients` puts the Python ones; those of Node are beside their programs."""

NODE_NEEDED = 20
"""The oldest Node that @a2a-js/sdk 1.x takes."""

Binding = Literal["JSONRPC", "HTTP+JSON", "GRPC", ""]
"""The empty one is for the client to choose, by our card."""
Naming = Literal["own", "http", "grpc"]


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """A process in a client's own environment, which speaks for all its connections."""

    name: str
    command: tuple[str, ...]
    needs: Path
    node: bool = False


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """One error under all the names that clients have for it."""

    type: str
    reason: str
    code: int
    http: int
    grpc: str


TASK_NOT_FOUND = Fault(type="TaskNotFound", reason="TASK_NOT_FOUND", code=-32001, http=404, grpc="NOT_FOUND")
NOT_CANCELABLE = Fault(
    type="TaskNotCancelable", reason="TASK_NOT_CANCELABLE", code=-32002, http=400, grpc="FAILED_PRECONDITION"
)
UNSUPPORTED = Fault(
    type="UnsupportedOperation", reason="UNSUPPORTED_OPERATION", code=-32004, http=400, grpc="FAILED_PRECONDITION"
)
INVALID_PARAMS = Fault(type="InvalidParams", reason="INVALID_PARAMS", code=-32602, http=400, grpc="INVALID_ARGUMENT")


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """An SDK in one version of A2A over one binding.

    Shape: `naming` is how it tells one error from another; `cannot` and `bugs` are what it does not do, or does wrong,
           by our names for it, with the reason.
    """

    sdk: str
    program: Program
    wire: Wire
    version: Literal["0.2", "0.3", "1.0"]
    binding: Binding
    naming: Naming = "own"
    cannot: Mapping[str, str] = {}
    bugs: Mapping[str, str] = {}

    def __str__(self) -> str:
        return f"{self.sdk}-{self.version}-{self.binding}"

    @property
    def is_old(self) -> bool:
        return self.version != "1.0"

    @property
    def speaks_proto_of_03(self) -> bool:
        """Whether it uses 0.3's protobuf, whose readers get each answer whole at its end."""
        return self.version == "0.3" and self.binding in ("HTTP+JSON", "GRPC")

    def named(self, fault: Fault) -> str:
        """What stands in the error that this client shows for a fault, as a regular expression."""
        return {
            "own": f"{fault.type}|{fault.reason}|{fault.code}",
            "http": f"HTTP Error {fault.http}",
            "grpc": fault.grpc,
        }[self.naming]


def _python(name: str) -> Program:
    python = ENVIRONMENTS / name / "bin" / "python"
    return Program(name=name, command=(str(python), "-m", f"tests.e2e.clients.programs.{name}"), needs=python)


def _node(name: str) -> Program:
    folder = PROGRAMS / "js" / name
    command = ("node", str(folder / "program.mjs"))
    return Program(name=f"js-{name}", command=command, needs=folder / "node_modules" / "@a2a-js", node=True)


_SDK1 = Program(
    name="sdk1", command=(sys.executable, "-m", "tests.e2e.clients.programs.sdk1"), needs=Path(sys.executable)
)
_SDK03 = _python("sdk03")
_SDK02 = _python("sdk02")
_JS1 = _node("sdk1")
_JS03 = _node("sdk03")

_NO_METHOD = "this SDK has no method for it"
_NO_LIST = {"list_tasks": "0.3 has no ListTasks"}
_NO_INLINE_HOOK = {
    "inline_push": "BaseClient.send_message makes a dict of it, which the way to protobuf cannot read (AttributeError)"
}
_NO_HOOK_CALLS = {"list_push": _NO_METHOD, "delete_push": _NO_METHOD}

_UNREAD_REFUSAL = {
    "refused streams": "an error in place of a stream is to it a stream of the wrong type, and stays unread"
}

_JS_PROTO = {
    "append": "its reader of a2a.v1 drops `append` (FromProto.taskArtifactUpdateEvent), so each chunk takes the place "
    "of those before it, and only the last is left",
    "file names": "its a2a.v1.FilePart has no `name`",
    "part metadata": "its a2a.v1.Part has no `metadata`, which tells a wrapped value from an object",
    "file bytes": "it reads a2a.v1's field as the file's bytes, where the other official SDKs, and we with them, write "
    "the file's base64 text; what it sends is understood",
}
"""What JavaScript's SDKs do wrong wherever 0.3 is spoken in protobuf's words, over REST and gRPC."""

_JS_REST = _JS_PROTO | {
    "extended card": "it reads /v1/card in a2a.v1's JSON, where a security scheme has no `type`; Python's SDK of 0.3 "
    "reads it in the JSON of 0.3, as we write it, and as the specification has it",
}

_JS03_GRPC = _JS_PROTO | {
    "nulls": "its NullValue has no number: null within data cannot be sent at all, and is read as 0",
}

BINDINGS: tuple[Binding, ...] = ("JSONRPC", "HTTP+JSON", "GRPC")

_py1 = partial(Client, sdk="py1", program=_SDK1, wire=Wire10())
_py03 = partial(Client, sdk="py03", program=_SDK03, wire=Wire03(), version="0.3", cannot=_NO_LIST | _NO_HOOK_CALLS)
_js1 = partial(Client, sdk="js1", program=_JS1, wire=Wire10())
_js03 = partial(Client, sdk="js03", program=_JS03, wire=Wire03(), version="0.3", cannot=_NO_LIST)

CLIENTS: tuple[Client, ...] = (
    *(_py1(version="1.0", binding=binding) for binding in BINDINGS),
    _py1(version="0.3", binding="JSONRPC", cannot=_NO_LIST),
    _py1(version="0.3", binding="HTTP+JSON", cannot=_NO_LIST | _NO_HOOK_CALLS),
    _py1(version="0.3", binding="GRPC", cannot=_NO_LIST),
    _py03(binding="JSONRPC"),
    _py03(
        binding="HTTP+JSON",
        naming="http",
        cannot=_NO_LIST | _NO_HOOK_CALLS | _NO_INLINE_HOOK,
        bugs=_UNREAD_REFUSAL,
    ),
    _py03(binding="GRPC", naming="grpc", cannot=_NO_LIST | _NO_HOOK_CALLS | _NO_INLINE_HOOK),
    Client(
        sdk="py02",
        program=_SDK02,
        wire=Wire03(),
        version="0.2",
        binding="JSONRPC",
        cannot=_NO_LIST | _NO_HOOK_CALLS | {"subscribe": _NO_METHOD, "extended_card": _NO_METHOD},
    ),
    *(_js1(version="1.0", binding=binding) for binding in BINDINGS),
    _js1(version="0.3", binding="JSONRPC", cannot=_NO_LIST),
    _js1(version="0.3", binding="HTTP+JSON", cannot=_NO_LIST, bugs=_JS_REST),
    _js1(version="0.3", binding="GRPC", cannot=_NO_LIST, bugs=_JS_PROTO),
    _js03(binding="JSONRPC"),
    _js03(binding="HTTP+JSON", bugs=_JS_REST),
    _js03(binding="GRPC", bugs=_JS03_GRPC),
)

CHOOSERS = tuple(
    msgspec.structs.replace(client, binding="")
    for client in CLIENTS
    if client.binding == "JSONRPC" and client.version != "0.2"
)
"""The SDKs that choose among several bindings, left to it."""


def that_can(*calls: str) -> list[Client]:
    """The clients that have a method for each of these."""
    return [client for client in CLIENTS if not any(call in client.cannot for call in calls)]


@cache
def node_is_installed() -> bool:
    """Whether there is a Node that is new enough. `make clients` asks the same."""
    if (node := shutil.which("node")) is None:
        return False
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    return int(version.removeprefix("v").partition(".")[0]) >= NODE_NEEDED
