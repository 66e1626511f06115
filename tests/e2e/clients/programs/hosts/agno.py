"""Agno: `A2AClient` over its JSON-RPC, which it posts to the root of the address that it is given."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from agno.client.a2a import A2AClient
from tests.e2e.clients.programs.wire import serve

Json = dict[str, Any]


class Connection:
    """A client."""

    def __init__(self, client: A2AClient) -> None:
        self._client = client

    async def say(self, text: str, conversation: str, history: list[Json] | None = None) -> Json:
        metadata = {"history": history} if history else None
        result = await self._client.send_message(text, context_id=conversation, metadata=metadata)
        return {"text": result.content, "failed": result.status == "failed"}

    async def stream(self, text: str, conversation: str) -> AsyncIterator[str]:
        shown = ""
        async for event in self._client.stream_message(text, context_id=conversation):
            if event.is_content and event.content:
                shown += event.content
                yield shown


async def connect(url: str, **_: str) -> Connection:
    return Connection(A2AClient(f"{url}/a2a", protocol="json-rpc"))


if __name__ == "__main__":
    asyncio.run(serve(connect))
