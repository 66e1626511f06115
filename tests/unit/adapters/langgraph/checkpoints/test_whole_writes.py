"""Of a task that did not come to its end, nothing but that is kept."""

import asyncio
from inspect import signature
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from tests.unit.adapters.langgraph.scripted import chat_graph, plain

from llamon_agent.adapters.langgraph.checkpoints.whole_writes import save_whole_writes_only, whole
from llamon_agent.adapters.langgraph.thread import Graph

SAID = ("messages", [AIMessage("half")])


def test_what_a_finished_task_wrote_is_kept_whole() -> None:
    writes = [SAID, ("branch:to:next", None)]
    assert whole(writes) == writes


def test_of_a_task_that_was_cut_off_only_its_error_and_its_answers_are_kept() -> None:
    control = [("__resume__", ["yes"]), ("__error__", asyncio.CancelledError())]
    assert whole([SAID, *control]) == control


def test_what_a_handler_takes_is_left_to_langgraph() -> None:
    writes = [SAID, ("__error__", ValueError()), ("__error_source_node__", "node")]
    assert whole(writes) == writes


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
