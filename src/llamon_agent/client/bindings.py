"""A client's calls on the two bindings that it speaks, in either version: pure, values in and bytes out.

Source: A2A 1.0 §9.4, §11.3, §11.6; 0.3 §7, §3.5.3, §8.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Protocol
from urllib.parse import quote, urlsplit

import msgspec

from llamon_agent.client.card import HTTP_JSON, Interface
from llamon_agent.client.errors import Busy, NoSuchTask, NotA2A, Refused, RemoteError, TaskEnded


class Operation(StrEnum):
    """What a client asks for, by 1.0's names."""

    SEND = "SendMessage"
    STREAM = "SendStreamingMessage"
    GET = "GetTask"
    CANCEL = "CancelTask"
    SUBSCRIBE = "SubscribeToTask"


_OLD_METHODS: Mapping[Operation, str] = {
    Operation.SEND: "message/send",
    Operation.STREAM: "message/stream",
    Operation.GET: "tasks/get",
    Operation.CANCEL: "tasks/cancel",
    Operation.SUBSCRIBE: "tasks/resubscribe",
}

_PATHS: Mapping[Operation, str] = {
    Operation.SEND: "/message:send",
    Operation.STREAM: "/message:stream",
    Operation.GET: "/tasks/{}",
    Operation.CANCEL: "/tasks/{}:cancel",
    Operation.SUBSCRIBE: "/tasks/{}:subscribe",
}

_ERRORS: Mapping[object, type[RemoteError]] = {
    -32000: Busy,  # the code that an edge refuses a message with where its context's queue is full
    "CONTEXT_IS_BUSY": Busy,
    -32001: NoSuchTask,
    "TASK_NOT_FOUND": NoSuchTask,
    "TaskNotFoundError": NoSuchTask,
    -32002: TaskEnded,
    "TASK_NOT_CANCELABLE": TaskEnded,
    "TaskNotCancelableError": TaskEnded,
    -32004: TaskEnded,
    "UNSUPPORTED_OPERATION": TaskEnded,
    "UnsupportedOperationError": TaskEnded,
}
"""What an error's code or name says; any other is a refusal. Source: A2A 1.0 §5.4; 0.3 §8.2."""


_OLD_STATUSES: Mapping[int, type[RemoteError]] = {404: NoSuchTask, 409: TaskEnded, 429: Busy, 501: TaskEnded}
"""What HTTP's status says of an error that is only a message, as the official SDK 0.3 writes it."""


class Call(msgspec.Struct, frozen=True):
    """One HTTP request."""

    method: str
    url: str
    content: bytes | None = None


class Binding(Protocol):
    """How one binding carries calls, results and errors."""

    def call(self, operation: Operation, *, message: bytes = b"", task_id: str = "") -> Call:
        """A request that sends a message, or is about a task."""

    def result(self, body: bytes, *, is_error: bool = False) -> bytes:
        """What a body, or a stream's event, holds. Raises: Refused, Busy, NotA2A."""

    def error(self, body: bytes, status: int) -> RemoteError | None:
        """The error in the body of a response that is no success, if there is one; status is HTTP's."""


class _Response(msgspec.Struct, frozen=True):
    """Source: JSON-RPC 2.0 §5."""

    result: msgspec.Raw = msgspec.Raw()
    error: dict[str, Any] | None = None


class JsonRpc:
    """JSON-RPC: one URL for all calls."""

    def __init__(self, interface: Interface) -> None:
        self._url = interface.url
        self._is_old = interface.version == "0.3"
        self._tenant = {"tenant": interface.tenant} if interface.tenant else {}

    def call(self, operation: Operation, *, message: bytes = b"", task_id: str = "") -> Call:
        """The params that only name a task are alike in both versions."""
        params = msgspec.Raw(message) if message else {"id": task_id, **self._tenant}
        method = _OLD_METHODS[operation] if self._is_old else operation.value
        body = {"jsonrpc": "2.0", "id": "1", "method": method, "params": params}
        return Call("POST", self._url, msgspec.json.encode(body))

    def result(self, body: bytes, *, is_error: bool = False) -> bytes:  # noqa: ARG002 (an error says so itself)
        """The result of a JSON-RPC response."""
        try:
            response = msgspec.json.decode(body, type=_Response)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
            raise NotA2A(detail=f"What {self._url} answers is not JSON-RPC; is there an A2A agent?") from exc
        if response.error is not None:
            raise _error_of(response.error, response.error.get("code"))
        if not bytes(response.result):
            detail = f"What {self._url} answers is neither a result nor an error; is there an A2A agent?"
            raise NotA2A(detail=detail)
        return bytes(response.result)

    def error(self, body: bytes, status: int) -> RemoteError | None:  # noqa: ARG002
        """HTTP's status says more than an error in its body does, except that the agent is busy."""
        try:
            self.result(body)
        except Busy as exc:
            return exc
        except RemoteError:
            return None
        return None


class Rest:
    """HTTP+JSON: a URL for each operation, below `v1` in 0.3."""

    def __init__(self, interface: Interface) -> None:
        url = urlsplit(interface.url)
        tenant = f"/{quote(interface.tenant, safe='')}" if interface.tenant else ""
        self._base = f"{url.scheme}://{url.netloc}{url.path.rstrip('/')}" + (
            "/v1" if interface.version == "0.3" else tenant
        )
        self._query = f"?{url.query}" if url.query else ""

    def call(self, operation: Operation, *, message: bytes = b"", task_id: str = "") -> Call:
        """Only a message, and a cancel, have a body."""
        url = self._base + _PATHS[operation].format(quote(task_id, safe="")) + self._query
        if operation is Operation.GET:
            return Call("GET", url)
        return Call("POST", url, message or (b"{}" if operation is Operation.CANCEL else None))

    def result(self, body: bytes, *, is_error: bool = False) -> bytes:
        """The body as it is; an error in a stream is an event of its own kind."""
        if is_error:
            raise self.error(body, 200) or NotA2A()
        return body

    def error(self, body: bytes, status: int) -> RemoteError | None:
        """1.0's google.rpc.Status, or one of the shapes that 0.3 has for it: a name or a number, or only a message."""
        try:
            error = msgspec.json.decode(body, type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        if isinstance(rpc_status := error.get("error"), dict):
            return _error_of(rpc_status, reason) if (reason := _reason(rpc_status)) else None
        if isinstance(code := error.get("type", error.get("code")), str | int):
            return _error_of(error, code)
        kind = _OLD_STATUSES.get(status, Refused if status < 500 else None)
        return kind(said=str(error["message"])) if kind and "message" in error else None


def binding_of(interface: Interface) -> Binding:
    return Rest(interface) if interface.protocol_binding == HTTP_JSON else JsonRpc(interface)


def _reason(status: dict[str, Any]) -> str | None:
    """Source: google/rpc/error_details.proto (ErrorInfo)."""
    details = status.get("details")
    for one in details if isinstance(details, list) else ():
        if isinstance(one, dict) and str(one.get("@type", "")).endswith("/google.rpc.ErrorInfo"):
            return reason if isinstance(reason := one.get("reason"), str) else None
    return None


def _error_of(error: dict[str, Any], code: object) -> RemoteError:
    kind = _ERRORS.get(code, Refused) if isinstance(code, int | str) else Refused
    return kind(said=str(error.get("message", "")), code=code)
