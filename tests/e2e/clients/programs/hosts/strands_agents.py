"""Strands: `A2AAgent`. Each call is a conversation of its own."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from a2a.types import TaskArtifactUpdateEvent
from strands.agent.a2a_agent import A2AAgent
from tests.e2e.clients.programs.wire import serve


class Connection:
    """An agent."""

    def __init__(self, agent: A2AAgent) -> None:
        self._agent = agent

    async def say(self, text: str, conversation: str) -> dict[str, Any]:
        result = await self._agent.invoke_async(text)
        return {"text": "".join(block["text"] for block in result.message["content"])}

    async def stream(self, text: str, conversation: str) -> AsyncIterator[str]:
        """The task as a2a-sdk keeps it, whose events Strands hands on."""
        async for event in self._agent.stream_async(text):
            if event.get("type") == "a2a_stream" and isinstance(event["event"][1], TaskArtifactUpdateEvent):
                artifacts = event["event"][0].artifacts
                yield "".join(part.root.text for artifact in artifacts for part in artifact.parts)


async def connect(url: str, **_: str) -> Connection:
    return Connection(A2AAgent(endpoint=url))


if __name__ == "__main__":
    asyncio.run(serve(connect))
