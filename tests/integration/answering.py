"""Graphs that end on a message that may or may not be their answer, for test_answers.py."""

from typing import Any

from langchain_core.messages import AIMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from tests.unit.adapters.langgraph.scripted import streaming

BACK: dict[str, Any] = {"response_metadata": {"__is_handoff_back": True}}


async def hand_back(state: MessagesState) -> dict[str, Any]:
    """An agent's node of langgraph-supervisor: the agent's answer, and then the hand-back."""
    said = await streaming("The bill is paid.").ainvoke("x")
    call = {"name": "transfer_back_to_supervisor", "args": {}, "id": "back"}
    return {
        "messages": [
            said,
            AIMessage("Transferring back to supervisor", tool_calls=[call], **BACK),
            ToolMessage("Successfully transferred back to supervisor", tool_call_id="back", **BACK),
        ]
    }


def _graph(*nodes: Any) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_sequence(list(nodes))
    builder.add_edge(START, nodes[0].__name__)
    return builder.compile(checkpointer=InMemorySaver())


def supervisor(state: MessagesState) -> dict[str, Any]:
    """A supervisor whose model has nothing to add."""
    return {"messages": [AIMessage("")]}


def string(state: MessagesState) -> dict[str, Any]:
    return {"messages": "The bill is paid."}


def system(state: MessagesState) -> dict[str, Any]:
    return {"messages": [SystemMessage("The bill is paid.")]}


handed_back, returns_string, returns_system = _graph(hand_back, supervisor), _graph(string), _graph(system)
