"""NVIDIA's NeMo Agent Toolkit: `A2ABaseClient`, which its workflows' functions call by."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from nat.plugins.a2a.client.client_base import A2ABaseClient
from tests.e2e.clients.programs.wire import serve


class Connection:
    """A client, with the open question of each conversation."""

    def __init__(self, client: A2ABaseClient) -> None:
        self._client = client
        self._asking: dict[str, str] = {}

    async def say(self, text: str, conversation: str) -> dict[str, Any]:
        """By its own reading of the events, but for a question, which that leaves to the caller."""
        task_id = self._asking.pop(conversation, None)
        events = [each async for each in self._client.send_message(text, task_id=task_id, context_id=conversation)]
        task, _ = events[-1]
        if task.status.state.value == "input-required":
            self._asking[conversation] = task.id
            return {"text": " ".join(self._client.extract_text_from_parts(task.status.message.parts))}
        return {"text": self._client.extract_text_from_events(events)}

    async def stream(self, text: str, conversation: str) -> AsyncIterator[str]:
        async for task, _ in self._client.send_message_streaming(text, context_id=conversation):
            yield "".join(
                text for one in task.artifacts or [] for text in self._client.extract_text_from_parts(one.parts)
            )

    async def cancel(self, text: str) -> str:
        async for task, _ in self._client.send_message_streaming(text):
            await self._client.cancel_task(task.id)
            return str(task.id)
        raise AssertionError("no task was seen")


async def connect(url: str, **_: str) -> Connection:
    return Connection(await A2ABaseClient(url).__aenter__())


if __name__ == "__main__":
    asyncio.run(serve(connect))
