"""python-a2a: `A2AClient`, with the agent's address."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from python_a2a import A2AClient, Message, MessageRole, TextContent
from tests.e2e.clients.programs.wire import serve


class Connection:
    """A client."""

    def __init__(self, client: A2AClient) -> None:
        self._client = client

    async def say(self, text: str, conversation: str) -> dict[str, Any]:
        return {"text": await asyncio.to_thread(self._client.ask, text)}

    async def stream(self, text: str, conversation: str) -> AsyncIterator[str]:
        message = Message(content=TextContent(text=text), role=MessageRole.USER, conversation_id=conversation)
        shown = ""
        async for chunk in self._client.stream_response(message):
            shown += chunk
            yield shown


async def connect(url: str, **_: str) -> Connection:
    return Connection(await asyncio.to_thread(A2AClient, url))


if __name__ == "__main__":
    asyncio.run(serve(connect))
