"""The two gRPC services of A2A, as the official package's stubs describe them, and the dialects of their messages.

What an rpc is called, takes, gives and whether it streams is read from the descriptors; nothing here lists it again.

Source: A2A 1.0, `a2a.proto` (package `lf.a2a.v1`); A2A 0.3, `a2a.proto` (package `a2a.v1`).
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from a2a.compat.v0_3 import a2a_v0_3_pb2
from a2a.types import a2a_pb2
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from llamon_agent.inbound.a2a.bindings.grpc.transcoding import read_message, write_message
from llamon_agent.wire.operations import Dialect, Operation
from llamon_agent.wire.v03_proto.codec import V03_PROTO
from llamon_agent.wire.v10.codec import V10

_NOT_IN_PROTO = ("stateTransitionHistory",)


def proto_card_03(body: bytes) -> bytes:
    """The ProtoJSON of 0.3's card, of its JSON. Schemes are wrapped by their kind, of which ours have one: HTTP.

    Source: A2A 0.3.0, `a2a.proto` (AgentCard, Security, SecurityScheme).
    """
    card: dict[str, Any] = msgspec.json.decode(body)
    capabilities = {key: value for key, value in card["capabilities"].items() if key not in _NOT_IN_PROTO}
    changed: dict[str, Any] = {"capabilities": capabilities}
    if "securitySchemes" in card:
        changed["securitySchemes"] = {
            name: {"httpAuthSecurityScheme": {"scheme": scheme["scheme"]}}
            for name, scheme in card["securitySchemes"].items()
        }
    if "security" in card:
        changed["security"] = [
            {"schemes": {name: {"list": scopes} for name, scopes in way.items()}} for way in card["security"]
        ]
    return msgspec.json.encode(card | changed)


class Rpc(msgspec.Struct, frozen=True, kw_only=True):
    """One rpc of a service. Shape: it takes and gives messages of these types."""

    name: str
    dialect: Dialect
    takes: type[Message]
    gives: type[Message]
    streams: bool

    def parse(self, request: bytes) -> Operation:
        """What a request asks. Raises: BadRequest, BadParams."""
        return self.dialect.methods[self.name](read_message(self.takes, request))

    def write(self, body: bytes) -> bytes:
        """The message of a reply, or of one event, which is given in the dialect's JSON. Raises: Unsayable."""
        return write_message(self.gives, proto_card_03(body) if self.gives is a2a_v0_3_pb2.AgentCard else body)


class Service(msgspec.Struct, frozen=True):
    """A service: its full name, and its rpcs by theirs."""

    name: str
    rpcs: Mapping[str, Rpc]


def _service(described: ServiceDescriptor, dialect: Dialect) -> Service:
    return Service(described.full_name, {method.name: _rpc(method, dialect) for method in described.methods})


def _rpc(method: MethodDescriptor, dialect: Dialect) -> Rpc:
    return Rpc(
        name=method.name,
        dialect=dialect,
        takes=GetMessageClass(method.input_type),
        gives=GetMessageClass(method.output_type),
        streams=method.server_streaming,
    )


SERVICES: tuple[Service, ...] = (
    _service(a2a_pb2.DESCRIPTOR.services_by_name["A2AService"], V10),
    _service(a2a_v0_3_pb2.DESCRIPTOR.services_by_name["A2AService"], V03_PROTO),
)
