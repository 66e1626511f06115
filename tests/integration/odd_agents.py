"""Graphs that keep what a store may not like, for test_odd_values.py."""

from typing import Any, TypedDict

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt


class Kept(TypedDict, total=False):
    q: str
    last: str
    text: str
    number: float
    table: dict[str, Any]
    out: str


def remember(state: Kept) -> Kept:
    """Repeats its earlier messages and the new one."""
    return {"out": f"{state.get('last', '')}|{state['q']}", "last": state["q"]}


def keep(state: Kept) -> Kept:
    """Keeps odd values in its state, and says which it has kept before."""
    kept = [repr(state.get("text")), repr(state.get("number")), repr(state.get("table"))]
    odd: dict[str, Kept] = {
        "nul": {"text": "a\0b", "table": {"a\0": ["\0"]}},
        "surrogate": {"text": "a\ud800b", "table": {"a": "\ud800"}},
        "nan": {"number": float("nan")},
        "infinite": {"number": float("-inf")},
        "escape": {"text": "\\u0000 \\0"},
        "again": {},
    }
    return {"out": " ".join(kept), **odd[state["q"]]}


def ask(state: Kept) -> Kept:
    answer = interrupt({"question": f"really {state['q']}?"})
    return {"out": f"{state['q']}:{answer}"}


def chat(state: MessagesState) -> dict[str, Any]:
    return {"messages": [AIMessage("|".join(str(message.text) for message in state["messages"]))]}


def _graph(schema: Any, node: Any) -> Any:
    builder = StateGraph(schema)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    return builder.compile()


remembers, keeps, asks, chats = (
    _graph(Kept, remember),
    _graph(Kept, keep),
    _graph(Kept, ask),
    _graph(MessagesState, chat),
)
