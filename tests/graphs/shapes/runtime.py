"""What LangGraph's own server puts into a run: a context, a store, who calls, a saver that outlives the process."""

from dataclasses import dataclass
from typing import Any, TypedDict

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore


@dataclass
class Context:
    style: str = "plain"


class TypedContext(TypedDict, total=False):
    style: str


def _words(state: MessagesState) -> str:
    return ", ".join(str(message.content) for message in state["messages"] if message.type == "human")


def _of(node: Any, context: Any = None, **compiled: Any) -> Any:
    return StateGraph(MessagesState, context).add_node("node", node).add_edge(START, "node").compile(**compiled)


async def in_style(state: MessagesState, runtime: Runtime[Context]) -> dict[str, Any]:
    return {"messages": [AIMessage(f"{runtime.context.style}: {_words(state)}")]}


async def in_typed_style(state: MessagesState, runtime: Runtime[TypedContext]) -> dict[str, Any]:
    return {"messages": [AIMessage(f"{runtime.context.get('style', 'none')}: {_words(state)}")]}


async def with_store(state: MessagesState, *, store: BaseStore) -> dict[str, Any]:
    """Counts its calls, over all conversations."""
    kept = await store.aget(("calls",), "count")
    calls = (kept.value["calls"] if kept else 0) + 1
    await store.aput(("calls",), "count", {"calls": calls})
    return {"messages": [AIMessage(f"call {calls}: {_words(state)}")]}


async def with_runtime_store(state: MessagesState, runtime: Runtime[None]) -> dict[str, Any]:
    assert runtime.store is not None
    return await with_store(state, store=runtime.store)


async def of_user(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
    """As graphs of langmem and memory-agent read it: without a default."""
    return {"messages": [AIMessage(f"user {config['configurable']['user_id']}: {_words(state)}")]}


async def of_auth_user(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
    """There is a key, and nobody where the project has no authentication."""
    user = config["configurable"]["langgraph_auth_user"]
    return {"messages": [AIMessage(f"user {user and user['identity']}: {_words(state)}")]}


async def words(state: MessagesState) -> dict[str, Any]:
    return {"messages": [AIMessage(f"heard: {_words(state)}")]}


context = _of(in_style, Context)
typed_context = _of(in_typed_style, TypedContext)
store = _of(with_store)
runtime_store = _of(with_runtime_store)
own_store = _of(with_store, store=InMemoryStore())
user_id = _of(of_user)
auth_user = _of(of_auth_user)
own_saver = _of(words, checkpointer=InMemorySaver())
