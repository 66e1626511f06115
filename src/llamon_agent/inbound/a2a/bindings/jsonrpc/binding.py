"""HTTP in front of the endpoint: JSON-RPC over POST, streams as server-sent events.

Every JSON-RPC response, error or not, is HTTP 200. The other codes mean that there was no call: 401, 403, 405, 408,
413.
"""

from collections.abc import Sequence
from functools import partial

import msgspec
from starlette.requests import ClientDisconnect
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from llamon_agent.domain.errors import (
    BadRequest,
    CallerError,
    ContentTypeNotSupported,
    PermissionDenied,
    Unauthenticated,
)
from llamon_agent.inbound.a2a.bindings.asgi import (
    Admission,
    Headers,
    extension_headers,
    is_json,
    read_headers,
    respond,
    respond_stream,
    version_of,
)
from llamon_agent.inbound.a2a.bindings.jsonrpc.envelope import (
    NULL,
    Call,
    read_call,
    read_id,
    result_around,
    write_error,
    write_result,
)
from llamon_agent.inbound.a2a.bindings.streaming import PING_S, Frames, OneEventStream, Stream
from llamon_agent.inbound.a2a.dialects import dialect_for_fault, negotiate, reads_errors_from_streams
from llamon_agent.inbound.a2a.endpoint import (
    EndpointReply,
    FaultBoundary,
    ParsedRequest,
    Performer,
    RequestHead,
    Result,
    off_loop_if_large,
)
from llamon_agent.inbound.a2a.faults import FAULTS, FaultReply, fault_reply


class RpcResponse(msgspec.Struct, frozen=True):
    """One JSON-RPC response. Shape: extensions are the URIs that were activated."""

    body: bytes
    extensions: tuple[str, ...] = ()


class NoResponse(msgspec.Struct, frozen=True):
    """The call was a notification: it is done and not answered. Source: JSON-RPC 2.0 §4.1."""


class RpcStream(msgspec.Struct, frozen=True):
    """The call is answered with a stream, each event of which is a response."""

    stream: Stream | OneEventStream
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

    def write_fault(self, failure: FaultReply) -> bytes:
        """The error response."""
        return write_error(self.call_id, failure.code, failure.public, failure.data)


async def answer_call(endpoint: Performer, body: bytes, head: RequestHead) -> RpcResponse | NoResponse | RpcStream:
    """Carry out one call. Raises nothing: an error before a stream's first event is an RpcResponse too.

    In 0.x only where the params are wrong: any other error there is a stream of one event.
    """
    call: Call | None = None
    with FaultBoundary(endpoint.agent, dialect_for_fault(None, head.version)) as boundary:
        call = await off_loop_if_large(len(body), partial(read_call, body))
        boundary.dialect = dialect_for_fault(call.method, head.version)
        request = await off_loop_if_large(len(call.params), partial(_parse, call, head.version))
        boundary.operation = request.operation
        return _respond(call, await endpoint.perform(request, head, size_bytes=len(body)))
    envelope = RpcEnvelope(call.id if call else await off_loop_if_large(len(body), partial(read_id, body)))
    if call and boundary.operation and not call.is_notification and reads_errors_from_streams(call.method):
        return RpcStream(OneEventStream(boundary.reply), envelope)
    return RpcResponse(envelope.write_fault(boundary.reply))


def _parse(call: Call, version: str | None) -> ParsedRequest:
    """Raises: VersionNotSupported, UnknownMethod, BadParams, BadJson."""
    dialect = negotiate(call.method, version)
    return ParsedRequest(dialect.methods[call.method](call.params), dialect, waits=not call.is_notification)


def _respond(call: Call, reply: EndpointReply) -> RpcResponse | NoResponse | RpcStream:
    if call.is_notification:
        if not isinstance(reply, Result):
            reply.close()
        return NoResponse()
    if isinstance(reply, Result):
        return RpcResponse(write_result(call.id, reply.body), reply.extensions)
    return RpcStream(reply, RpcEnvelope(call.id))


def refuse_call(error: CallerError, head: RequestHead) -> RpcResponse:
    """The answer to a request whose body is not read."""
    return RpcResponse(RpcEnvelope(NULL).write_fault(fault_reply(error, dialect_for_fault(None, head.version))))


_JSON = b"application/json"
_USE_POST = b"This is an A2A endpoint. POST a JSON-RPC 2.0 request here; the agent card says what it can do.\n"


def rpc_routes(endpoint: Performer, admission: Admission, *, path: str) -> Sequence[BaseRoute]:
    """The JSON-RPC endpoint of one agent, at `path` with and without a slash at the end."""
    rpc = RpcApp(endpoint, admission)
    path = path.rstrip("/")
    return [Route(rpc_path, rpc) for rpc_path in (path, path + "/") if rpc_path]


class RpcApp:
    """The JSON-RPC route of one agent, an ASGI application. Units: ping_s is how long a stream may be quiet."""

    def __init__(self, endpoint: Performer, admission: Admission, *, ping_s: float = PING_S) -> None:
        self._endpoint = endpoint
        self._admission = admission
        self._ping_s = ping_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            await respond(send, 405, _USE_POST, b"text/plain; charset=utf-8", (b"allow", b"POST"))
            return
        headers = read_headers(scope)
        try:
            head = await self._admission.read_head(scope, headers, agent=self._endpoint.agent)
        except Unauthenticated as exc:
            body = b'{"error":"%b"}' % exc.public.encode()
            await respond(send, 401, body, _JSON, (b"www-authenticate", b"Bearer"))
            return
        except PermissionDenied as exc:
            await self.refuse(exc, scope, send)
            return
        if not is_json(headers.get(b"content-type", b"")):
            await respond(send, 200, refuse_call(ContentTypeNotSupported(), head).body, _JSON)
            return
        await self._answer(headers, head, receive, send)

    async def refuse(self, error: CallerError, scope: Scope, send: Send) -> None:
        """Answer with an error before there is a call, with its HTTP status."""
        head = RequestHead(version=version_of(scope, read_headers(scope)))
        await respond(send, FAULTS[type(error)].http, refuse_call(error, head).body, _JSON)

    async def _answer(self, headers: Headers, head: RequestHead, receive: Receive, send: Send) -> None:
        try:
            body = await self._admission.read_body(headers, receive)
        except BadRequest as exc:
            await respond(send, 413, refuse_call(exc, head).body, _JSON)
            return
        except TimeoutError:
            late = refuse_call(self._admission.late, head)
            await respond(send, 408, late.body, _JSON, (b"connection", b"close"))
            return
        except ClientDisconnect:
            return
        match await answer_call(self._endpoint, body, head):
            case RpcResponse(body=answer, extensions=activated):
                await respond(send, 200, answer, _JSON, *extension_headers(headers, activated))
            case NoResponse():
                await send({"type": "http.response.start", "status": 204, "headers": []})
                await send({"type": "http.response.body"})
            case responses:
                frames = Frames(responses.stream, responses.envelope, ping_s=self._ping_s)
                await respond_stream(frames, receive, send, *extension_headers(headers, responses.stream.extensions))
