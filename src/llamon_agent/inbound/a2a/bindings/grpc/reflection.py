"""Reflection, by which tools read what services there are: for the callers that the services themselves accept.

It answers as `v1` and as `v1alpha`, its older name. The library has the older one only; the two differ in nothing but
the package's name.

Source: grpc/reflection/v1/reflection.proto.
"""

from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Sequence
from typing import Any

import grpc
from google.protobuf import descriptor_pool, text_format
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc_reflection.v1alpha import reflection, reflection_pb2

_SERVICE = "ServerReflection"
NAMES = tuple(f"grpc.reflection.{version}.{_SERVICE}" for version in ("v1", "v1alpha"))

_V1_FILE = "grpc/reflection/v1/reflection.proto"

Context = grpc.aio.ServicerContext[Any, Any]

Admit = Callable[[str, Context], Awaitable[None]]
"""Ends a call of this name with an error if its caller is not accepted."""


class Reflection:
    """Describes services, itself among them. Shape: names are theirs in full."""

    def __init__(self, names: Sequence[str], admit: Admit) -> None:
        self._library: Any = reflection.aio.ReflectionServicer([*names, *NAMES])  # its types are wrong
        self._admit = admit
        _describe_v1()

    async def answer(self, requests: AsyncIterable[Any], context: Context) -> AsyncGenerator[Any]:
        """The answers of one call."""
        await self._admit(_SERVICE, context)
        async for response in self._library.ServerReflectionInfo(requests, context):
            yield response

    def handlers(self) -> list[grpc.GenericRpcHandler]:
        """The service by both of its names, for a server."""
        method = grpc.stream_stream_rpc_method_handler(
            self.answer,
            request_deserializer=reflection_pb2.ServerReflectionRequest.FromString,
            response_serializer=reflection_pb2.ServerReflectionResponse.SerializeToString,
        )
        return [grpc.method_handlers_generic_handler(name, {"ServerReflectionInfo": method}) for name in NAMES]


def _describe_v1() -> None:
    """Have the descriptors of `v1` where all others are, so that a tool can read those, too."""
    pool = descriptor_pool.Default()
    try:
        pool.FindFileByName(_V1_FILE)
    except KeyError:
        older = FileDescriptorProto()
        reflection_pb2.DESCRIPTOR.CopyToProto(older)
        text = text_format.MessageToString(older).replace("grpc.reflection.v1alpha", "grpc.reflection.v1")
        described = text_format.Parse(text, FileDescriptorProto())
        described.name = _V1_FILE
        pool.AddSerializedFile(described.SerializeToString())
