"""gRPC in front of the endpoint: a request's message becomes params, and what came of it becomes messages again.

Rules:
1. A caller that hangs up, or whose deadline passes, ends its waiting and its stream, never the work: a call that has
   begun is carried out to its end in a task of its own, as it is over HTTP.
2. A message is handed on as the bytes that came, so that it is not parsed before the caller is known, and not on the
   event loop if it is large.
3. Nothing that an exception says reaches a caller: grpcio would send it. What can go wrong here is `Unsayable`.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from urllib.parse import unquote

import grpc
import msgspec
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.json_format import ParseDict
from google.rpc import error_details_pb2  # type: ignore[import-untyped]  # noqa: F401 (the parser must know the details)
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]
from grpc_status.rpc_status import to_status

from llamon_agent.domain.errors import PermissionDenied, Unauthenticated
from llamon_agent.inbound.a2a.bindings.asgi import Headers, extension_headers
from llamon_agent.inbound.a2a.bindings.grpc.services import Rpc, Service
from llamon_agent.inbound.a2a.bindings.grpc.target import GrpcTarget
from llamon_agent.inbound.a2a.bindings.grpc.transcoding import Unsayable
from llamon_agent.inbound.a2a.bindings.streaming import OneEventStream, SentEvent, Stream
from llamon_agent.inbound.a2a.bindings.web_guard import decide_refusal, log_refusal, read_browser_headers
from llamon_agent.inbound.a2a.dialects import agree
from llamon_agent.inbound.a2a.endpoint import (
    CallReply,
    FaultBoundary,
    ParsedRequest,
    Performer,
    RequestHead,
    Result,
    off_loop_if_large,
)
from llamon_agent.inbound.a2a.faults import ErrorTable, FaultReply, fault_reply
from llamon_agent.wire.v10.codec import V10


def status_of(failure: FaultReply, table: ErrorTable) -> grpc.Status:
    """The status that an rpc ends with: a code, our text, and google.rpc details for programs.

    0.3 knows no details, but they do no harm. What its clients read is the text: the official one looks for the name
    of the error in front of a colon, so that is how a caller of 0.3 gets it.

    Source: A2A 1.0.1 §10.6; google/rpc/status.proto (`grpc-status-details-bin`).
    """
    name, _ = failure.fault.mapped(table)
    public = failure.public if failure.dialect.version == V10.version else f"{_name_03(failure)}: {failure.public}"
    details = msgspec.json.decode(V10.write_fault_data(failure.fault.reason, failure.public, failure.details))
    status: grpc.Status = to_status(
        Status(
            code=grpc.StatusCode[name].value[0],
            message=public,
            details=[ParseDict(detail, AnyMessage()) for detail in details],
        )
    )
    return status


def _name_03(failure: FaultReply) -> str:
    """`TaskNotFoundError` for TASK_NOT_FOUND."""
    return "".join(word.capitalize() for word in failure.fault.reason.split("_")) + "Error"


logger = logging.getLogger(__name__)

Context = grpc.aio.ServicerContext[bytes, bytes]

WRITE_WITHIN_S = 60.0
"""How long a stream waits for a reader that takes nothing of it."""

_UNREAD = "The stream was not read for too long; the task goes on."


class GrpcBinding:
    """The rpcs of all services; its owner calls `close`. Shape: target is called anew for every call."""

    def __init__(self, target: Callable[[], GrpcTarget]) -> None:
        self._target = target
        self._calls: set[asyncio.Task[CallReply]] = set()

    def handler(self, service: Service) -> grpc.GenericRpcHandler:
        """A service's rpcs, for a server."""
        return grpc.method_handlers_generic_handler(
            service.name, {name: self._method(rpc) for name, rpc in service.rpcs.items()}
        )

    async def admit(self, name: str, context: grpc.aio.ServicerContext[Any, Any]) -> None:
        """End a call of another service with an error if its caller may not call ours."""
        target = self._target()
        try:
            await _head(name, target, read_metadata(context), context.peer())
        except (Unauthenticated, PermissionDenied) as exc:
            await context.abort_with_status(status_of(fault_reply(exc, V10), target.errors))

    async def close(self) -> None:
        """Cancel the calls that no caller waits for any more."""
        calls = set(self._calls)
        for call in calls:
            call.cancel()
        if calls:
            await asyncio.wait(calls)

    def _method(self, rpc: Rpc) -> "grpc.RpcMethodHandler[bytes, bytes]":
        if rpc.streams:
            return grpc.unary_stream_rpc_method_handler(partial(self._stream, rpc))
        return grpc.unary_unary_rpc_method_handler(partial(self._answer, rpc))

    async def _answer(self, rpc: Rpc, request: bytes, context: Context) -> bytes:
        target, headers = self._target(), read_metadata(context)
        reply = await self._carried_out(rpc, request, target, headers, context.peer())
        if isinstance(reply, Result):
            await _send_extensions(context, headers, reply.extensions)
            return await _message(rpc, reply.body, target, context)
        assert isinstance(reply, FaultReply)  # an rpc without a stream opens no operation with one
        return await context.abort_with_status(status_of(reply, target.errors))

    async def _stream(self, rpc: Rpc, request: bytes, context: Context) -> None:
        target, headers = self._target(), read_metadata(context)
        reply = await self._carried_out(rpc, request, target, headers, context.peer())
        if isinstance(reply, FaultReply):
            await context.abort_with_status(status_of(reply, target.errors))
        assert isinstance(reply, Stream | OneEventStream)
        try:
            await _send_extensions(context, headers, reply.extensions)
            async for batch in reply:
                await _send(rpc, batch, target, context, on_idle=reply.close)
        except grpc.aio.InternalError:
            logger.debug("the reader of a stream hung up")
        finally:
            reply.close()

    async def _carried_out(
        self, rpc: Rpc, request: bytes, target: GrpcTarget, headers: Headers, peer: str
    ) -> CallReply:
        """What came of a call. Its caller may hang up meanwhile; then the stream that it asked for is closed."""
        try:
            head = await _head(rpc.name, target, headers, peer)
        except (Unauthenticated, PermissionDenied) as exc:
            return fault_reply(exc, rpc.dialect)
        call = asyncio.create_task(_perform(rpc, request, target.endpoint, head))
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)
        try:
            return await asyncio.shield(call)
        except asyncio.CancelledError:
            call.add_done_callback(_leave)
            raise


async def _perform(rpc: Rpc, request: bytes, endpoint: Performer, head: RequestHead) -> CallReply:
    with FaultBoundary(endpoint.agent, rpc.dialect) as boundary:
        parsed = await off_loop_if_large(len(request), partial(_parse, rpc, request, head.version))
        boundary.operation = parsed.operation
        return await endpoint.perform(parsed, head, size_bytes=len(request))
    return boundary.reply


def _leave(call: "asyncio.Task[CallReply]") -> None:
    if not call.cancelled() and isinstance(reply := call.result(), Stream | OneEventStream):
        reply.close()


def _parse(rpc: Rpc, request: bytes, version: str | None) -> ParsedRequest:
    """Raises: VersionNotSupported, BadRequest, BadParams."""
    agree(rpc.dialect, version)
    return ParsedRequest(rpc.parse(request), rpc.dialect)


def read_metadata(context: grpc.aio.ServicerContext[Any, Any]) -> Headers:
    """The metadata as headers are; those of one name are one, joined.

    grpcio reads as UTF-8 what it can of the bytes that came, so that is how they become bytes again.
    """
    headers: Headers = {}
    for key, value in context.invocation_metadata() or ():
        name, text = key.encode("latin-1"), value if isinstance(value, bytes) else value.encode()
        headers[name] = headers[name] + b", " + text if name in headers else text
    return headers


def read_peer(peer: str) -> tuple[str, int] | None:
    """A caller's address, as ASGI has it; None for one that is no IP address. Source: gRPC naming (`ipv4:A:PORT`)."""
    family, _, address = unquote(peer).partition(":")
    host, _, port = address.rpartition(":")
    return (host.strip("[]"), int(port)) if family in ("ipv4", "ipv6") and port.isdecimal() else None


async def _head(name: str, target: GrpcTarget, headers: Headers, peer: str) -> RequestHead:
    """The caller, by metadata as over HTTP by headers. Raises: Unauthenticated, PermissionDenied."""
    _check_origin(target, headers)
    scope = {
        "type": "http",
        "method": "POST",
        "path": f"/{name}",
        "headers": list(headers.items()),
        "client": read_peer(peer),
    }
    head = await target.admission.read_head(scope, headers, agent=target.endpoint.agent)
    return msgspec.structs.replace(head, base_url=lambda: target.base_url)


def _check_origin(target: GrpcTarget, headers: Headers) -> None:
    """No browser speaks gRPC; what one says to a proxy that translates for it comes as metadata.

    grpcio does not say by which name it was called. A page could not use a name of its own: browsers speak HTTP/2
    over TLS only, and no certificate of ours has that name.

    Raises: PermissionDenied.
    """
    if target.known is None:
        return
    asked = read_browser_headers(headers, scheme="http", trusted=0)
    if refusal := decide_refusal(asked, target.known):
        log_refusal(refusal, asked)
        raise refusal


async def _send_extensions(context: Context, headers: Headers, activated: tuple[str, ...]) -> None:
    """Name the extensions that were activated in the metadata that goes ahead. Source: A2A 1.0 §10.3, §3.2.6."""
    named = extension_headers(headers, activated)
    if named:
        await context.send_initial_metadata([(key.decode(), value.decode("latin-1")) for key, value in named])


async def _send(
    rpc: Rpc,
    batch: Sequence[SentEvent] | FaultReply,
    target: GrpcTarget,
    context: Context,
    on_idle: Callable[[], None],
) -> None:
    """Send a batch of a stream. A reader that takes none of it in time loses the stream: `on_idle` is called.

    A call cannot be ended while a message of it is on its way, so that one message is kept until it is read.
    """
    if isinstance(batch, FaultReply):
        await context.abort_with_status(status_of(batch, target.errors))
    for event in batch:
        message = await _message(rpc, event.body, target, context)
        writing = asyncio.ensure_future(context.write(message))
        try:
            async with asyncio.timeout(WRITE_WITHIN_S):
                await asyncio.shield(writing)
        except TimeoutError:
            on_idle()
            await writing
            await context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, _UNREAD)
        except asyncio.CancelledError:
            writing.cancel()
            raise


async def _message(rpc: Rpc, body: bytes, target: GrpcTarget, context: Context) -> bytes:
    try:
        return await off_loop_if_large(len(body), partial(rpc.write, body))
    except Unsayable as exc:
        logger.warning("an answer could not be sent over gRPC", exc_info=exc)
        return await context.abort_with_status(status_of(fault_reply(exc, rpc.dialect), target.errors))
