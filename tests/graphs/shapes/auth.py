"""A project that protects itself: its langgraph.json names `auth`."""

from typing import Any

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_sdk import Auth

auth = Auth()


@auth.authenticate
async def authenticate(authorization: str | None) -> Auth.types.MinimalUserDict:
    if authorization != "Bearer ann":
        raise Auth.exceptions.HTTPException(status_code=401, detail="no")
    return {"identity": "ann"}


async def answer(state: MessagesState) -> dict[str, Any]:
    return {"messages": [AIMessage("open")]}


graph = StateGraph(MessagesState).add_node("node", answer).add_edge(START, "node").compile()
