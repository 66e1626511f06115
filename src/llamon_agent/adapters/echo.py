"""An agent that answers with the prompt: for smoke tests and benchmarks."""

from collections.abc import AsyncGenerator

from llamon_agent.domain.events import NOT_SUPPORTED, AgentEvent, Complete, Delta, SeedOutcome, Started
from llamon_agent.runs.ports.agent import Turn


class EchoAgent:
    """Answers with the prompt, in `chunks` deltas of about one size, or in as many as the prompt has characters."""

    survives_restart = False

    def __init__(self, chunks: int = 1) -> None:
        self._chunks = chunks

    async def run(self, turn: Turn) -> AsyncGenerator[AgentEvent]:
        """See runs.ports.Agent."""
        received, prompt = turn.history_received, turn.prompt
        yield Started(history=SeedOutcome(seeded=0, skipped=received, reason=NOT_SUPPORTED) if received else None)
        chunks = min(self._chunks, len(prompt))
        for number in range(chunks):
            yield Delta(text=prompt[number * len(prompt) // chunks : (number + 1) * len(prompt) // chunks])
        yield Complete()

    async def close_turn(self, thread_id: str) -> None:
        """It never pauses, so there is nothing to close."""

    async def delete_thread(self, thread_id: str) -> None:
        """It remembers nothing."""
