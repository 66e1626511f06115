"""Graphs that keep what a store may not like, for test_odd_values.py."""

from pathlib import Path
from typing import Any, TypedDict

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from pydantic import BaseModel, HttpUrl


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


class Evidence(BaseModel):
    """As agents that search the web keep it: LangGraph's own serializer takes no URL."""

    url: HttpUrl


class Found(MessagesState):
    evidence: list[Evidence]
    source: Any


def find(state: Found) -> dict[str, Any]:
    """Keeps objects in its state, and asks in between."""
    word = state["messages"][-1].text
    found = Evidence(url=HttpUrl(f"https://example.com/{word}"))
    return {"evidence": [*state.get("evidence", ()), found], "source": Path}


def tell(state: Found) -> dict[str, Any]:
    assert state["source"] is Path
    said = interrupt("go on?")
    return {"messages": [AIMessage(f"{said} " + " ".join(str(each.url) for each in state["evidence"]))]}


def ask(state: Kept) -> Kept:
    answer = interrupt({"question": f"really {state['q']}?"})
    return {"out": f"{state['q']}:{answer}"}


def chat(state: MessagesState) -> dict[str, Any]:
    return {"messages": [AIMessage("|".join(str(message.text) for message in state["messages"]))]}


def _graph(schema: Any, *nodes: Any) -> Any:
    builder = StateGraph(schema)
    builder.add_sequence(nodes)
    builder.add_edge(START, nodes[0].__name__)
    return builder.compile()


remembers, keeps, asks, chats, finds = (
    _graph(Kept, remember),
    _graph(Kept, keep),
    _graph(Kept, ask),
    _graph(MessagesState, chat),
    _graph(Found, find, tell),
)
