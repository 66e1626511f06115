"""A graph's card has something true to say before anybody has configured it."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from llamon_agent.adapters.langgraph.load import introduce
from llamon_agent.adapters.langgraph.state import StateMapping, state_use
from llamon_agent.adapters.langgraph.thread import Graph
from llamon_agent.domain.profile import SelfDescription, Skill


@tool
def delete_file(name: str) -> str:
    """Delete a file,
    once it is approved.

    Args:
        name: which one.
    """
    return name


@tool(description="")
def look_up(topic: str) -> str:
    return topic


def node(state: MessagesState) -> dict[str, Any]:
    return {"messages": [AIMessage("hello")]}


def graph(*tools: Any, name: str | None = None, inner: Graph | None = None) -> Graph:
    builder = StateGraph(MessagesState)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    if tools:
        builder.add_node("tools", ToolNode(list(tools)))
        builder.add_edge("node", "tools")
    if inner is not None:
        builder.add_node("inner", cast("Runnable[MessagesState, Any]", inner))
        builder.add_edge("node", "inner")
    return builder.compile(name=name)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A module that is not written yet; what it makes importable is undone."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path / "introduced.py"
    sys.modules.pop("introduced", None)


def described(of: Graph, target: str | None = None) -> SelfDescription:
    return introduce(of, target, state_use(of, StateMapping()))


def test_a_graph_without_a_name_docstring_or_tools_has_no_defaults() -> None:
    assert described(graph()) == SelfDescription()


@pytest.mark.parametrize(("name", "told"), [("Support bot", "Support bot"), ("LangGraph", None), (None, None)])
def test_a_graph_is_called_as_it_was_named(name: str | None, told: str | None) -> None:
    assert described(graph(name=name)).name == told


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ('"""Answers questions\nabout orders.\n\nRun it with care.\n"""\n', "Answers questions about orders."),
        ('"""\n\n  Indented.\n"""\n', "Indented."),
        ('"""   """\n', None),
        ("", None),
        (f'"""{"x" * 600}"""\n', "x" * 499 + "…"),
    ],
)
def test_the_first_paragraph_of_the_modules_docstring_describes_it(module: Path, source: str, told: str | None) -> None:
    module.write_text(f"{source}graph = 1\n")
    assert described(graph(), f"{module}:graph").description == told


def test_tools_are_skills_also_those_of_subgraphs_and_each_once() -> None:
    inner = graph(look_up, delete_file)
    assert described(graph(delete_file, inner=inner)).skills == (
        Skill(id="delete_file", name="Delete file", description="Delete a file, once it is approved.", tags=("tool",)),
        Skill(id="look_up", name="Look up", description="Look up", tags=("tool",)),
    )
