"""The official Python SDK 1.x, in its 1.0 and its 0.3 mode. It speaks the JSON of 1.0 with us in both."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc.aio
import httpx
from a2a.client import ClientConfig, ClientFactory
from a2a.client.auth import AuthInterceptor, CredentialService
from a2a.client.card_resolver import A2ACardResolver
from a2a.client.client import Client, ClientCallContext
from a2a.types.a2a_pb2 import (
    AgentCard,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
)
from google.protobuf.json_format import MessageToDict, ParseDict
from tests.e2e.clients.programs.wire import serve

Json = dict[str, Any]


class Token(CredentialService):
    """One token, for whatever scheme the card names."""

    def __init__(self, token: str) -> None:
        self._token = token

    async def get_credentials(self, security_scheme_name: str, context: ClientCallContext | None) -> str | None:
        return self._token or None


class Connection:
    """A client for one interface of the card."""

    def __init__(self, card: AgentCard, streaming: Client, waiting: Client) -> None:
        self._card = card
        self._streaming = streaming
        self._waiting = waiting

    async def card(self) -> Json:
        return MessageToDict(self._card)

    async def send(self, request: Json) -> Json:
        [only] = [event async for event in self._waiting.send_message(ParseDict(request, SendMessageRequest()))]
        return MessageToDict(only)

    async def stream(self, request: Json) -> AsyncIterator[Json]:
        async for event in self._streaming.send_message(ParseDict(request, SendMessageRequest())):
            yield MessageToDict(event)

    async def subscribe(self, request: Json) -> AsyncIterator[Json]:
        async for event in self._streaming.subscribe(ParseDict(request, SubscribeToTaskRequest())):
            yield MessageToDict(event)

    async def get(self, request: Json) -> Json:
        return MessageToDict(await self._waiting.get_task(ParseDict(request, GetTaskRequest())))

    async def cancel(self, request: Json) -> Json:
        return MessageToDict(await self._waiting.cancel_task(ParseDict(request, CancelTaskRequest())))

    async def list_tasks(self, request: Json) -> Json:
        page = await self._waiting.list_tasks(ParseDict(request, ListTasksRequest()))
        return MessageToDict(page, always_print_fields_with_no_presence=True)

    async def set_push(self, request: Json) -> Json:
        made = await self._waiting.create_task_push_notification_config(
            ParseDict(request, TaskPushNotificationConfig())
        )
        return MessageToDict(made)

    async def get_push(self, request: Json) -> Json:
        found = await self._waiting.get_task_push_notification_config(
            ParseDict(request, GetTaskPushNotificationConfigRequest())
        )
        return MessageToDict(found)

    async def list_push(self, request: Json) -> list[Json]:
        listed = await self._waiting.list_task_push_notification_configs(
            ParseDict(request, ListTaskPushNotificationConfigsRequest())
        )
        return [MessageToDict(each) for each in listed.configs]

    async def delete_push(self, request: Json) -> None:
        await self._waiting.delete_task_push_notification_config(
            ParseDict(request, DeleteTaskPushNotificationConfigRequest())
        )

    async def extended_card(self) -> Json:
        return MessageToDict(await self._waiting.get_extended_agent_card(GetExtendedAgentCardRequest()))


async def connect(url: str, binding: str, version: str, token: str) -> Connection:
    """Read the card of that version as it is, and support the one binding that is asked for; all, if none is."""
    http = httpx.AsyncClient(timeout=20)
    path = "/.well-known/agent.json" if version == "0.3" else "/.well-known/agent-card.json"
    card = await A2ACardResolver(http, url, agent_card_path=path).get_agent_card()
    return Connection(
        card, _client(card, http, binding, token, streaming=True), _client(card, http, binding, token, streaming=False)
    )


def _client(card: AgentCard, http: httpx.AsyncClient, binding: str, token: str, *, streaming: bool) -> Client:
    config = ClientConfig(
        httpx_client=http,
        streaming=streaming,
        supported_protocol_bindings=[binding] if binding else ["JSONRPC", "HTTP+JSON", "GRPC"],
        grpc_channel_factory=grpc.aio.insecure_channel,
    )
    return ClientFactory(config).create(card, [AuthInterceptor(Token(token))])


if __name__ == "__main__":
    asyncio.run(serve(connect))
