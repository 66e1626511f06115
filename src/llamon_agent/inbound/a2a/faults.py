"""Which code an error has on the wire. One table, and the one place that writes an error.

Source: A2A 1.0.1 §5.4 (codes, reasons), §9.5 (JSON-RPC error data); JSON-RPC 2.0 §5.1.
"""

from collections.abc import Mapping

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
    LlamonError,
    PushNotSupported,
    TaskHasEnded,
    TaskIsBusy,
    TaskNotCancelable,
    TaskNotFound,
    UnknownMethod,
    UnsupportedOperation,
    VersionNotSupported,
)
from llamon_agent.domain.message import Metadata
from llamon_agent.inbound.a2a.jsonrpc import write_error
from llamon_agent.inbound.a2a.operations import Dialect


class Fault(msgspec.Struct, frozen=True):
    """A JSON-RPC error code, and the reason that 1.0's google.rpc.ErrorInfo names."""

    code: int
    reason: str


_UNSUPPORTED = Fault(-32004, "UNSUPPORTED_OPERATION")

FAULTS: Mapping[type[CallerError], Fault] = {
    BadJson: Fault(-32700, "PARSE_ERROR"),
    BadRequest: Fault(-32600, "INVALID_REQUEST"),
    UnknownMethod: Fault(-32601, "METHOD_NOT_FOUND"),
    BadParams: Fault(-32602, "INVALID_PARAMS"),
    TaskNotFound: Fault(-32001, "TASK_NOT_FOUND"),
    TaskNotCancelable: Fault(-32002, "TASK_NOT_CANCELABLE"),
    PushNotSupported: Fault(-32003, "PUSH_NOTIFICATION_NOT_SUPPORTED"),
    UnsupportedOperation: _UNSUPPORTED,
    TaskHasEnded: _UNSUPPORTED,
    AgentIsGone: _UNSUPPORTED,
    TaskIsBusy: _UNSUPPORTED,
    ContentTypeNotSupported: Fault(-32005, "CONTENT_TYPE_NOT_SUPPORTED"),
    ExtendedCardNotConfigured: Fault(-32007, "EXTENDED_AGENT_CARD_NOT_CONFIGURED"),
    VersionNotSupported: Fault(-32009, "VERSION_NOT_SUPPORTED"),
    ContextIsBusy: Fault(-32000, "CONTEXT_IS_BUSY"),
}
"""Every CallerError but Unauthenticated, which HTTP answers with 401 before there is a call.

0.3 knows no -32008 and -32009. Only a caller that names a version beyond 0.x can get one, and only those have the
header.
"""

INTERNAL = Fault(-32603, "INTERNAL_ERROR")


def fault_of(error: Exception) -> Fault:
    """The error's place in the table; whatever has none is our fault, not the caller's."""
    for kind in type(error).__mro__:
        if kind in FAULTS:
            return FAULTS[kind]
    return INTERNAL


def write_fault(call_id: bytes, error: Exception, dialect: Dialect) -> bytes:
    """The response for an error, in a dialect's shape. It says what we wrote, never what an exception says."""
    fault = fault_of(error)
    public = error.public if isinstance(error, CallerError | BackendError) else LlamonError.public
    return write_error(call_id, fault.code, public, dialect.write_fault_data(fault.reason, public, _details(error)))


def _details(error: Exception) -> list[Metadata]:
    """What a program can use beside the reason. Source: google/rpc/error_details.proto (RetryInfo)."""
    if isinstance(error, ContextIsBusy):
        return [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{error.retry_after_s}s"}]
    return []
