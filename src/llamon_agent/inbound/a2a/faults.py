"""Which code an error has on the wire. One table for all transports, and the one place that words an error.

Source: A2A 1.0.1 §5.4 (codes, reasons), §9.5 (JSON-RPC), §10.6 (gRPC), §11.6 (HTTP); JSON-RPC 2.0 §5.1.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from llamon_agent.domain.errors import (
    AgentIsGone,
    BackendError,
    BadJson,
    BadParams,
    BadRequest,
    CallerError,
    ContentTypeNotSupported,
    ContextIsBusy,
    ExtendedCardNotConfigured,
    ExtensionSupportRequired,
    LlamonError,
    PermissionDenied,
    PushNotSupported,
    StreamingNotSupported,
    TaskHasEnded,
    TaskIsBusy,
    TaskNotCancelable,
    TaskNotFound,
    Unauthenticated,
    UnknownMethod,
    UnsupportedOperation,
    VersionNotSupported,
)
from llamon_agent.domain.message import Metadata
from llamon_agent.wire.operations import Dialect

ErrorTable = Literal["1.0.1", "1.0.0"]
"""Whose mapping to HTTP and gRPC is used. JSON-RPC codes are the same in both."""


class Fault(msgspec.Struct, frozen=True):
    """What an error is on each transport.

    Shape: code is JSON-RPC's; reason is what 1.0's google.rpc.ErrorInfo names; grpc is the name of a status code and
           http a status, by 1.0.1; `of_100` are these two by 1.0.0, where they were others.
    """

    code: int
    reason: str
    grpc: str
    http: int
    of_100: tuple[str, int] | None = None

    @property
    def is_ours(self) -> bool:
        """The caller did nothing wrong."""
        return self.code == -32603

    def mapped(self, table: ErrorTable) -> tuple[str, int]:
        """The gRPC status code's name and the HTTP status."""
        return self.of_100 if self.of_100 is not None and table == "1.0.0" else (self.grpc, self.http)


_UNSUPPORTED = Fault(-32004, "UNSUPPORTED_OPERATION", "FAILED_PRECONDITION", 400, ("UNIMPLEMENTED", 400))

FAULTS: Mapping[type[CallerError], Fault] = {
    BadJson: Fault(-32700, "PARSE_ERROR", "INVALID_ARGUMENT", 400),
    BadRequest: Fault(-32600, "INVALID_REQUEST", "INVALID_ARGUMENT", 400),
    UnknownMethod: Fault(-32601, "METHOD_NOT_FOUND", "UNIMPLEMENTED", 404),
    BadParams: Fault(-32602, "INVALID_PARAMS", "INVALID_ARGUMENT", 400),
    TaskNotFound: Fault(-32001, "TASK_NOT_FOUND", "NOT_FOUND", 404),
    TaskNotCancelable: Fault(-32002, "TASK_NOT_CANCELABLE", "FAILED_PRECONDITION", 400, ("FAILED_PRECONDITION", 409)),
    PushNotSupported: Fault(
        -32003, "PUSH_NOTIFICATION_NOT_SUPPORTED", "FAILED_PRECONDITION", 400, ("UNIMPLEMENTED", 400)
    ),
    UnsupportedOperation: _UNSUPPORTED,
    StreamingNotSupported: _UNSUPPORTED,
    TaskHasEnded: _UNSUPPORTED,
    AgentIsGone: _UNSUPPORTED,
    TaskIsBusy: _UNSUPPORTED,
    ContentTypeNotSupported: Fault(
        -32005, "CONTENT_TYPE_NOT_SUPPORTED", "INVALID_ARGUMENT", 400, ("INVALID_ARGUMENT", 415)
    ),
    ExtendedCardNotConfigured: Fault(-32007, "EXTENDED_AGENT_CARD_NOT_CONFIGURED", "FAILED_PRECONDITION", 400),
    ExtensionSupportRequired: Fault(-32008, "EXTENSION_SUPPORT_REQUIRED", "FAILED_PRECONDITION", 400),
    VersionNotSupported: Fault(-32009, "VERSION_NOT_SUPPORTED", "FAILED_PRECONDITION", 400, ("UNIMPLEMENTED", 400)),
    ContextIsBusy: Fault(-32000, "CONTEXT_IS_BUSY", "RESOURCE_EXHAUSTED", 429),
    Unauthenticated: Fault(-32000, "UNAUTHENTICATED", "UNAUTHENTICATED", 401),
    PermissionDenied: Fault(-32000, "PERMISSION_DENIED", "PERMISSION_DENIED", 403),
}
"""Every CallerError. An unauthenticated caller gets HTTP's or gRPC's own answer, never a JSON-RPC response."""

INTERNAL = Fault(-32603, "INTERNAL_ERROR", "INTERNAL", 500)
_AWAY = Fault(-32603, "INTERNAL_ERROR", "UNAVAILABLE", 503)

_UNKNOWN_TO_03: Mapping[int, int] = {-32008: -32600, -32009: -32600}
"""Codes that 0.3 does not know, and what its callers get instead. Source: A2A 0.3 §8.2."""


class FaultReply(msgspec.Struct, frozen=True):
    """An error as its caller gets it: what it says, and in which dialect's shape.

    Shape: public is what we wrote, never what an exception says; details are google.rpc messages in JSON.
    """

    fault: Fault
    public: str
    dialect: Dialect
    details: Sequence[Metadata] = ()

    @property
    def code(self) -> int:
        """The JSON-RPC code, as far as the caller's version knows it."""
        code = self.fault.code
        return code if self.dialect.version == "1.0" else _UNKNOWN_TO_03.get(code, code)

    @property
    def data(self) -> bytes | None:
        """The `data` of a JSON-RPC error, the `details` of 1.0's HTTP."""
        return self.dialect.write_fault_data(self.fault.reason, self.public, self.details)


def fault_of(error: Exception) -> Fault:
    """The error's place in the table; whatever has none is our fault, not the caller's."""
    if isinstance(error, BackendError):
        return _AWAY
    for kind in type(error).__mro__:
        if kind in FAULTS:
            return FAULTS[kind]
    return INTERNAL


def fault_reply(error: Exception, dialect: Dialect) -> FaultReply:
    """An error as its caller may see it."""
    public = error.public if isinstance(error, CallerError | BackendError) else LlamonError.public
    return FaultReply(fault_of(error), public, dialect, _details(error))


def _details(error: Exception) -> tuple[Metadata, ...]:
    """What a program can use besides the reason. Source: google/rpc/error_details.proto (RetryInfo, BadRequest)."""
    match error:
        case ContextIsBusy():
            return ({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{error.retry_after_s}s"},)
        case BadParams(field=str() as field, public=public):
            violation = {"field": field, "description": public}
            return ({"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [violation]},)
    return ()
