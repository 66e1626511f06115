"""Passes a remote agent's words to LangChain's callbacks, as a chat model passes its tokens.

So they reach every caller that streams the graph's messages. A text that is taken back has no form there: the
next words are a new message, of the same step, which readers take for the one that counts.
"""

from types import TracebackType
from typing import Self
from uuid import uuid4

from langchain_core.callbacks.manager import AsyncCallbackManagerForLLMRun
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, LLMResult
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import get_async_callback_manager_for_config

from llamon_agent.domain.events import Delta


class TokenCallbacks:
    """One call's words, as messages; `message_id` is the id of the one that counts. Leaving it ends the message."""

    def __init__(self, config: RunnableConfig) -> None:
        self.message_id = _new_id()
        self._manager = get_async_callback_manager_for_config(config)
        self._run: AsyncCallbackManagerForLLMRun | None = None
        self._text = ""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._run is None:
            return
        if exc is None:
            await self._end(self._run)
        else:
            await self._run.on_llm_error(exc)

    async def add(self, delta: Delta) -> None:
        """The next words."""
        if delta.restart and self._run is not None:
            await self._end(self._run)
            self._run, self._text, self.message_id = None, "", _new_id()
        if self._run is None:
            [self._run] = await self._manager.on_chat_model_start({}, [[]], name="remote agent")
        self._text += delta.text
        chunk = ChatGenerationChunk(message=AIMessageChunk(content=delta.text, id=self.message_id))
        await self._run.on_llm_new_token(delta.text, chunk=chunk)

    async def _end(self, run: AsyncCallbackManagerForLLMRun) -> None:
        whole = AIMessage(self._text, id=self.message_id)
        await run.on_llm_end(LLMResult(generations=[[ChatGeneration(message=whole)]]))


def _new_id() -> str:
    return f"remote-{uuid4().hex}"
