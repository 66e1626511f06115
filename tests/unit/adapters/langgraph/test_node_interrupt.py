"""Graphs whose nodes raise NodeInterrupt: LangGraph gives such a node no answer, it only runs it again."""

from typing import Any, TypedDict

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import NodeInterrupt
from langgraph.graph import START, MessagesState, StateGraph
from tests.unit.adapters.langgraph.scripted import agent_of, asked, events_of, node_graph, turn, whole

pytestmark = pytest.mark.filterwarnings("ignore:NodeInterrupt is deprecated")


async def test_the_answer_is_a_message_that_the_node_finds_when_it_runs_again() -> None:
    ran: list[list[str]] = []

    async def node(state: MessagesState) -> dict[str, Any]:
        ran.append([message.text for message in state["messages"]])
        if len(ran) < 3:
            raise NodeInterrupt("Which city?")
        return {"messages": [AIMessage(f"In {state['messages'][-1].text}.")]}

    agent = agent_of(node_graph(node))
    assert asked(await events_of(agent, turn("weather"))).text.startswith("Which city?\nThis question reads no answer")
    assert asked(await events_of(agent, turn("a big one", answers=True))).text.startswith("Which city?")
    assert whole(await events_of(agent, turn("Seoul", answers=True))) == "In Seoul."
    assert ran[-1] == ["weather", "a big one", "Seoul"]


class Fields(TypedDict, total=False):
    text: str
    out: str


def short_only(state: Fields) -> Fields:
    if len(state["text"]) > 5:
        raise NodeInterrupt("Too long.")
    return {"out": state["text"].upper()}


def fields_agent() -> Any:
    builder = StateGraph(Fields, input_schema=Fields, output_schema=Fields)
    builder.add_node("short_only", short_only)
    builder.add_edge(START, "short_only")
    return agent_of(builder.compile(checkpointer=InMemorySaver()))


async def test_data_changes_the_fields_and_a_yes_only_runs_the_node_again() -> None:
    agent = fields_agent()
    assert asked(await events_of(agent, turn(data=[{"text": "much too long"}]))).text.startswith("Too long.")
    assert asked(await events_of(agent, turn("yes", answers=True))).text.startswith("Too long.")
    for text in ("still too long", "and again"):
        events = await events_of(agent, turn(data=[{"text": text}], answers=True))
        assert asked(events).text.startswith("Too long.")
    events = await events_of(agent, turn(data=[{"text": "short"}], answers=True))
    assert "SHORT" in (whole(events) or "")
