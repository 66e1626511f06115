"""BeeAI: `A2AAgent`, with a memory for each conversation."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from a2a.types import Message
from beeai_framework.adapters.a2a.agents import A2AAgent
from beeai_framework.memory import UnconstrainedMemory
from tests.e2e.clients.programs.wire import serve

Json = dict[str, Any]


class Connection:
    """An agent for each conversation."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._agents: dict[str, A2AAgent] = {}

    async def say(self, text: str, conversation: str, history: list[Json] | None = None) -> Json:
        said: Any = text
        if history:
            said = Message.model_validate(
                {"role": "user", "messageId": conversation, "parts": [{"kind": "text", "text": text}]}
                | {"metadata": {"history": history}}
            )
        return {"text": (await self._agent(conversation).run(said)).last_message.text}

    async def stream(self, text: str, conversation: str) -> AsyncIterator[str]:
        """Its updates are a2a-sdk's events, with the task as that keeps it."""
        seen: asyncio.Queue[str | None] = asyncio.Queue()

        async def update(data: Any, _: Any) -> None:
            artifacts = data.value[0].artifacts or []
            seen.put_nowait("".join(part.root.text for artifact in artifacts for part in artifact.parts))

        run = self._agent(conversation).run(text).on("update", update)
        ended = asyncio.ensure_future(run)
        ended.add_done_callback(lambda _: seen.put_nowait(None))
        while (shown := await seen.get()) is not None:
            yield shown
        await ended

    def _agent(self, conversation: str) -> A2AAgent:
        if conversation not in self._agents:
            self._agents[conversation] = A2AAgent(url=self._url, memory=UnconstrainedMemory())
        return self._agents[conversation]


async def connect(url: str, **_: str) -> Connection:
    return Connection(url)


if __name__ == "__main__":
    asyncio.run(serve(connect))
