"""CrewAI: an `Agent` with an `A2AClientConfig`, and a model that delegates whatever it is asked."""

import asyncio
import os
import tempfile
from typing import Any

os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_STORAGE_DIR": tempfile.mkdtemp()}

from crewai import Agent, BaseLLM
from crewai.a2a import A2AClientConfig
from tests.e2e.clients.programs.wire import serve


class Delegates(BaseLLM):
    """A model that hands every task to the remote agent."""

    agent: str
    task: str

    def call(self, messages: Any, *_: Any, response_model: Any = None, **__: Any) -> Any:
        return response_model(a2a_ids=[self.agent], message=self.task, is_a2a=True)


class Connection:
    """The agent's card."""

    def __init__(self, card: str) -> None:
        self._card = card

    async def say(self, text: str, conversation: str) -> dict[str, Any]:
        agent = Agent(
            role="clerk",
            goal="Delegate.",
            backstory="You delegate.",
            llm=Delegates(model="none", agent=self._card, task=text),
            a2a=A2AClientConfig(endpoint=self._card, trust_remote_completion_status=True, max_turns=1),
        )
        return {"text": (await asyncio.to_thread(agent.kickoff, text)).raw}


async def connect(url: str, **_: str) -> Connection:
    return Connection(f"{url}/.well-known/agent-card.json")


if __name__ == "__main__":
    asyncio.run(serve(connect))
