"""The official Python SDK 0.2.x, which knows JSON-RPC only. It speaks the JSON of 0.2 with us."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
from a2a.client import A2ACardResolver, A2AClient
from a2a.types import (
    AgentCard,
    CancelTaskRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    SendMessageRequest,
    SendStreamingMessageRequest,
    SetTaskPushNotificationConfigRequest,
)
from tests.e2e.clients.programs.wire import serve

Json = dict[str, Any]


class JsonRpcError(Exception):
    """The error object that this SDK gives back instead of raising it."""


class Connection:
    """A client for the card's one address."""

    def __init__(self, card: AgentCard, client: A2AClient) -> None:
        self._card = card
        self._client = client

    async def card(self) -> Json:
        return _json(self._card)

    async def send(self, request: Json) -> Json:
        return _result(await self._client.send_message(SendMessageRequest(id="1", params=request)))

    async def stream(self, request: Json) -> AsyncIterator[Json]:
        async for each in self._client.send_message_streaming(SendStreamingMessageRequest(id="1", params=request)):
            yield _result(each)

    async def get(self, request: Json) -> Json:
        return _result(await self._client.get_task(GetTaskRequest(id="1", params=request)))

    async def cancel(self, request: Json) -> Json:
        return _result(await self._client.cancel_task(CancelTaskRequest(id="1", params=request)))

    async def set_push(self, request: Json) -> Json:
        asked = SetTaskPushNotificationConfigRequest(id="1", params=request)
        return _result(await self._client.set_task_callback(asked))

    async def get_push(self, request: Json) -> Json:
        asked = GetTaskPushNotificationConfigRequest(id="1", params=request)
        return _result(await self._client.get_task_callback(asked))


def _result(response: Any) -> Json:
    """Raises: JsonRpcError."""
    answer = _json(response.root)
    if "error" in answer:
        raise JsonRpcError(f"{answer['error']['code']}: {answer['error']['message']}")
    result: Json = answer["result"]
    return result


def _json(value: Any) -> Json:
    told: Json = value.model_dump(mode="json", by_alias=True, exclude_none=True)
    return told


async def connect(url: str, binding: str, version: str, token: str) -> Connection:
    """Read the card, where 0.2 has it, and take its one address."""
    http = httpx.AsyncClient(timeout=20, headers={"Authorization": f"Bearer {token}"} if token else {})
    card = await A2ACardResolver(http, url).get_agent_card()
    return Connection(card, A2AClient(httpx_client=http, agent_card=card))


if __name__ == "__main__":
    asyncio.run(serve(connect))
