"""The official Python SDK 0.3.x. It speaks the JSON of 0.3 with us."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc.aio
import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.client import Client
from a2a.types import (
    AgentCard,
    GetTaskPushNotificationConfigParams,
    MessageSendParams,
    Task,
    TaskIdParams,
    TaskPushNotificationConfig,
    TaskQueryParams,
)
from tests.e2e.clients.programs.wire import serve

Json = dict[str, Any]


class Connection:
    """A client for one interface of the card. It keeps the task of each stream, as this SDK builds it up."""

    def __init__(self, card: AgentCard, streaming: Client, waiting: Client) -> None:
        self._card = card
        self._streaming = streaming
        self._waiting = waiting
        self._kept: dict[str, Task] = {}

    async def card(self) -> Json:
        return _json(self._card)

    async def send(self, request: Json) -> Json:
        [only] = [each async for each in _sent(self._waiting, request)]
        return _json(only[0] if isinstance(only, tuple) else only)

    async def stream(self, request: Json) -> AsyncIterator[Json]:
        async for each in _sent(self._streaming, request):
            yield self._noted(each)

    async def subscribe(self, request: Json) -> AsyncIterator[Json]:
        async for each in self._streaming.resubscribe(TaskIdParams.model_validate(request)):
            yield self._noted(each)

    def _noted(self, said: Any) -> Json:
        if not isinstance(said, tuple):
            return _json(said)
        task, update = said
        self._kept[task.id] = task
        return _json(update or task)

    async def kept(self, task_id: str) -> Json:
        return _json(self._kept[task_id])

    async def get(self, request: Json) -> Json:
        return _json(await self._waiting.get_task(TaskQueryParams.model_validate(request)))

    async def cancel(self, request: Json) -> Json:
        return _json(await self._waiting.cancel_task(TaskIdParams.model_validate(request)))

    async def set_push(self, request: Json) -> Json:
        return _json(await self._waiting.set_task_callback(TaskPushNotificationConfig.model_validate(request)))

    async def get_push(self, request: Json) -> Json:
        return _json(await self._waiting.get_task_callback(GetTaskPushNotificationConfigParams.model_validate(request)))

    async def extended_card(self) -> Json:
        return _json(await self._waiting.get_card())


def _sent(client: Client, request: Json) -> AsyncIterator[Any]:
    params = MessageSendParams.model_validate(request)
    return client.send_message(params.message, configuration=params.configuration, request_metadata=params.metadata)


def _json(value: Any) -> Json:
    told: Json = value.model_dump(mode="json", by_alias=True, exclude_none=True)
    return told


async def connect(url: str, binding: str, version: str, token: str) -> Connection:
    """Read the card, and take the interface that is asked for; or the card's first.

    This SDK sends tokens over JSON-RPC only, so ours are put on its channels.
    """
    http = httpx.AsyncClient(timeout=20, headers={"Authorization": f"Bearer {token}"} if token else {})
    card = await A2ACardResolver(http, url).get_agent_card()
    streaming, waiting = (
        ClientFactory(
            ClientConfig(
                httpx_client=http,
                streaming=streams,
                supported_transports=[binding] if binding else ["JSONRPC", "HTTP+JSON", "GRPC"],
                use_client_preference=bool(binding),
                grpc_channel_factory=lambda target: _channel(target, token),
            )
        ).create(card)
        for streams in (True, False)
    )
    return Connection(card, streaming, waiting)


def _channel(target: str, token: str) -> grpc.aio.Channel:
    interceptors = [_UnaryToken(token), _StreamToken(token)] if token else []
    return grpc.aio.insecure_channel(target, interceptors=interceptors)


class _UnaryToken(grpc.aio.UnaryUnaryClientInterceptor):
    def __init__(self, token: str) -> None:
        self._token = token

    async def intercept_unary_unary(self, continuation: Any, details: Any, request: Any) -> Any:
        return await continuation(_with_token(details, self._token), request)


class _StreamToken(grpc.aio.UnaryStreamClientInterceptor):
    def __init__(self, token: str) -> None:
        self._token = token

    async def intercept_unary_stream(self, continuation: Any, details: Any, request: Any) -> Any:
        return await continuation(_with_token(details, self._token), request)


def _with_token(details: Any, token: str) -> Any:
    metadata = grpc.aio.Metadata(*(details.metadata or ()), ("authorization", f"Bearer {token}"))
    return details._replace(metadata=metadata)


if __name__ == "__main__":
    asyncio.run(serve(connect))
