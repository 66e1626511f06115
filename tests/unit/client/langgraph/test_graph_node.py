"""A remote agent as a node: what goes out, what comes in, and what is kept between a question and its answer."""

import asyncio
import socket
import traceback
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command
from starlette.responses import Response
from tests.unit.cli.conftest import Agent, error, message, piece, result, silence, status_update, stream, task

from llamon_agent.adapters.langgraph.agent import LangGraphAgent
from llamon_agent.adapters.langgraph.thread import Graph
from llamon_agent.client.errors import BadHeader, RemoteError, TaskFailed, Unkept
from llamon_agent.client.langgraph.graph_node import context_of, remote_agent_node
from llamon_agent.domain.caller import Private
from llamon_agent.domain.errors import ConfigError
from llamon_agent.domain.events import Interrupt

DONE = stream(task("WORKING"), piece("Hel", append=False), piece("lo"), status_update("COMPLETED"))
CANCELED = result(task("CANCELED")["task"])
CONFIG: RunnableConfig = {"configurable": {"thread_id": "t"}}

DELETE = {"id": "q1", "value": {"question": "Delete?", "options": ["approve", "reject"]}}
AMOUNT = {"id": "q2", "value": "How many?", "schema": {"type": "integer"}}


def asking(*questions: dict[str, Any], words: str = "Well?") -> Any:
    said = message(words, {"data": {"questions": list(questions)}})
    return stream(task("WORKING"), status_update("INPUT_REQUIRED", said))


@asynccontextmanager
async def opened(origin: str, folder: Path) -> AsyncIterator[Graph]:
    """A graph of one remote node, with its threads in a file; opening it again is a restart."""
    builder = StateGraph(MessagesState)
    builder.add_node("remote", remote_agent_node(origin))
    builder.add_edge(START, "remote")
    async with AsyncSqliteSaver.from_conn_string(str(folder / "threads.sqlite")) as saver:
        yield builder.compile(checkpointer=saver)


@pytest.fixture
async def graph(agent: Agent, tmp_path: Path) -> AsyncGenerator[Graph]:
    async with opened(agent.origin, tmp_path) as graph:
        yield graph


def saying(text: str, *before: BaseMessage) -> dict[str, Any]:
    return {"messages": [*before, HumanMessage(text)]}


def sent(agent: Agent) -> list[dict[str, Any]]:
    """The messages that the remote agent was sent."""
    return [call.message for call in agent.calls if "message" in call.body["params"]]


def methods(agent: Agent) -> list[str]:
    return [call.body["method"] for call in agent.calls]


async def questions(graph: Graph) -> dict[str, Any]:
    """What waits: interrupt ids by what is asked."""
    state = await graph.aget_state(CONFIG)
    return {one.value["question"] if isinstance(one.value, dict) else one.value: one.id for one in state.interrupts}


async def streamed(graph: Graph, given: Any, mode: Any) -> list[Any]:
    """What a stream of one mode tells."""
    chunks: Any = graph.astream(given, CONFIG, stream_mode=mode, subgraphs=True)
    return [chunk[1] async for chunk in chunks]


async def test_the_answer_is_appended_and_says_where_it_came_from(agent: Agent, graph: Graph) -> None:
    agent.says(DONE)
    state = await graph.ainvoke(saying("hi"), CONFIG)
    last = state["messages"][-1]
    assert isinstance(last, AIMessage)
    assert last.content == "Hello"
    assert last.response_metadata["a2a"] == {"task_id": "t1", "context_id": "c1"}
    [message] = sent(agent)
    assert (message["parts"], message["contextId"]) == ([{"text": "hi"}], "t/remote")


async def test_the_turns_before_go_along_as_history(agent: Agent, graph: Graph) -> None:
    agent.says(DONE, result(task("COMPLETED")["task"]))
    await graph.ainvoke(saying("what was it?", HumanMessage("it is apple"), AIMessage("noted")), CONFIG)
    history = sent(agent)[0]["metadata"]["history"]
    assert [(turn["role"], turn["parts"][0]["text"]) for turn in history] == [
        ("ROLE_USER", "it is apple"),
        ("ROLE_AGENT", "noted"),
    ]


async def test_deltas_are_tokens_and_the_whole_message_comes_once(agent: Agent, graph: Graph) -> None:
    agent.says(DONE)
    spoken = [spoken for spoken, _ in await streamed(graph, saying("hi"), "messages")]
    assert [(type(each), each.content) for each in spoken] == [(AIMessageChunk, "Hel"), (AIMessageChunk, "lo")]


async def test_progress_and_artifacts_go_to_the_stream_writer(agent: Agent, graph: Graph) -> None:
    made = {
        "taskId": "t1",
        "contextId": "c1",
        "artifact": {"artifactId": "f", "name": "n", "parts": [{"data": {"a": 1}}]},
    }
    agent.says(
        stream(status_update("WORKING", message("Reading")), {"artifactUpdate": made}, status_update("COMPLETED"))
    )
    assert await streamed(graph, saying("hi"), "custom") == [
        {"progress": "Reading"},
        {"artifact": {"name": "n", "parts": [{"data": {"a": 1}}]}},
    ]
    assert (await graph.aget_state(CONFIG)).values["messages"][-1].content == '{"a":1}'


async def test_a_question_goes_up_whole_and_its_answer_down_once(agent: Agent, tmp_path: Path) -> None:
    agent.says(asking(DELETE), DONE)
    async with opened(agent.origin, tmp_path) as graph:
        state = await graph.ainvoke(saying("delete it"), CONFIG)
        [interrupt] = state["__interrupt__"]
        assert interrupt.value == DELETE["value"]
    async with opened(agent.origin, tmp_path) as restarted:
        state = await restarted.ainvoke(Command(resume="approve"), CONFIG)
    assert state["messages"][-1].content == "Hello"
    first, answer = sent(agent)
    assert first["parts"] == [{"text": "delete it"}]
    assert answer["taskId"] == "t1"
    assert answer["parts"] == [{"text": "approve"}, {"data": {"answers": {"q1": "approve"}}}]


async def test_a_schema_goes_up_and_a_typed_answer_stays_typed(agent: Agent, graph: Graph) -> None:
    agent.says(asking(AMOUNT), DONE)
    state = await graph.ainvoke(saying("order"), CONFIG)
    assert state["__interrupt__"][0].response_schema == {"type": "integer"}
    await graph.ainvoke(Command(resume=3), CONFIG)
    assert sent(agent)[1]["parts"] == [{"data": {"answers": {"q2": 3}}}]


async def test_several_questions_are_put_at_once_and_answered_together(agent: Agent, graph: Graph) -> None:
    agent.says(asking(DELETE, AMOUNT), DONE)
    await graph.ainvoke(saying("go"), CONFIG)
    ids = await questions(graph)
    await graph.ainvoke(Command(resume={ids["How many?"]: 3}), CONFIG)
    assert list(await questions(graph)) == ["Delete?"]
    assert len(sent(agent)) == 1
    await graph.ainvoke(Command(resume={ids["Delete?"]: "reject"}), CONFIG)
    assert sent(agent)[1]["parts"] == [{"data": {"answers": {"q1": "reject", "q2": 3}}}]


async def test_a_question_after_an_answer_is_asked_in_its_turn(agent: Agent, graph: Graph) -> None:
    agent.says(asking(DELETE), asking(AMOUNT), DONE)
    await graph.ainvoke(saying("go"), CONFIG)
    state = await graph.ainvoke(Command(resume="approve"), CONFIG)
    assert state["__interrupt__"][0].value == "How many?"
    state = await graph.ainvoke(Command(resume=3), CONFIG)
    assert state["messages"][-1].content == "Hello"
    assert [message["parts"][-1] for message in sent(agent)[1:]] == [
        {"data": {"answers": {"q1": "approve"}}},
        {"data": {"answers": {"q2": 3}}},
    ]


async def test_an_answer_that_was_not_taken_asks_again_and_says_why(agent: Agent, graph: Graph) -> None:
    agent.says(asking(DELETE), asking(DELETE, words="That was not clear."))
    await graph.ainvoke(saying("go"), CONFIG)
    assert await streamed(graph, Command(resume="hmm"), "custom") == [{"progress": "That was not clear."}]
    assert list(await questions(graph)) == ["Delete?"]


async def test_a_new_turn_over_an_open_question_cancels_the_remote_task_first(agent: Agent, tmp_path: Path) -> None:
    agent.says(asking(DELETE), CANCELED, DONE, result(task("COMPLETED")["task"]))
    async with opened(agent.origin, tmp_path) as graph:
        await graph.ainvoke(saying("delete it"), CONFIG)
    async with opened(agent.origin, tmp_path) as restarted:
        state = await restarted.ainvoke(saying("approve"), CONFIG)
    assert methods(agent)[:3] == ["SendStreamingMessage", "CancelTask", "SendStreamingMessage"]
    assert "taskId" not in sent(agent)[1]
    assert "__interrupt__" not in state


async def test_dropping_the_question_cancels_the_remote_task_at_once(agent: Agent, graph: Graph) -> None:
    agent.says(asking(DELETE), CANCELED)
    served = LangGraphAgent(graph, prefill_to_lc=lambda _: [])
    assert isinstance(await served.invoke_with_hitl("delete it", thread_id="t"), Interrupt)
    await served.close_turn("t")
    assert methods(agent) == ["SendStreamingMessage", "CancelTask"]


async def test_a_question_is_dropped_though_the_remote_agent_is_in_trouble(agent: Agent, graph: Graph) -> None:
    agent.says(asking(DELETE), result({"nonsense": 1}))
    served = LangGraphAgent(graph, prefill_to_lc=lambda _: [])
    await served.invoke_with_hitl("delete it", thread_id="t")
    await served.close_turn("t")
    assert await questions(graph) == {}


async def test_cancelling_the_run_cancels_the_remote_task(agent: Agent, graph: Graph) -> None:
    agent.says(stream(task("WORKING"), status_update("WORKING", message("Reading")), then=silence), CANCELED)
    heard = asyncio.Event()

    async def follow() -> None:
        async for _ in graph.astream(saying("go"), CONFIG, stream_mode="custom", subgraphs=True):
            heard.set()

    async with asyncio.timeout(5):
        run = asyncio.create_task(follow())
        await heard.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
    assert methods(agent) == ["SendStreamingMessage", "CancelTask"]
    assert agent.calls[1].body["params"]["id"] == "t1"


async def test_a_text_that_is_taken_back_restarts_at_the_edge_too(agent: Agent, graph: Graph) -> None:
    agent.says(
        stream(task("WORKING"), piece("Let me", append=False), piece("Done.", append=False), status_update("COMPLETED"))
    )
    served = LangGraphAgent(graph, prefill_to_lc=lambda _: [])
    chunks = [chunk async for chunk in served.stream("go", thread_id="t")]
    assert chunks == ["Let me", "\n\nDone."]


async def test_a_failed_remote_task_fails_the_run(agent: Agent, graph: Graph) -> None:
    agent.says(stream(task("WORKING"), status_update("FAILED", message("out of paper"))))
    with pytest.raises(TaskFailed):
        await graph.ainvoke(saying("go"), CONFIG)


async def test_there_must_be_something_to_say(agent: Agent, graph: Graph) -> None:
    with pytest.raises(RemoteError, match="no message"):
        await graph.ainvoke({"messages": [AIMessage("hi")]}, CONFIG)


async def test_without_a_thread_every_call_is_a_context_of_its_own(agent: Agent) -> None:
    agent.says(DONE)
    await stateless(agent).ainvoke(saying("hi"))
    assert "contextId" not in sent(agent)[0]


def stateless(agent: Agent) -> Graph:
    builder = StateGraph(MessagesState)
    builder.add_node("remote", remote_agent_node(agent.origin))
    builder.add_edge(START, "remote")
    graph: Graph = builder.compile()
    return graph


async def test_a_question_that_cannot_be_kept_is_taken_back_and_meets_no_later_message(agent: Agent) -> None:
    agent.says(asking(DELETE), CANCELED, DONE)
    graph = stateless(agent)
    with pytest.raises(Unkept):
        await graph.ainvoke(saying("delete it"), CONFIG)
    assert agent.calls[1].body["params"]["id"] == "t1"
    await graph.ainvoke(saying("approve"), CONFIG)
    assert methods(agent) == ["SendStreamingMessage", "CancelTask", "SendStreamingMessage"]
    assert [message.get("contextId") for message in sent(agent)] == [None, None]


async def test_a_run_that_loses_the_remote_agent_stops_its_task(agent: Agent, graph: Graph) -> None:
    agent.says(stream(task("WORKING")), stream(task("WORKING")), CANCELED)
    with pytest.raises(RemoteError, match="lost"):
        await graph.ainvoke(saying("go"), CONFIG)
    assert methods(agent) == ["SendStreamingMessage", "SubscribeToTask", "CancelTask"]


@pytest.mark.parametrize("refusal", [error(-32603, "trouble"), error(-32000, "busy")])
async def test_no_message_goes_out_before_an_open_question_is_canceled(
    agent: Agent, graph: Graph, refusal: Response
) -> None:
    agent.says(asking(DELETE), refusal)
    await graph.ainvoke(saying("delete it"), CONFIG)
    with pytest.raises(RemoteError):
        await graph.ainvoke(saying("approve"), CONFIG)
    assert methods(agent) == ["SendStreamingMessage", "CancelTask"]


async def test_an_answer_that_reaches_nobody_is_asked_for_again(agent: Agent, tmp_path: Path) -> None:
    agent.says(asking(DELETE), DONE)
    away = f"http://127.0.0.1:{_free_port()}"
    async with opened(agent.origin, tmp_path) as graph:
        await graph.ainvoke(saying("delete it"), CONFIG)
    async with opened(away, tmp_path) as graph:
        [note] = await streamed(graph, Command(resume="approve"), "custom")
        assert note == {"progress": "The remote agent cannot be reached. Please answer again later."}
        assert list(await questions(graph)) == ["Delete?"]
    async with opened(agent.origin, tmp_path) as graph:
        state = await graph.ainvoke(Command(resume="reject"), CONFIG)
    assert state["messages"][-1].content == "Hello"
    assert [message["parts"][-1] for message in sent(agent)[1:]] == [{"data": {"answers": {"q1": "reject"}}}]


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


async def test_an_answer_that_the_remote_agent_is_too_busy_for_is_asked_for_again(agent: Agent, graph: Graph) -> None:
    agent.says(asking(DELETE), error(-32000, "busy"))
    await graph.ainvoke(saying("delete it"), CONFIG)
    await graph.ainvoke(Command(resume="approve"), CONFIG)
    assert list(await questions(graph)) == ["Delete?"]
    assert methods(agent) == ["SendStreamingMessage", "SendStreamingMessage"]


@pytest.mark.parametrize(
    ("thread", "namespace", "context"),
    [
        ("t", "remote|send:1-2", "t/remote"),
        ("t", "outer:1-2|remote|send:3-4", "t/outer/remote"),
        ("t" * 510, "remote|send:1-2", None),
    ],
)
def test_the_context_is_named_by_the_way_to_the_node(thread: str, namespace: str, context: str | None) -> None:
    kept = {"thread_id": thread, "checkpoint_ns": namespace, "__pregel_checkpointer": InMemorySaver()}
    named = context_of({"configurable": kept})
    assert named is not None
    assert len(named) <= 512
    assert context in (named, None)


HEADERS = Private({"x-request-id": "canary-of-chosen", "x-other": "canary-of-other"})
FROM_AN_EDGE: RunnableConfig = {"configurable": {"thread_id": "t", "a2a": Private[Any]({"headers": HEADERS})}}


@asynccontextmanager
async def forwarding(agent: Agent, folder: Path) -> AsyncIterator[Graph]:
    builder = StateGraph(MessagesState)
    builder.add_node("remote", remote_agent_node(agent.origin, forward_headers=("X-Request-ID",)))
    builder.add_edge(START, "remote")
    async with AsyncSqliteSaver.from_conn_string(str(folder / "threads.sqlite")) as saver:
        yield builder.compile(checkpointer=saver)


async def test_every_request_of_a_run_has_the_headers_that_are_forwarded(agent: Agent, tmp_path: Path) -> None:
    agent.says(
        asking(DELETE),
        CANCELED,  # of the question that the next turn drops
        stream(task("WORKING")),  # breaks off
        error(-32004, "cannot be followed"),
        result(task("COMPLETED", "Hello")["task"]),
        asking(DELETE),
        stream(task("WORKING")),  # breaks off, and cannot be taken up again
        stream(task("WORKING")),
        CANCELED,
    )
    async with forwarding(agent, tmp_path) as graph:
        await graph.ainvoke(saying("delete it"), FROM_AN_EDGE)
        await graph.ainvoke(saying("hi"), FROM_AN_EDGE)
        await graph.ainvoke(saying("delete it"), FROM_AN_EDGE)
        with pytest.raises(RemoteError, match="lost"):
            await graph.ainvoke(Command(resume="approve"), FROM_AN_EDGE)
    assert len(agent.calls) == 9
    assert {call.headers.get("x-request-id") for call in agent.calls} == {"canary-of-chosen"}
    assert not any("x-other" in call.headers for call in agent.calls)


async def test_headers_of_langgraphs_own_server_are_forwarded_by_their_names(agent: Agent, tmp_path: Path) -> None:
    agent.says(DONE)
    async with forwarding(agent, tmp_path) as graph:
        await graph.ainvoke(saying("hi"), {"configurable": {"thread_id": "t", "x-request-id": "r1", "x-other": "o"}})
        await graph.ainvoke(saying("hi"), CONFIG)
    assert [call.headers.get("x-request-id") for call in agent.calls] == ["r1", None]
    assert not any("x-other" in call.headers for call in agent.calls)


class _Tracer(AsyncCallbackHandler):
    """What tracers see of a run: inputs, outputs, metadata and errors."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def on_chain_start(self, *args: Any, **kwargs: Any) -> None:
        self.seen.append(repr((args, kwargs)))

    async def on_chain_end(self, *args: Any, **kwargs: Any) -> None:
        self.seen.append(repr((args, kwargs)))

    async def on_chain_error(self, error: BaseException, **kwargs: Any) -> None:
        self.seen += ["failed", *traceback.format_exception(error), repr(kwargs)]

    async def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
        self.seen.append(repr((args, kwargs)))


async def test_forwarded_values_reach_no_trace_no_error_and_no_checkpoint(agent: Agent, tmp_path: Path) -> None:
    agent.says(DONE, error(-32603, "trouble"))
    tracer = _Tracer()
    traced: RunnableConfig = {**FROM_AN_EDGE, "callbacks": [tracer]}
    async with forwarding(agent, tmp_path) as graph:
        await graph.ainvoke(saying("hi"), traced)
        with pytest.raises(RemoteError):
            await graph.ainvoke(saying("hi"), traced)
        assert agent.calls[1].headers["x-request-id"] == "canary-of-chosen"
        assert "failed" in tracer.seen
        assert not any("canary" in seen for seen in tracer.seen)
        assert b"canary" not in _saved(tmp_path)


def _saved(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


async def test_a_value_that_cannot_be_forwarded_fails_the_run_and_sends_nothing(agent: Agent, tmp_path: Path) -> None:
    odd = Private[Any]({"headers": Private({"x-request-id": "canary\r\nx-other: 1"})})
    async with forwarding(agent, tmp_path) as graph:
        with pytest.raises(BadHeader, match="'x-request-id'") as raised:
            await graph.ainvoke(saying("hi"), {"configurable": {"thread_id": "t", "a2a": odd}})
    assert "canary" not in "".join(traceback.format_exception(raised.value))
    assert agent.calls == []


def test_a_list_of_headers_that_cannot_be_is_found_when_the_graph_is_built() -> None:
    with pytest.raises(ConfigError, match="'authorization'"):
        remote_agent_node("http://127.0.0.1:1", token="secret", forward_headers=["Authorization"])
