"""Agents for bench.shape: a graph without a model, and one that says a piece when it is told to."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

next_piece = asyncio.Event()


def graph() -> Any:
    """One node that answers without a model."""
    from langgraph.graph import START, MessagesState, StateGraph

    def answer(_state: MessagesState) -> dict[str, Any]:
        return {"messages": [("ai", "hello")]}

    builder: Any = StateGraph(MessagesState)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    return builder


async def pieces(_prompt: str) -> AsyncGenerator[str]:
    """Says one piece each time it is told to."""
    for _ in range(4):
        yield "word "
        await next_piece.wait()
        next_piece.clear()
