"""AG2: an `Agent` whose model is the remote agent, by `A2AConfig`."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from ag2 import Agent, MemoryStream
from ag2.a2a import A2AConfig
from ag2.a2a.events import A2ATaskSnapshot
from ag2.a2a.tasks import cancel_task
from ag2.events import HumanInputRequest, ModelMessageChunk
from tests.e2e.clients.programs.wire import serve

Json = dict[str, Any]


class Turn:
    """A turn that runs: it ends with an answer, or waits for a person where the agent asks."""

    def __init__(self, ask: Any, text: str) -> None:
        self._seen: asyncio.Queue[str | None] = asyncio.Queue()
        self._answer: asyncio.Queue[str] = asyncio.Queue()
        self._reply = asyncio.ensure_future(ask(text, hitl_hook=self._asked))
        self._reply.add_done_callback(lambda _: self._seen.put_nowait(None))

    async def shown(self) -> tuple[str, Any]:
        """The question, or the answer and the reply that the next turn goes on from."""
        question = await self._seen.get()
        return (question, None) if question is not None else ((await self._reply).body or "", await self._reply)

    def answer(self, text: str) -> None:
        self._answer.put_nowait(text)

    async def _asked(self, request: HumanInputRequest) -> str:
        self._seen.put_nowait(request.content)
        return await self._answer.get()


class Connection:
    """An agent, with the last reply and the waiting turn of each conversation."""

    def __init__(self, config: A2AConfig) -> None:
        self._config = config
        self._agent = Agent("remote", config=config)
        self._replies: dict[str, Any] = {}
        self._waiting: dict[str, Turn] = {}

    async def say(self, text: str, conversation: str) -> Json:
        if turn := self._waiting.pop(conversation, None):
            turn.answer(text)
        else:
            turn = Turn(self._replies.get(conversation, self._agent).ask, text)
        shown, reply = await turn.shown()
        if reply is None:
            self._waiting[conversation] = turn
        else:
            self._replies[conversation] = reply
        return {"text": shown}

    async def stream(self, text: str, conversation: str) -> AsyncIterator[str]:
        shown = ""
        async for chunk in _events(self._agent, text, ModelMessageChunk):
            shown += chunk.content
            yield shown

    async def cancel(self, text: str) -> str:
        async for snapshot in _events(self._agent, text, A2ATaskSnapshot):
            await cancel_task(self._config, snapshot.task.id)
            return str(snapshot.task.id)
        raise AssertionError("no task was seen")


async def _events(agent: Agent, text: str, kind: type) -> AsyncIterator[Any]:
    """The events of that kind that a turn's stream has, while it runs."""
    stream, seen = MemoryStream(), asyncio.Queue[Any]()
    stream.where(kind).subscribe(lambda event: seen.put_nowait(event), sync_to_thread=False)
    turn = asyncio.ensure_future(agent.ask(text, stream=stream))
    turn.add_done_callback(lambda _: seen.put_nowait(None))
    while (event := await seen.get()) is not None:
        yield event
    await turn


async def connect(url: str, **_: str) -> Connection:
    return Connection(A2AConfig(card_url=url))


if __name__ == "__main__":
    asyncio.run(serve(connect))
