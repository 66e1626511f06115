"""Every way to reach an agent, each as a transport of the official client, and a comparison of their answers.

Six of them are the official client's own, and all take and give 1.0's messages. The seventh sends 0.3's HTTP+JSON in
the spelling of its JSON schema, as that client does not.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx
from a2a.client.client import ClientCallContext
from a2a.client.transports.base import ClientTransport
from a2a.client.transports.grpc import GrpcTransport
from a2a.client.transports.jsonrpc import JsonRpcTransport
from a2a.client.transports.rest import RestTransport
from a2a.compat.v0_3 import conversions
from a2a.compat.v0_3.grpc_transport import CompatGrpcTransport
from a2a.compat.v0_3.jsonrpc_transport import CompatJsonRpcTransport
from a2a.compat.v0_3.rest_transport import CompatRestTransport
from a2a.compat.v0_3.types import Message, Task
from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import A2AError
from google.protobuf.json_format import MessageToDict, ParseDict
from pydantic import TypeAdapter
from tests.conformance.sites import message, site

OLD = ("jsonrpc-0.3", "rest-0.3", "rest-0.3-schema", "grpc-0.3")
NEW = ("jsonrpc-1.0", "rest-1.0", "grpc-1.0")

IDS = frozenset({"id", "taskId", "contextId", "messageId", "artifactId", "timestamp"})
"""What differs from task to task."""


class SchemaRestTransport(CompatRestTransport):
    """0.3's HTTP+JSON whose bodies are of the JSON schema; only sends have two spellings, as have their answers."""

    async def send_message(
        self, request: pb.SendMessageRequest, *, context: ClientCallContext | None = None
    ) -> pb.SendMessageResponse:
        params = conversions.to_compat_send_message_request(request, request_id=0).params
        body = params.model_dump(mode="json", by_alias=True, exclude_none=True)
        told: Message | Task = TypeAdapter(Message | Task).validate_python(
            await self._execute_request("POST", "/v1/message:send", context=context, json=body)
        )
        if isinstance(told, Message):
            return pb.SendMessageResponse(message=conversions.to_core_message(told))
        return pb.SendMessageResponse(task=conversions.to_core_task(told))


Wires = Mapping[str, ClientTransport]


@asynccontextmanager
async def wires(a2a: Mapping[str, Any] | None = None, **kit: Any) -> AsyncIterator[Wires]:
    """The conformance agent, over everything by which it can be reached, with what differs in its configuration."""
    card = pb.AgentCard(capabilities=pb.AgentCapabilities(streaming=True, extended_agent_card=True))
    async with (
        asyncio.timeout(30),
        site(a2a, **kit) as at,
        httpx.AsyncClient(timeout=10) as http,
    ):
        url = f"{at.url}/a2a"
        yield {
            "jsonrpc-1.0": JsonRpcTransport(http, card, url),
            "rest-1.0": RestTransport(http, card, url),
            "grpc-1.0": GrpcTransport(at.grpc, card),
            "jsonrpc-0.3": CompatJsonRpcTransport(http, card, url),
            "rest-0.3": CompatRestTransport(http, card, url),
            "rest-0.3-schema": SchemaRestTransport(http, card, url),
            "grpc-0.3": CompatGrpcTransport(at.grpc, card),
        }


def sending(scenario: str, /, configuration: Any = None, **more: Any) -> pb.SendMessageRequest:
    """A send that waits, unless its configuration says otherwise. In 0.3's protobuf a client has to say that it waits,
    and the official one does where it has anything to say.
    """
    says = {"acceptedOutputModes": ["*/*"], **(configuration or {})}
    return ParseDict(message(scenario, configuration=says, **more), pb.SendMessageRequest())


def bare(value: Any) -> Any:
    """A value without the ids and times in it."""
    if isinstance(value, dict):
        return {key: bare(inner) for key, inner in value.items() if key not in IDS}
    return [bare(inner) for inner in value] if isinstance(value, list) else value


async def begin(wire: ClientTransport, scenario: str, **more: Any) -> str:
    """The id of a new task, which may still be worked on."""
    sent = await wire.send_message(sending(scenario, {"returnImmediately": True}, **more))
    return sent.task.id


async def outcome(asking: Any) -> Any:
    """What an operation gives, or the name of the error that it ends with."""
    try:
        if hasattr(asking, "__aiter__"):
            return [MessageToDict(event) async for event in asking]
        given = await asking
    except A2AError as exc:
        return type(exc).__name__
    return None if given is None else MessageToDict(given)


def same(told: Mapping[str, Any]) -> Any:
    """What all of them returned, which must be the same."""
    first = next(iter(told.values()))
    assert told == dict.fromkeys(told, first)
    return first


def some(of: Wires, names: Iterable[str]) -> Wires:
    return {name: of[name] for name in names}
