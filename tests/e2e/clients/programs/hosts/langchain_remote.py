"""langchain-remote-a2a-agent: `RemoteAgent`, a Runnable with a conversation for each `thread_id`."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from langchain_remote_a2a_agent import RemoteAgent
from tests.e2e.clients.programs.wire import serve


class Connection:
    """An agent."""

    def __init__(self, agent: RemoteAgent) -> None:
        self._agent = agent

    async def say(self, text: str, conversation: str) -> dict[str, Any]:
        result = await self._agent.ainvoke(*_turn(text, conversation))
        return {"text": result["messages"][-1].content}

    async def stream(self, text: str, conversation: str) -> AsyncIterator[str]:
        shown = ""
        async for state in self._agent.astream(*_turn(text, conversation)):
            shown += state["messages"][-1].content
            yield shown


def _turn(text: str, conversation: str) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"messages": [{"role": "user", "content": text}]}, {"configurable": {"thread_id": conversation}}


async def connect(url: str, **_: str) -> Connection:
    return Connection(RemoteAgent(agent_card_url=f"{url}/.well-known/agent-card.json"))


if __name__ == "__main__":
    asyncio.run(serve(connect))
