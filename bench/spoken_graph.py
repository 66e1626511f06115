"""A graph whose model says the time, 50 times a second; and, as a program, that graph without a server.

Each token is the moment in which the model gives it away, in nanoseconds of the machine's monotonic clock, so whoever
reads it knows how long it was on its way. Prints these times as JSON: a list for each call. Usage: spoken_graph CALLS.
"""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langgraph.graph import START, MessagesState, StateGraph

TOKENS = 50
_EVERY_S = 0.02


class Clock(BaseChatModel):
    """A model that says the time."""

    @property
    def _llm_type(self) -> str:
        return "clock"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        raise NotImplementedError("it only streams")

    async def _astream(self, *_: Any, **__: Any) -> AsyncIterator[ChatGenerationChunk]:
        for _number in range(TOKENS):
            await asyncio.sleep(_EVERY_S)
            yield ChatGenerationChunk(message=AIMessageChunk(content=f"{time.monotonic_ns()} "))


def graph() -> Any:
    """One node that calls the model."""
    model = Clock()

    async def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder: Any = StateGraph(MessagesState)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    return builder


async def main(calls: int) -> list[list[int]]:
    """How long each token of each call was on its way. Units: nanoseconds."""
    compiled = graph().compile()
    return [[delay async for delay in _delays(compiled)] for _ in range(calls)]


async def _delays(compiled: Any) -> AsyncIterator[int]:
    async for message, _ in compiled.astream({"messages": [("user", "when?")]}, stream_mode="messages"):
        if message.text:
            yield time.monotonic_ns() - int(message.text)


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(int(sys.argv[1])))))
