"""A graph whose first node calls a model for itself; what that says does not get into the state.

The prompt says how the run ends: by itself, with a question ("ask"), by a failure ("fail", "break off"), or not before
it is canceled ("hang", "hang halfway"). "break off" and "hang halfway" are in the middle of an answer then.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt
from tests.unit.adapters.langgraph.scripted import Plain, streaming
from typing_extensions import override


class Halfway(Plain):
    """Says half an answer, and then fails or waits for ever."""

    fails: bool

    @override
    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        yield ChatGenerationChunk(message=AIMessageChunk(content="Half an "))
        if self.fails:
            raise RuntimeError("out of paper")
        await asyncio.Event().wait()


async def route(state: MessagesState) -> dict[str, Any]:
    await streaming("secret words of the router").ainvoke("x")
    return {}


async def ask(state: MessagesState) -> dict[str, Any]:
    return {"messages": [AIMessage(f"You said {interrupt('Sure?')}.")]}


async def fail(state: MessagesState) -> dict[str, Any]:
    await streaming("secret words of the guard").ainvoke("x")
    raise RuntimeError("no such category")


async def hang(state: MessagesState) -> dict[str, Any]:
    await streaming("secret words of the guard").ainvoke("x")
    get_stream_writer()("hanging")
    await asyncio.Event().wait()
    return {}


async def halfway(state: MessagesState) -> dict[str, Any]:
    fails = state["messages"][-1].text == "break off"
    return {"messages": [await Halfway(replies=[], asked=[], fails=fails).ainvoke("x")]}


LEADS_TO = {"ask": "ask", "fail": "fail", "hang": "hang", "break off": "halfway", "hang halfway": "halfway"}

builder = StateGraph(MessagesState)
for node in (route, ask, fail, hang, halfway):
    builder.add_node(node.__name__, node)
builder.add_edge(START, "route")
builder.add_conditional_edges(
    "route", lambda state: LEADS_TO.get(state["messages"][-1].text, END), [*dict.fromkeys(LEADS_TO.values()), END]
)
graph = builder.compile(checkpointer=InMemorySaver())
