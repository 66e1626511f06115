"""An edge in memory behind a real gRPC server, and calls to it by the messages of both packages."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import grpc
import msgspec
import pytest
from a2a.compat.v0_3 import a2a_v0_3_pb2 as old
from a2a.types import a2a_pb2 as new
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]
from tests.unit.inbound.a2a.edges import Edge, edge

from llamon_agent.inbound.a2a.bindings.asgi import Admission, Auth
from llamon_agent.inbound.a2a.bindings.grpc.server import GrpcServer
from llamon_agent.inbound.a2a.bindings.grpc.target import GrpcTarget
from llamon_agent.inbound.a2a.endpoint import EndpointReply
from llamon_agent.inbound.a2a.faults import ErrorTable
from llamon_agent.testing.scripted import Gate, Step

M = TypeVar("M", bound=Message)

Metadata = tuple[tuple[str, str], ...]

NEW, OLD = "/lf.a2a.v1.A2AService/", "/a2a.v1.A2AService/"

MAX_MESSAGE_BYTES = 1 << 20


class Calling(msgspec.Struct):
    """What a test holds in its hands: the edge, the server in front of it, and a channel to that."""

    edge: Edge
    server: GrpcServer
    channel: grpc.aio.Channel

    async def ask(
        self, method: str, request: Message, gives: type[M], metadata: Metadata = (), deadline_s: float = 5.0
    ) -> M:
        """The answer of an rpc without a stream."""
        ask: grpc.aio.UnaryUnaryMultiCallable[bytes, M] = self.channel.unary_unary(
            method, response_deserializer=gives.FromString
        )
        return await ask(request.SerializeToString(), metadata=metadata, timeout=deadline_s)

    def follow(
        self, method: str, request: Message, gives: type[M], metadata: Metadata = ()
    ) -> "grpc.aio.UnaryStreamCall[bytes, M]":
        """The stream of an rpc with one."""
        follow: grpc.aio.UnaryStreamMultiCallable[bytes, M] = self.channel.unary_stream(
            method, response_deserializer=gives.FromString
        )
        return follow(request.SerializeToString(), metadata=metadata)

    async def begin(self) -> str:
        """The id of a new task that is worked on."""
        request = new.SendMessageRequest(message=message(), configuration={"return_immediately": True})
        return (await self.ask(NEW + "SendMessage", request, new.SendMessageResponse)).task.id


@asynccontextmanager
async def calling(
    *scripts: Sequence[Step],
    tokens: dict[str, str] | None = None,
    errors: ErrorTable = "1.0.1",
    base_url: str = "http://edge",
    is_ready: Callable[[], Awaitable[bool]] | None = None,
    **more: Any,
) -> AsyncIterator[Calling]:
    async with edge(*scripts, **more) as it:
        target = GrpcTarget(
            endpoint=it.endpoint, admission=Admission(auth=Auth(tokens or {})), errors=errors, base_url=base_url
        )
        server = GrpcServer(listen="127.0.0.1:0", max_message_bytes=MAX_MESSAGE_BYTES)
        async with (
            asyncio.timeout(20),
            server.serving(lambda: target, is_ready),
            grpc.aio.insecure_channel(f"127.0.0.1:{server.port}") as channel,
        ):
            yield Calling(it, server, channel)


class Answering:
    """An endpoint that answers everything with one reply, when it may."""

    def __init__(self, reply: EndpointReply) -> None:
        self.agent = "answering"
        self.reply = reply
        self.gate = Gate()

    async def perform(self, *_args: Any, **_more: Any) -> EndpointReply:
        await self.gate.wait()
        return self.reply


@asynccontextmanager
async def answering(reply: EndpointReply) -> AsyncIterator[tuple[Answering, grpc.aio.Channel]]:
    """A server in front of such an endpoint, and a channel to it."""
    endpoint = Answering(reply)
    target = GrpcTarget(endpoint=endpoint, admission=Admission(auth=Auth({})))
    server = GrpcServer(listen="127.0.0.1:0", max_message_bytes=1024)
    async with (
        asyncio.timeout(20),
        server.serving(lambda: target),
        grpc.aio.insecure_channel(f"127.0.0.1:{server.port}") as channel,
    ):
        yield endpoint, channel


def message(text: str = "hi", **more: Any) -> new.Message:
    """A message in 1.0."""
    return new.Message(message_id="m-1", role=new.ROLE_USER, parts=[new.Part(text=text)], **more)


def old_message(text: str = "hi", **more: Any) -> old.Message:
    """A message in 0.3."""
    return old.Message(message_id="m-1", role=old.ROLE_USER, content=[old.Part(text=text)], **more)


def saying(text: str = "hi", **more: Any) -> new.SendMessageRequest:
    """A request to send a message, in 1.0."""
    return new.SendMessageRequest(message=message(text, **more))


def old_saying(text: str = "hi", **more: Any) -> old.SendMessageRequest:
    """A request to send a message, in 0.3."""
    return old.SendMessageRequest(request=old_message(text, **more))


def kinds(events: Sequence[Any]) -> list[str]:
    """Which field each event of a stream has."""
    return [event.WhichOneof("payload") for event in events]


def text_of(task: Any) -> str:
    return "".join(part.text for artifact in task.artifacts for part in artifact.parts)


async def refusal(asking: Awaitable[Any]) -> grpc.aio.AioRpcError:
    """The error that a call ends with."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await asking
    return caught.value


def details_of(error: grpc.aio.AioRpcError) -> list[Any]:
    """The google.rpc messages that came with an error, its status checked against what gRPC itself says."""
    trailing = dict(error.trailing_metadata() or ())
    status = status_pb2.Status.FromString(trailing["grpc-status-details-bin"])
    assert (status.code, status.message) == (error.code().value[0], error.details())
    return [_unpacked(detail) for detail in status.details]


def _unpacked(detail: Any) -> Any:
    name = detail.TypeName().rpartition(".")[2]
    unpacked = getattr(error_details_pb2, name)()
    assert detail.Unpack(unpacked)
    return unpacked
