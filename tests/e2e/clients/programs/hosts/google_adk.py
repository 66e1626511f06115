"""Google's ADK: `RemoteA2aAgent` as the root agent of a Runner with sessions in memory."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from google.adk.agents.remote_a2a_agent import RemoteA2aAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.runners import InMemoryRunner
from google.genai import types
from tests.e2e.clients.programs.wire import serve

Json = dict[str, Any]
USER = "user"


class Connection:
    """A runner, with a session and the open question of each conversation, and the history for the next request."""

    def __init__(self, url: str) -> None:
        self._history: list[Json] | None = None
        self._asking: dict[str, types.FunctionCall] = {}
        agent = RemoteA2aAgent(
            name="remote",
            agent_card=f"{url}/.well-known/agent-card.json",
            a2a_request_meta_provider=lambda _context, _message: {"history": self._history} if self._history else {},
        )
        self._runner = InMemoryRunner(agent, app_name="app")

    async def say(self, text: str, conversation: str, history: list[Json] | None = None) -> Json:
        """What the session keeps of the turn, which is what the next agent of a workflow reads.

        A question is a call of a function that takes long, and its answer is the function's response.
        """
        self._history = history
        shown, failed = "", False
        async for event in self._run(text, conversation):
            failed = failed or bool(event.error_message)
            if not event.partial:
                shown += _text(event)
            for call in event.get_function_calls():
                self._asking[conversation] = call
                shown += call.args["input_required"]
        return {"text": shown, "failed": failed}

    async def stream(self, text: str, conversation: str) -> AsyncIterator[str]:
        """Partial events add to what is shown, a whole one takes their place."""
        shown = ""
        async for event in self._run(text, conversation, streaming_mode=StreamingMode.SSE):
            if _text(event):
                shown = shown + _text(event) if event.partial else _text(event)
                yield shown

    async def _run(self, text: str, conversation: str, **how: Any) -> AsyncIterator[Any]:
        sessions = self._runner.session_service
        which = {"app_name": "app", "user_id": USER, "session_id": conversation}
        if await sessions.get_session(**which) is None:
            await sessions.create_session(**which)
        part = types.Part(text=text)
        if call := self._asking.pop(conversation, None):
            part = types.Part.from_function_response(name=call.name, response={"result": text})
            part.function_response.id = call.id
        message = types.Content(role="user", parts=[part])
        async for event in self._runner.run_async(
            user_id=USER, session_id=conversation, new_message=message, run_config=RunConfig(**how)
        ):
            yield event


def _text(event: Any) -> str:
    """Without thoughts, which is how ADK shows a status message of work that goes on."""
    parts = event.content.parts if event.content and event.content.parts else []
    return "".join(part.text for part in parts if part.text and not part.thought)


async def connect(url: str, **_: str) -> Connection:
    return Connection(url)


if __name__ == "__main__":
    asyncio.run(serve(connect))
