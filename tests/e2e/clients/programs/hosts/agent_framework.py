"""Microsoft's agent-framework-a2a: `A2AAgent`, with the card that the official resolver reads for it."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
from a2a.client import A2ACardResolver
from agent_framework import Message
from agent_framework.a2a import A2AAgent, A2AAgentSession
from tests.e2e.clients.programs.wire import serve

Json = dict[str, Any]


class Connection:
    """An agent, with a session for each conversation."""

    def __init__(self, agent: A2AAgent) -> None:
        self._agent = agent
        self._sessions: dict[str, A2AAgentSession] = {}

    async def say(self, text: str, conversation: str, history: list[Json] | None = None) -> Json:
        """Source: A2AAgent._prepare_message_for_a2a (the property `a2a` becomes the message's metadata)."""
        more = {"additional_properties": {"a2a": {"history": history}}} if history else {}
        message = Message(role="user", contents=[text], **more)
        return {"text": (await self._agent.run(message, session=self._session(conversation))).text}

    async def stream(self, text: str, conversation: str) -> AsyncIterator[str]:
        shown = ""
        async for update in self._agent.run(text, stream=True, session=self._session(conversation)):
            shown += update.text
            yield shown

    def _session(self, conversation: str) -> A2AAgentSession:
        return self._sessions.setdefault(conversation, A2AAgentSession(context_id=conversation))


async def connect(url: str, **_: str) -> Connection:
    card = await A2ACardResolver(httpx.AsyncClient(), url).get_agent_card()
    return Connection(A2AAgent(agent_card=card))


if __name__ == "__main__":
    asyncio.run(serve(connect))
