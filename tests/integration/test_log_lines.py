"""What the log says of a failed run: which task, which agent, and where in which code."""

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph

from llamon_agent.adapters.custom.agent import CustomAgent
from llamon_agent.adapters.langgraph.agent import LangGraphAgent
from llamon_agent.adapters.prompts import plain_prefill
from llamon_agent.domain.caller import Caller
from llamon_agent.domain.message import Message, Role, Text
from llamon_agent.runs.ports.agent import Agent
from llamon_agent.runs.ports.run import RunRequest, Runtime, Target
from llamon_agent.runs.service import RunService
from llamon_agent.serving.logs import set_up_logging
from llamon_agent.store.memory import MemoryTaskStore


def break_down(prompt: str) -> str:
    raise ValueError("a secret")


def node(state: MessagesState) -> dict[str, list[AIMessage]]:
    return {"messages": [AIMessage(break_down("x"))]}


def graph_agent() -> LangGraphAgent:
    return LangGraphAgent(StateGraph(MessagesState).add_node("node", node).add_edge(START, "node").compile())


PLACE = f"ValueError at {Path(__file__)}:{break_down.__code__.co_firstlineno + 1}"


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """The log as JSON, and the loggers left as they were."""
    root, package = logging.getLogger(), logging.getLogger("llamon_agent")
    handlers, levels = root.handlers[:], (root.level, package.level)
    stream = io.StringIO()
    set_up_logging("info", "json", stream)
    yield stream
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    package.setLevel(levels[1])


@pytest.mark.parametrize("agent", [CustomAgent(break_down, prefill_to_lc=plain_prefill), graph_agent()])
async def test_a_failed_run_is_logged_with_its_cause_and_its_ids(lines: io.StringIO, agent: Agent) -> None:
    target = Target(name="demo", adapter="custom", target="x", timeout_s=5)
    numbers = iter(range(100))
    runs = RunService(
        MemoryTaskStore(), {"demo": Runtime(target, agent)}, clock=lambda: 0, new_id=lambda: f"id-{next(numbers)}"
    )
    message = Message(message_id="m", role=Role.USER, parts=(Text.of("hi"),))
    request = RunRequest(caller=Caller(principal="o"), agent="demo", message=message, prompt="hi", context_id="c")
    async with runs:
        task = await (await runs.submit_run(request)).wait_settled(5)
    (line,) = [json.loads(line) for line in lines.getvalue().splitlines()]
    assert line["event"] == f"task {task.id}: the run failed: The agent failed. ({PLACE})"
    assert (line["task_id"], line["context_id"], line["agent"]) == (task.id, "c", "demo")
