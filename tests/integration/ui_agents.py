"""A graph with components of LangGraph's generative UI, for test_ui_messages.py."""

from collections.abc import Sequence
from typing import Annotated, Any

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.ui import AnyUIMessage, delete_ui_message, push_ui_message, ui_message_reducer


class State(MessagesState):
    ui: Annotated[Sequence[AnyUIMessage], ui_message_reducer]
    notes: list[str]


def show(state: State) -> dict[str, Any]:
    answer = AIMessage("Here is the weather.", id="answer")
    match state["messages"][-1].content:
        case "show":
            push_ui_message(
                "weather", {"city": "Rome"}, id="card", message=answer, metadata={"merge": False, "wide": 1}
            )
            push_ui_message("weather", {"degrees": 21}, id="card", merge=True)
        case "warmer":
            push_ui_message("weather", {"degrees": 25}, id="card", merge=True)
        case "hide":
            delete_ui_message("card")
    return {"messages": [answer]}


builder = StateGraph(State)
builder.add_node("show", show)
builder.add_edge(START, "show")
graph = builder.compile()
