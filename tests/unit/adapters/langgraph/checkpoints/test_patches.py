"""A task that did not come to its end keeps only its error; a graph that saves nothing may run inside one that does."""

import asyncio
from collections.abc import Callable
from inspect import signature
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.pregel import _loop
from tests.unit.adapters.langgraph.scripted import (
    agent_of,
    chat_graph,
    config_of,
    events_of,
    node_graph,
    plain,
    turn,
    whole,
)

from llamon_agent.adapters.langgraph.checkpoints.patches import (
    allow_unsaved_graphs,
    save_whole_writes_only,
    whole_writes,
)
from llamon_agent.adapters.langgraph.thread import Graph

SAID = ("messages", [AIMessage("half")])


def test_what_a_finished_task_wrote_is_kept_whole() -> None:
    writes = [SAID, ("branch:to:next", None)]
    assert whole_writes(writes) == writes


def test_of_a_task_that_was_cut_off_only_its_error_and_its_answers_are_kept() -> None:
    control = [("__resume__", ["yes"]), ("__error__", asyncio.CancelledError())]
    assert whole_writes([SAID, *control]) == control


def test_what_a_handler_takes_is_left_to_langgraph() -> None:
    writes = [SAID, ("__error__", ValueError()), ("__error_source_node__", "node")]
    assert whole_writes(writes) == writes


def test_a_checkpointer_is_wrapped_once_and_keeps_its_signature() -> None:
    saver = InMemorySaver()
    graph = chat_graph(plain(), saver)
    save_whole_writes_only(graph)
    wrapped = saver.aput_writes
    save_whole_writes_only(graph)
    assert saver.aput_writes is wrapped
    assert signature(wrapped) == signature(InMemorySaver().aput_writes)


def test_a_graph_without_checkpointer_needs_nothing() -> None:
    save_whole_writes_only(chat_graph(plain()))


async def test_langgraph_saves_an_error_with_what_was_written_before_it() -> None:
    """Else there were nothing to do here."""
    builder = StateGraph(MessagesState)
    builder.add_node("node", lambda _state: {"messages": [AIMessage("half")]})
    builder.add_edge(START, "node")
    builder.add_conditional_edges("node", lambda _state: 1 // 0)

    async def kept(saver: InMemorySaver, *, wrapped: bool) -> set[str]:
        graph: Graph = builder.compile(checkpointer=saver)
        if wrapped:
            save_whole_writes_only(graph)
        config: Any = {"configurable": {"thread_id": "1"}}
        try:
            await graph.ainvoke({"messages": []}, config)
        except ZeroDivisionError:
            found = await saver.aget_tuple(config)
        assert found is not None
        return {channel for _, channel, _ in found.pending_writes or []}

    assert await kept(InMemorySaver(), wrapped=False) == {"messages", "__error__"}
    assert await kept(InMemorySaver(), wrapped=True) == {"__error__"}


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
    allow_unsaved_graphs()
    loop = object.__new__(_loop.AsyncPregelLoop)
    loop.checkpointer = InMemorySaver()
    assert not hasattr(loop, "_put_checkpoint_fut")
    loop.checkpointer = None
    assert loop._put_checkpoint_fut.result() is None


@pytest.mark.parametrize("has_class", [True, False])
def test_a_langgraph_that_has_fixed_it_or_has_other_loops_is_not_touched(
    monkeypatch: pytest.MonkeyPatch, has_class: bool
) -> None:
    monkeypatch.delattr(_loop.PregelLoop, "_put_checkpoint_fut", raising=False)
    if has_class:
        monkeypatch.setattr(_loop.PregelLoop, "_put_checkpoint_fut", None, raising=False)
        allow_unsaved_graphs()
        assert vars(_loop.PregelLoop)["_put_checkpoint_fut"] is None
    else:
        loops = _loop.PregelLoop
        monkeypatch.delattr(_loop, "PregelLoop")
        allow_unsaved_graphs()
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
