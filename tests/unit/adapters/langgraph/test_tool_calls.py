"""Several calls of one ToolNode, some of which ask."""

import asyncio
from typing import Any

import pytest
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from tests.unit.adapters.langgraph.scripted import (
    agent_of,
    asked,
    calling,
    config_of,
    events_of,
    plain,
    tool_graph,
    turn,
    whole,
)

from llamon_agent.adapters.langgraph.tool_calls import separate_tool_calls

Saver = BaseCheckpointSaver[Any]


class Desk:
    """Two tools that ask, and whose order on the clock is turned around from one run of the node to the next."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.first = "a"
        self._passed = asyncio.Event()

    def turn_around(self) -> None:
        self.first = "b" if self.first == "a" else "a"
        self._passed = asyncio.Event()

    async def _in_order(self, name: str) -> None:
        if name == self.first:
            self._passed.set()
        await self._passed.wait()

    def tools(self) -> list[BaseTool]:
        @tool
        async def a() -> str:
            """Ask for A."""
            await self._in_order("a")
            self.done.append(f"a: {interrupt('a?')}")
            return "a is done"

        @tool
        async def b() -> str:
            """Ask for B."""
            await self._in_order("b")
            self.done.append(f"b: {interrupt('b?')}")
            return "b is done"

        @tool
        def c() -> str:
            """Ask for nothing."""
            self.done.append("c")
            return "c is done"

        return [a, b, c]


async def test_the_library_alone_gives_an_answer_to_the_wrong_tool(saver: Saver) -> None:
    """Why this module is there. If this fails, the library has changed: read the module's theory again."""
    desk = Desk()
    graph = tool_graph(plain(calling("a", "b"), "end"), desk.tools()[:2], saver)
    desk.turn_around()
    state = await graph.ainvoke({"messages": [("user", "go")]}, config_of())
    pending = state["__interrupt__"][0]
    assert pending.value == "b?"
    desk.turn_around()
    await graph.ainvoke(Command(resume={pending.id: "for b"}), config_of())
    assert desk.done == ["a: for b"]


@pytest.mark.parametrize("first", ["a", "b"])
async def test_each_answer_reaches_the_tool_that_asked(saver: Saver, first: str) -> None:
    desk = Desk()
    desk.first = first
    agent = agent_of(tool_graph(plain(calling("a", "b"), "end"), desk.tools(), saver))
    pause = asked(await events_of(agent, turn("go")))
    assert [question.value for question in pause.questions] == ["a?", "b?"]
    ids = {question.value: question.id for question in pause.questions}
    desk.turn_around()
    answers = {"answers": {ids["a?"]: "for a", ids["b?"]: "for b"}}
    assert whole(await events_of(agent, turn(data=[answers], answers=True))) == "end"
    assert sorted(desk.done) == ["a: for a", "b: for b"]


async def test_a_partial_answer_leaves_the_rest_pending_and_runs_nothing_twice(saver: Saver) -> None:
    desk = Desk()
    agent = agent_of(tool_graph(plain(calling("a", "c", "b"), "end"), desk.tools(), saver))
    first = asked(await events_of(agent, turn("go")))
    desk.turn_around()
    only_b = {"answers": {first.questions[1].id: "for b"}}
    second = asked(await events_of(agent, turn(data=[only_b], answers=True)))
    assert second.questions == (first.questions[0],)
    assert desk.done == ["c", "b: for b"]
    desk.turn_around()
    assert whole(await events_of(agent, turn("for a", answers=True))) == "end"
    assert desk.done == ["c", "b: for b", "a: for a"]


async def test_a_bare_answer_to_several_questions_reaches_none(saver: Saver) -> None:
    desk = Desk()
    agent = agent_of(tool_graph(plain(calling("a", "b")), desk.tools(), saver))
    pause = asked(await events_of(agent, turn("go")))
    again = asked(await events_of(agent, turn("yes", answers=True)))
    assert again.questions == pause.questions
    assert desk.done == []


async def test_sync_tools_are_separated_too(saver: Saver) -> None:
    done: list[str] = []

    @tool
    def a() -> str:
        """Ask for A."""
        done.append(f"a: {interrupt('a?')}")
        return "a is done"

    @tool
    def b() -> str:
        """Ask for B."""
        done.append(f"b: {interrupt('b?')}")
        return "b is done"

    agent = agent_of(tool_graph(plain(calling("a", "b"), "end"), [a, b], saver))
    pause = asked(await events_of(agent, turn("go")))
    for question, answer in zip(reversed(pause.questions), ("for b", "for a"), strict=True):
        events = await events_of(agent, turn(data=[{"answers": {question.id: answer}}], answers=True))
    assert (whole(events), done) == ("end", ["b: for b", "a: for a"])


async def test_tools_in_a_subgraph_are_separated_too(saver: Saver) -> None:
    desk = Desk()
    inner = tool_graph(plain(calling("a", "b"), "end"), desk.tools())
    builder = StateGraph(MessagesState)
    builder.add_node("inner", inner)
    builder.add_edge(START, "inner")
    agent = agent_of(builder.compile(checkpointer=saver))
    pause = asked(await events_of(agent, turn("go")))
    assert sorted(question.value for question in pause.questions) == ["a?", "b?"]
    desk.turn_around()
    answers = {"answers": {question.id: f"for {question.value}" for question in pause.questions}}
    assert whole(await events_of(agent, turn(data=[answers], answers=True))) == "end"
    assert sorted(desk.done) == ["a: for a?", "b: for b?"]


async def test_a_single_call_is_left_as_it_is(saver: Saver) -> None:
    desk = Desk()
    agent = agent_of(tool_graph(plain(calling("a"), "end"), desk.tools(), saver))
    pause = asked(await events_of(agent, turn("go")))
    assert whole(await events_of(agent, turn("for a", answers=True))) == "end"
    assert (len(pause.questions), desk.done) == (1, ["a: for a"])


async def test_separating_twice_is_separating_once() -> None:
    graph = tool_graph(plain(), Desk().tools())
    separate_tool_calls(graph)
    node: Any = graph.nodes["tools"].bound
    once = node.afunc
    separate_tool_calls(graph)
    assert node.afunc is once


async def test_a_failing_neighbour_is_the_models_affair_as_ever(saver: Saver) -> None:
    @tool
    async def broken() -> str:
        """Fail."""
        raise ValueError("broken")

    graph = tool_graph(plain(calling("broken", "c"), "end"), [broken, *Desk().tools()], saver)
    node: Any = graph.nodes["tools"].bound
    node._handle_tool_errors = True
    assert whole(await events_of(agent_of(graph), turn("go"))) == "end"
