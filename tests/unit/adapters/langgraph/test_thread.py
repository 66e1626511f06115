"""What is saved of a thread, and how it is put right; with real graphs and both checkpointers."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Send, interrupt
from tests.unit.adapters.langgraph.scripted import (
    assert_valid,
    calling,
    chat_graph,
    config_of,
    messages_of,
    node_graph,
    plain,
    tool_graph,
)

from llamon_agent.adapters.langgraph.messages import messages_in, readable_messages, unreadable_entries
from llamon_agent.adapters.langgraph.thread import Graph, Thread, subgraphs_of, thread_config

Saver = BaseCheckpointSaver[Any]

ASKING: Any = {"messages": [HumanMessage("go", id="h")]}


def thread(graph: Graph) -> Thread:
    return Thread(graph, thread_config("thread"))


async def run(graph: Graph, given: Any = ASKING) -> None:
    await graph.ainvoke(given, config_of())


@tool
def noop() -> str:
    """Do nothing."""
    return "done"


def ask_node(state: MessagesState) -> dict[str, Any]:
    return {"messages": [AIMessage(f"got {interrupt({'question': 'sure?'})}")]}


async def test_a_thread_of_which_nothing_is_saved_is_new(saver: Saver) -> None:
    state = await thread(chat_graph(plain(), saver)).read()
    assert (state.exists, state.messages, state.questions, state.unfinished) == (False, (), (), False)


async def test_a_thread_without_checkpointer_is_always_new_and_needs_no_repair() -> None:
    graph = chat_graph(plain("ok"))
    await run(graph)
    assert not (await thread(graph).read()).exists
    await thread(graph).repair()


async def test_a_finished_thread_exists_and_waits_for_nothing(saver: Saver) -> None:
    graph = chat_graph(plain("ok"), saver)
    await run(graph)
    state = await thread(graph).read()
    assert (state.exists, state.questions, state.unfinished) == (True, (), False)
    assert [message.content for message in state.messages] == ["go", "ok"]


async def test_an_interrupt_is_a_question(saver: Saver) -> None:
    graph = node_graph(ask_node, saver)
    await run(graph)
    (question,) = (await thread(graph).read()).questions
    assert question.value == {"question": "sure?"}


async def test_an_interrupt_in_a_subgraph_is_one_question(saver: Saver) -> None:
    inner = StateGraph(MessagesState)
    inner.add_node("ask", ask_node)
    inner.add_edge(START, "ask")
    builder = StateGraph(MessagesState)
    builder.add_node("inner", inner.compile())
    builder.add_edge(START, "inner")
    graph = builder.compile(checkpointer=saver)
    await run(graph)
    assert len((await thread(graph).read()).questions) == 1


@pytest.mark.parametrize("stops", [{"interrupt_before": ["tools"]}, {"interrupt_after": ["answer"]}])
async def test_a_declared_breakpoint_is_a_question_that_shows_the_calls(saver: Saver, stops: Any) -> None:
    graph = tool_graph(plain(calling("noop")), [noop], saver, **stops)
    await run(graph)
    state = await thread(graph).read()
    (question,) = state.questions
    assert question.id.startswith("breakpoint:tools:")
    assert question.value["tool_calls"] == [{"name": "noop", "args": {}}]
    assert not state.unfinished


async def test_breakpoints_at_every_node_are_questions(saver: Saver) -> None:
    graph = tool_graph(plain(calling("noop")), [noop], saver, interrupt_before="*")
    await run(graph)
    assert (await thread(graph).read()).questions[0].value["breakpoint"] == ["answer"]


async def test_a_breakpoint_in_a_subgraph_is_a_question(saver: Saver) -> None:
    builder = StateGraph(MessagesState)
    builder.add_node("inner", tool_graph(plain(calling("noop")), [noop], interrupt_before=["tools"]))
    builder.add_edge(START, "inner")
    graph = builder.compile(checkpointer=saver)
    await run(graph)
    (question,) = (await thread(graph).read()).questions
    assert question.value["breakpoint"] == ["tools"]


async def test_two_pauses_at_one_breakpoint_have_two_ids(saver: Saver) -> None:
    graph = tool_graph(plain(calling("noop"), calling("noop")), [noop], saver, interrupt_before=["tools"])
    await run(graph)
    first = (await thread(graph).read()).questions
    await run(graph, None)
    second = (await thread(graph).read()).questions
    assert first[0].id != second[0].id


async def test_a_crash_in_front_of_a_breakpoints_node_is_no_pause(saver: Saver) -> None:
    graph = chat_graph(plain(RuntimeError("down")), saver, interrupt_before=["answer"])
    await run(graph)
    with pytest.raises(RuntimeError):
        await run(graph, None)
    state = await thread(graph).read()
    assert (state.questions, state.unfinished) == ((), True)


async def test_a_thread_written_from_outside_is_unfinished_but_asks_nothing(saver: Saver) -> None:
    graph = chat_graph(plain(), saver)
    await graph.aupdate_state(config_of(), ASKING, "__start__")
    state = await thread(graph).read()
    assert (state.exists, state.questions, state.unfinished) == (True, (), True)


async def test_a_step_is_saved_before_the_next_one_begins() -> None:
    order: list[Any] = []

    class Slow(InMemorySaver):
        async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
            for _ in range(100):  # long enough for a node to begin that does not wait
                await asyncio.sleep(0)
            order.append(metadata["step"])
            return await super().aput(config, checkpoint, metadata, new_versions)

    def node(name: str) -> Any:
        return lambda _state: order.append(name)

    builder = StateGraph(MessagesState)
    builder.add_sequence([("one", node("one")), ("two", node("two"))])
    builder.add_edge(START, "one")
    async for _ in thread(builder.compile(checkpointer=Slow())).stream(ASKING):
        pass
    assert order == [-1, 0, "one", 1, "two", 2]


async def test_repair_clears_a_pause_and_keeps_the_messages(saver: Saver) -> None:
    graph = node_graph(ask_node, saver)
    await run(graph)
    await thread(graph).repair()
    state = await thread(graph).read()
    assert (state.questions, state.unfinished, len(state.messages)) == ((), False, 1)


async def test_repair_of_a_sound_thread_writes_nothing(saver: Saver) -> None:
    graph = chat_graph(plain("ok"), saver)
    await run(graph)
    before = (await graph.aget_state(config_of())).config
    await thread(graph).repair()
    assert (await graph.aget_state(config_of())).config == before


async def test_repair_keeps_what_parallel_calls_have_done(saver: Saver) -> None:
    """One of two tasks is done, one is killed: the result of the first is kept, the second gets one that says so."""
    hang = asyncio.Event()

    async def work(state: dict[str, Any]) -> dict[str, Any]:
        if state["name"] == "slow":
            await hang.wait()
        return {"messages": [ToolMessage("done", tool_call_id=f"call-{state['name']}")]}

    def model(state: MessagesState) -> dict[str, Any]:
        return {"messages": [calling("slow", "quick")]}

    builder = StateGraph(MessagesState)
    builder.add_node("model", model)
    builder.add_node("work", work)
    builder.add_edge(START, "model")
    builder.add_conditional_edges(
        "model", lambda _: [Send("work", {"name": name}) for name in ("slow", "quick")], ["work"]
    )
    builder.add_edge("work", "model")
    graph = builder.compile(checkpointer=saver)
    await stop_after_result(graph)
    await thread(graph).repair()
    state = await thread(graph).read()
    assert (state.unfinished, state.questions) == (False, ())
    results = {message.tool_call_id: message.status for message in state.messages if isinstance(message, ToolMessage)}
    assert results == {"call-quick": "success", "call-slow": "error"}
    assert_valid(state.messages)


async def stop_after_result(graph: Graph) -> None:
    stream = graph.astream(ASKING, config_of(), stream_mode="messages")
    assert isinstance(stream, AsyncGenerator)
    async with asyncio.timeout(5):
        async for message, _ in stream:
            if isinstance(message, ToolMessage):
                break
        await stream.aclose()


async def test_repair_puts_a_missing_result_in_its_place_in_an_old_history(saver: Saver) -> None:
    graph = chat_graph(plain("ok"), saver)
    given: list[BaseMessage] = [
        HumanMessage("a", id="a"),
        calling("x"),
        HumanMessage("b", id="b"),
        AIMessage("c", id="c"),
    ]
    await graph.aupdate_state(config_of(), {"messages": given}, "answer")
    await thread(graph).repair()
    kept = await messages_of(graph)
    assert [message.type for message in kept] == ["human", "ai", "tool", "human", "ai"]
    assert_valid(kept)
    await run(graph)


async def test_repair_reaches_a_subgraph_with_a_memory_of_its_own(saver: Saver) -> None:
    started = asyncio.Event()

    @tool
    async def slow() -> str:
        """Hang."""
        started.set()
        await asyncio.Event().wait()
        return "never"

    model = plain(calling("slow"), "ok")
    builder = StateGraph(MessagesState)
    builder.add_node("inner", tool_graph(model, [slow], True))  # type: ignore[arg-type]
    builder.add_edge(START, "inner")
    graph = builder.compile(checkpointer=saver)
    running = asyncio.create_task(graph.ainvoke(ASKING, config_of()))
    async with asyncio.timeout(5):
        await started.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await thread(graph).repair()
    await run(graph, {"messages": [HumanMessage("again", id="h2")]})
    assert [message.type for message in model.asked[-1]] == ["human", "ai", "tool", "human"]


def test_messages_are_only_messages() -> None:
    message = HumanMessage("a")
    assert messages_in({"messages": [message, "text", 3]}) == (message,)
    assert [messages_in(values) for values in (None, {}, {"messages": "text"}, [message])] == [(), (), (), ()]


def test_subgraphs_are_found_by_their_nodes_name() -> None:
    inner = chat_graph(plain())
    builder = StateGraph(MessagesState)
    builder.add_node("inner", inner)
    builder.add_edge(START, "inner")
    assert subgraphs_of(builder.compile()) == [("inner", inner)]


def test_messages_are_read_in_every_form_and_what_is_none_is_passed_over() -> None:
    kept = [AIMessage("a", id="x"), {"role": "user", "content": "b"}, ("ai", "c"), 7, {"rows": 3}, ("what", "d"), "e"]
    assert [(message.id, message.content) for message in readable_messages({"messages": kept})] == [
        ("x", "a"),
        ("1", "b"),
        ("2", "c"),
        ("6", "e"),
    ]
    assert [message.content for message in readable_messages({"messages": "text"})] == ["text"]
    assert readable_messages({"messages": None}) == readable_messages(None) == []


def test_what_is_no_message_in_any_form_is_found() -> None:
    assert unreadable_entries({"messages": [AIMessage("a"), 7, "e", {"rows": 3}]}) == [7, {"rows": 3}]
    assert unreadable_entries({"messages": {"rows": 3}}) == [{"rows": 3}]
    assert unreadable_entries(None) == []
