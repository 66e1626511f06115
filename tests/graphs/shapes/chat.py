"""Chat graphs whose state has messages: by `create_agent`, by hand, async and not, over both of OpenAI's APIs."""

from dataclasses import dataclass, field
from typing import Annotated, Any

from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from langchain_core.messages import AnyMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from pydantic import BaseModel

model = init_chat_model("openai:stub")


@tool
def look_up(query: str) -> str:
    """Look something up."""
    return f"found {query}"


with_tools = create_agent(model, [look_up], system_prompt="You are helpful.")
responses = create_agent(ChatOpenAI(model="stub", use_responses_api=True), [look_up])


async def answer(state: MessagesState) -> dict[str, Any]:
    return {"messages": [await model.ainvoke(state["messages"])]}


def answer_in_a_thread(state: MessagesState) -> dict[str, Any]:
    return {"messages": [model.invoke(state["messages"])]}


def _of(schema: Any, node: Any) -> Any:
    return StateGraph(schema).add_node("node", node).add_edge(START, "node")


by_hand = _of(MessagesState, answer).compile()
sync = _of(MessagesState, answer_in_a_thread).compile()


@dataclass
class Data:
    messages: Annotated[list[AnyMessage], add_messages] = field(default_factory=list)


class Model(BaseModel):
    messages: Annotated[list[AnyMessage], add_messages] = []


async def answer_of_attribute(state: Any) -> dict[str, Any]:
    return {"messages": [await model.ainvoke(state.messages)]}


dataclass_state = _of(Data, answer_of_attribute).compile()
pydantic_state = _of(Model, answer_of_attribute).compile()
inner = _of(MessagesState, answer).compile(checkpointer=True)
subgraph = _of(MessagesState, inner).compile()
