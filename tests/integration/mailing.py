"""A graph whose node makes an artifact and a note before its question, and so again after the answer."""

from typing import Any

from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt


async def mail(state: MessagesState) -> dict[str, Any]:
    write = get_stream_writer()
    write("draft written")
    write({"artifact": {"name": "draft", "parts": [{"text": "Dear all"}]}})
    answer = interrupt("Send it?")
    write("mail sent")
    return {"messages": [AIMessage(f"You said {answer}.")]}


builder = StateGraph(MessagesState)
builder.add_node("mail", mail)
builder.add_edge(START, "mail")
graph = builder.compile(checkpointer=InMemorySaver())
