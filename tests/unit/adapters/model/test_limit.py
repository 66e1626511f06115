import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from tests.unit.adapters.langgraph.scripted import agent_of, events_of, plain, turn, whole

from llamon_agent.adapters.model.limit import CallLimit
from llamon_agent.domain.errors import AgentError


@tool
async def look() -> str:
    """Look."""
    return "seen"


def a_call(number: int) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": str(number), "type": "tool_call"}])


async def test_a_run_may_call_its_model_so_often_and_each_run_anew() -> None:
    model = plain(a_call(1), "first", a_call(2), a_call(3), "never")
    agent = agent_of(create_agent(model, [look], middleware=[CallLimit(2)], checkpointer=InMemorySaver()))
    assert whole(await events_of(agent, turn("one"))) == "first"
    with pytest.raises(AgentError, match="called 2 times"):
        await events_of(agent, turn("two"))
    assert len(model.asked) == 4
