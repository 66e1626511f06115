"""How an error looks over HTTP+JSON, where it is the whole body of an answer or the last event of a stream.

1.0 has google.rpc.Status for it. 0.3 leaves it open, so that each client of it reads something else: JavaScript's the
number in `code`, Python's the name in `type`, Java's (and the official kit) the class in `error`, and all of them
`message`. They get all of that.

Source: A2A 1.0 §11.6, AIP-193; 0.3 §8.
"""

from collections.abc import Mapping

import msgspec

from llamon_agent.inbound.a2a.faults import ErrorTable, FaultReply

_OLD_NAMES: Mapping[int, str] = {
    -32700: "JSONParseError",
    -32600: "InvalidRequestError",
    -32601: "MethodNotFoundError",
    -32602: "InvalidParamsError",
    -32603: "InternalError",
    -32001: "TaskNotFoundError",
    -32002: "TaskNotCancelableError",
    -32003: "PushNotificationNotSupportedError",
    -32004: "UnsupportedOperationError",
    -32005: "ContentTypeNotSupportedError",
    -32006: "InvalidAgentResponseError",
    -32007: "AuthenticatedExtendedCardNotConfiguredError",
}
"""0.3's errors by their codes. Source: A2A 0.3 §8.1, §8.2."""

_JAVA = "io.a2a.spec."

_encode = msgspec.json.Encoder().encode


def write_error(failure: FaultReply, table: ErrorTable, *, http: int | None = None) -> tuple[int, bytes]:
    """An error's HTTP status and body; `http` where the status says more than the table does."""
    grpc, mapped = failure.fault.mapped(table)
    status = http or mapped
    return status, _error_10(failure, grpc, status) if failure.dialect.version == "1.0" else _error_03(failure)


def _error_10(failure: FaultReply, grpc: str, status: int) -> bytes:
    details = msgspec.Raw(failure.data or b"[]")
    return _encode({"error": {"code": status, "status": grpc, "message": failure.public, "details": details}})


def _error_03(failure: FaultReply) -> bytes:
    error: dict[str, object] = {"code": failure.code, "message": failure.public}
    if name := _OLD_NAMES.get(failure.code):
        error |= {"type": name, "error": _JAVA + name}
    return _encode(error)


class RestEnvelope(msgspec.Struct, frozen=True):
    """A stream's events go as they are; an error is an event of its own kind, as the official clients want it."""

    table: ErrorTable

    @property
    def around(self) -> tuple[bytes, bytes]:
        return b"", b""

    @property
    def error_event(self) -> bytes:
        return b"error"

    def write_fault(self, failure: FaultReply) -> bytes:
        """The error that broke the stream."""
        return write_error(failure, self.table)[1]
