"""A target becomes a custom agent, made by its factory where it has one."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from llamon_agent.adapters.custom.agent import load_custom
from llamon_agent.adapters.prompts import plain_prefill
from llamon_agent.domain.errors import ConfigError
from llamon_agent.domain.events import Complete
from llamon_agent.domain.message import Message, Role
from llamon_agent.runs.ports.agent import Turn

AGENTS = """
from functools import partial

class Agent:
    def invoke(self, prompt):
        return prompt + "!"

class CallableAgent(Agent):
    def __call__(self):
        raise NotImplementedError

agent = Agent()
callable_agent = CallableAgent()

def make():
    return Agent()

async def make_later():
    return Agent()

made_of = partial(lambda kind: kind(), Agent)

def function(prompt):
    return prompt + "!"

async def async_function(prompt="hi"):
    return prompt + "!"

class NeedsMore:
    def __init__(self, model): ...
    def invoke(self, prompt): ...

def fails():
    raise ValueError("no such model")

def exits():
    raise SystemExit(1)

def makes_nothing(): ...

def demanding(prompt, temperature): ...

number = 7

from langgraph.graph import START, MessagesState, StateGraph

builder = StateGraph(MessagesState)
builder.add_node("node", lambda state: {})
builder.add_edge(START, "node")
graph = builder.compile()
"""


@pytest.fixture(autouse=True)
def _agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "my_agents.py").write_text(AGENTS)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    yield
    sys.modules.pop("my_agents", None)


@pytest.mark.parametrize(
    "name",
    ["agent", "callable_agent", "Agent", "make", "make_later", "made_of", "function", "async_function", "agent.invoke"],
)
async def test_every_kind_of_target_becomes_an_agent(name: str) -> None:
    agent = await load_custom(f"my_agents:{name}", prefill_to_lc=plain_prefill)
    message = Message(message_id="m", role=Role.USER, parts=())
    turn = Turn(task_id="t", context_id="c", thread_id="c", session_id="c", message=message, prompt="hi")
    assert [event async for event in agent.run(turn)][-1] == Complete(text="hi!")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("NeedsMore", "was called as a factory, without arguments, and failed: TypeError at "),
        ("fails", "failed: ValueError at {file}:34: no such model."),
        ("exits", "failed: SystemExit at {file}:37: 1."),
        ("makes_nothing", "was called as a factory, and what it returned does not fit. It is of type NoneType"),
        ("demanding", "requires 'temperature'"),
        ("number", "does not fit. It is of type int"),
        ("builder", "is a LangGraph graph: serve it with the langgraph adapter"),
        ("graph", "is a LangGraph graph: serve it with the langgraph adapter"),
        ("nothing", "has no attribute"),
    ],
)
async def test_a_target_that_does_not_fit_is_refused(tmp_path: Path, name: str, told: str) -> None:
    with pytest.raises(ConfigError) as raised:
        await load_custom(f"my_agents:{name}", prefill_to_lc=plain_prefill)
    assert f"'my_agents:{name}'" in raised.value.public
    assert told.format(file=tmp_path / "my_agents.py") in raised.value.public
