"""An agent that asks before it does something, and does it where a test can see it."""

import os
from pathlib import Path

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt


def delete(state: MessagesState) -> dict[str, list[AIMessage]]:
    """The one node."""
    if interrupt({"question": "Delete it?", "options": ["approve", "reject"]}) != "approve":
        return {"messages": [AIMessage("It is kept.")]}
    Path(os.environ["DELETED_FILE"]).unlink(missing_ok=True)
    return {"messages": [AIMessage("It is deleted.")]}


builder = StateGraph(MessagesState)
builder.add_node("delete", delete)
builder.add_edge(START, "delete")
graph = builder.compile(name="deleting")
