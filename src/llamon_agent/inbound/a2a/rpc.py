"""One JSON-RPC call: a body goes in, a response or a stream of responses comes out. Knows no framework."""

import msgspec

from llamon_agent.domain.errors import CallerError
from llamon_agent.inbound.a2a.dialects import dialect_for_fault, negotiate, reads_errors_from_streams
from llamon_agent.inbound.a2a.endpoint import Asked, Caller, Endpoint, Result, apart
from llamon_agent.inbound.a2a.faults import Refused, refused
from llamon_agent.inbound.a2a.jsonrpc import NULL, Call, read_call, read_id, result_around, write_error, write_result
from llamon_agent.inbound.a2a.operations import Dialect
from llamon_agent.inbound.a2a.streaming import Single, Stream


class Answer(msgspec.Struct, frozen=True):
    """One JSON-RPC response. Shape: extensions are the URIs that were activated."""

    body: bytes
    extensions: tuple[str, ...] = ()


class Nothing(msgspec.Struct, frozen=True):
    """The call was a notification: it is done and not answered. Source: JSON-RPC 2.0 §4.1."""


class Responses(msgspec.Struct, frozen=True):
    """The call is answered with a stream, each event of which is a response."""

    stream: Stream | Single
    envelope: "RpcEnvelope"


class RpcEnvelope(msgspec.Struct, frozen=True):
    """The responses to one call. Shape: call_id is the JSON of its id."""

    call_id: bytes

    @property
    def around(self) -> tuple[bytes, bytes]:
        return result_around(self.call_id)

    @property
    def error_event(self) -> bytes:
        return b""  # a response is a response, with a result or an error in it

    def write_refused(self, failure: Refused) -> bytes:
        """The error response."""
        return write_error(self.call_id, failure.code, failure.public, failure.data)


class _Reading:
    """A body on its way to an operation; what was read of it before it failed tells how the failure is written."""

    def __init__(self, body: bytes, caller: Caller) -> None:
        self._body = body
        self._caller = caller
        self.call: Call | None = None
        self.wants_stream = False

    def read(self) -> Asked:
        call = self.call = read_call(self._body)
        dialect = negotiate(call.method, self._caller.version)
        operation = dialect.methods[call.method](call.params)
        self.wants_stream = not call.is_notification and reads_errors_from_streams(call.method)
        return Asked(operation, dialect, waits=not call.is_notification)

    def shape(self) -> Dialect:
        return dialect_for_fault(self.call.method if self.call else None, self._caller.version)

    def id(self) -> bytes:
        return self.call.id if self.call else read_id(self._body)


async def answer_call(endpoint: Endpoint, body: bytes, caller: Caller) -> Answer | Nothing | Responses:
    """Carry out one call. Raises nothing: an error before a stream's first event is an Answer too.

    In 0.x only where the params are wrong: whatever else is refused there is a stream of one error.
    """
    reading = _Reading(body, caller)
    reply = await endpoint.answer(reading.read, caller, size_bytes=len(body), shape=reading.shape)
    call = reading.call
    if isinstance(reply, Refused):
        envelope = RpcEnvelope(await apart(len(body), reading.id))
        if reading.wants_stream:
            return Responses(Single(reply), envelope)
        return Answer(envelope.write_refused(reply))
    assert call is not None  # it was read, or else refused
    if call.is_notification:
        if not isinstance(reply, Result):
            reply.close()
        return Nothing()
    if isinstance(reply, Result):
        return Answer(write_result(call.id, reply.body), reply.extensions)
    return Responses(reply, RpcEnvelope(call.id))


def refuse_call(error: CallerError, caller: Caller) -> Answer:
    """The answer to a request whose body is not read."""
    return Answer(RpcEnvelope(NULL).write_refused(refused(error, dialect_for_fault(None, caller.version))))
