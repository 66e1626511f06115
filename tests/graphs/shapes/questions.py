"""The shapes of questions: `interrupt` of a text, an object, a request of the agent inbox, twice, in a tool; others."""

import warnings
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.chat_models import init_chat_model
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.errors import NodeInterrupt
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

model = init_chat_model("openai:stub")


def _of(node: Any, **compiled: Any) -> Any:
    return StateGraph(MessagesState).add_node("node", node).add_edge(START, "node").compile(**compiled)


def _done(state: MessagesState, *answers: Any) -> dict[str, Any]:
    heard = ", ".join(str(message.content) for message in state["messages"] if message.type == "human")
    return {"messages": [AIMessage(f"done {answers}: {heard}")]}


async def asks_text(state: MessagesState) -> dict[str, Any]:
    return _done(state, interrupt("Which city?"))


async def asks_object(state: MessagesState) -> dict[str, Any]:
    return _done(state, interrupt({"question": "Is this right?", "draft": "a draft"}))


async def asks_inbox(state: MessagesState) -> dict[str, Any]:
    allowed = dict.fromkeys(("allow_ignore", "allow_respond", "allow_edit", "allow_accept"), True)
    request = {"action_request": {"action": "send", "args": {"to": "a"}}, "config": allowed, "description": "Send it?"}
    return _done(state, interrupt([request])[0]["type"])


async def asks_twice(state: MessagesState) -> dict[str, Any]:
    return _done(state, interrupt("First?"), interrupt("Second?"))


async def asks_by_error(state: MessagesState) -> dict[str, Any]:
    """The old form: the run stops, and goes on with the state as it is."""
    if not any(message.type == "ai" for message in state["messages"]):
        with warnings.catch_warnings(action="ignore"):
            raise NodeInterrupt("Too long.")
    return _done(state)


@tool
def send_mail(to: str) -> str:
    """Send a mail."""
    return f"{interrupt(f'Send it to {to}?')}: sent"


@tool
def remove(name: str) -> str:
    """Remove a file."""
    return f"removed {name}"


async def says(state: MessagesState) -> dict[str, Any]:
    return _done(state)


text = _of(asks_text)
object_ = _of(asks_object)
inbox = _of(asks_inbox)
twice = _of(asks_twice)
by_error = _of(asks_by_error)
before = _of(says, interrupt_before=["node"])
in_tool = create_agent(model, [send_mail])
middleware = create_agent(model, [remove], middleware=[HumanInTheLoopMiddleware(interrupt_on={"remove": True})])
