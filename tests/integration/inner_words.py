"""A graph whose first node calls a model for itself; what that says does not get into the state."""

from typing import Any

from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt
from tests.unit.adapters.langgraph.scripted import streaming


async def route(state: MessagesState) -> dict[str, Any]:
    await streaming("secret words of the router").ainvoke("x")
    return {}


async def ask(state: MessagesState) -> dict[str, Any]:
    return {"messages": [AIMessage(f"You said {interrupt('Sure?')}.")]}


def leads_to(state: MessagesState) -> str:
    return "ask" if state["messages"][-1].text == "ask" else END


builder = StateGraph(MessagesState)
builder.add_node("route", route)
builder.add_node("ask", ask)
builder.add_edge(START, "route")
builder.add_conditional_edges("route", leads_to, ["ask", END])
graph = builder.compile(checkpointer=InMemorySaver())
