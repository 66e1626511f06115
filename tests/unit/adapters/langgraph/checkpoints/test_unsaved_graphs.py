"""A graph that saves nothing may be part of one that saves each step before the next."""

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.pregel import _loop
from tests.unit.adapters.langgraph.scripted import agent_of, config_of, events_of, node_graph, turn, whole

from llamon_agent.adapters.langgraph.checkpoints.unsaved_graphs import let_graphs_save_nothing
from llamon_agent.adapters.langgraph.thread import Graph

Saver = BaseCheckpointSaver[Any]
Form = Callable[[Saver], Graph]


def _two_steps(*, is_async: bool) -> Any:
    """Compiled to save nothing, as trustcall and langmem compile theirs."""

    def said(text: str) -> Any:
        def node(_state: MessagesState) -> dict[str, Any]:
            return {"messages": [AIMessage(text)]}

        async def async_node(state: MessagesState) -> dict[str, Any]:
            return node(state)

        return async_node if is_async else node

    builder = StateGraph(MessagesState)
    builder.add_sequence([("one", said("one")), ("two", said("two"))])
    builder.add_edge(START, "one")
    return builder.compile(checkpointer=False)


def _as_a_node(saver: Saver) -> Graph:
    return node_graph(_two_steps(is_async=False), saver)


def _as_an_async_node(saver: Saver) -> Graph:
    return node_graph(_two_steps(is_async=True), saver)


def _called_in_a_node(saver: Saver) -> Graph:
    inner = _two_steps(is_async=False)

    def node(state: MessagesState) -> Any:
        return inner.invoke(state)

    return node_graph(node, saver)


def _called_in_an_async_node(saver: Saver) -> Graph:
    inner = _two_steps(is_async=True)

    async def node(state: MessagesState) -> Any:
        return await inner.ainvoke(state)

    return node_graph(node, saver)


def _called_in_a_node_of_a_subgraph(saver: Saver) -> Graph:
    inner = _two_steps(is_async=True)

    async def node(state: MessagesState) -> Any:
        return await inner.ainvoke(state)

    middle: Any = StateGraph(MessagesState).add_node("node", node).add_edge(START, "node").compile()
    return node_graph(middle, saver)


FORMS = [
    _as_a_node,
    _as_an_async_node,
    _called_in_a_node,
    _called_in_an_async_node,
    _called_in_a_node_of_a_subgraph,
]


@pytest.mark.parametrize("form", FORMS)
async def test_a_graph_that_saves_nothing_works_within_one_that_does(saver: Saver, form: Form) -> None:
    graph = form(saver)
    agent = agent_of(graph)
    assert whole(await events_of(agent, turn("hi"))) == "two"
    assert whole(await events_of(agent, turn("more", task="next", message_id="n"))) == "two"
    said = [message.content for message in (await graph.aget_state(config_of())).values["messages"]]
    assert said == ["hi", "one", "two", "more", "one", "two"]


@pytest.mark.parametrize("form", FORMS)
async def test_langgraph_waits_for_a_save_that_such_a_graph_does_not_make(
    monkeypatch: pytest.MonkeyPatch, form: Form
) -> None:
    """Else there were nothing to do here."""
    monkeypatch.delattr(_loop.PregelLoop, "_put_checkpoint_fut", raising=False)
    given: Any = {"messages": []}
    with pytest.raises(AttributeError, match="_put_checkpoint_fut"):
        await form(InMemorySaver()).ainvoke(given, config_of(), durability="sync")


def test_graphs_that_save_are_left_as_they_are() -> None:
    let_graphs_save_nothing()
    loop = object.__new__(_loop.AsyncPregelLoop)
    loop.checkpointer = InMemorySaver()
    assert not hasattr(loop, "_put_checkpoint_fut")
    loop.checkpointer = None
    assert loop._put_checkpoint_fut.result() is None


@pytest.mark.parametrize("has_class", [True, False])
def test_a_langgraph_that_has_mended_it_or_has_other_loops_is_not_touched(
    monkeypatch: pytest.MonkeyPatch, has_class: bool
) -> None:
    monkeypatch.delattr(_loop.PregelLoop, "_put_checkpoint_fut", raising=False)
    if has_class:
        monkeypatch.setattr(_loop.PregelLoop, "_put_checkpoint_fut", None, raising=False)
        let_graphs_save_nothing()
        assert vars(_loop.PregelLoop)["_put_checkpoint_fut"] is None
    else:
        loops = _loop.PregelLoop
        monkeypatch.delattr(_loop, "PregelLoop")
        let_graphs_save_nothing()
        assert not hasattr(loops, "_put_checkpoint_fut")


@pytest.mark.parametrize("form", [_as_an_async_node, _called_in_a_node])
async def test_the_step_of_such_a_graph_is_saved_before_the_next_one_begins(saver: Saver, form: Form) -> None:
    """So that after a crash it is not run again."""
    saved: list[str] = []

    async def look(_state: MessagesState) -> dict[str, Any]:
        async for each in saver.alist(config_of()):
            saved.extend(message.content for message in each.checkpoint["channel_values"]["messages"])
            break
        return {}

    said: Any = form(saver).nodes["node"].bound
    builder = StateGraph(MessagesState)
    builder.add_sequence([("said", said), ("look", look)])
    builder.add_edge(START, "said")
    await events_of(agent_of(builder.compile(checkpointer=saver)), turn("hi"))
    assert saved == ["hi", "one", "two"]
