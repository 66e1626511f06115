"""Graphs whose messages do not go through `add_messages`, for test_entries.py: each reads them in one way only."""

import operator
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from langgraph.graph import START, StateGraph
from pydantic import BaseModel


class Entry(BaseModel):
    role: str
    content: str


class Checked(BaseModel):
    messages: Annotated[list[Entry], operator.add]


def by_key(state: Any) -> dict[str, Any]:
    seen = " ".join(f"{each['role']}={each['content']}" for each in state["messages"])
    return {"messages": [{"role": "assistant", "content": f"[{seen}]"}]}


def by_attribute(state: Any) -> dict[str, Any]:
    assert isinstance(state["messages"][0], HumanMessage)
    seen = " ".join(f"{'user' if each.type == 'human' else 'assistant'}={each.content}" for each in state["messages"])
    return {"messages": [AIMessage(f"[{seen}]")]}


def as_strings(state: Any) -> dict[str, Any]:
    return {"messages": [f"[{'|'.join(state['messages'])}]"]}


def as_dicts(state: Any) -> dict[str, Any]:
    assert all(type(each) is dict for each in state["messages"])
    return by_key(state)


def as_entries(state: Checked) -> dict[str, Any]:
    seen = " ".join(f"{each.role}={each.content}" for each in state.messages)
    return {"messages": [Entry(role="assistant", content=f"[{seen}]")]}


def echo(state: Any) -> dict[str, Any]:
    """Puts its answer in the place of all messages."""
    return {"messages": [{"role": "assistant", "content": state["messages"][-1]["content"]}]}


def _graph(entries: Any, node: Callable[[Any], dict[str, Any]]) -> Any:
    return _compiled(TypedDict("State", {"messages": entries}), node)  # type: ignore[operator]


def _compiled(schema: Any, node: Any) -> Any:
    builder = StateGraph(schema)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    return builder.compile()


plain_by_key = _graph(Annotated[list, operator.add], by_key)
plain_by_attribute = _graph(Annotated[list, operator.add], by_attribute)
typed_by_key = _graph(Annotated[Sequence[BaseMessage], operator.add], by_key)
typed_by_attribute = _graph(Annotated[list[AnyMessage], operator.add], by_attribute)
dicts = _graph(Annotated[list[dict[str, Any]], operator.add], as_dicts)
strings = _graph(Annotated[list[str], operator.add], as_strings)
entries = _compiled(Checked, as_entries)
replaced = _graph(list, echo)
