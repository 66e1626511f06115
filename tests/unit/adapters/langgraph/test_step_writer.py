"""A node that asks runs again from its top: what it wrote before its question is not told twice."""

from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.memory import InMemoryStore
from langgraph.types import interrupt
from tests.unit.adapters.langgraph.scripted import agent_of, asked, events_of, node_graph, turn, whole

from llamon_agent.domain.events import AgentEvent, ArtifactMade, Progress
from llamon_agent.domain.message import Data


def note(text: str) -> None:
    get_stream_writer()(text)


def make(name: str, *, artifact_id: str | None = None) -> None:
    named = {} if artifact_id is None else {"id": artifact_id}
    get_stream_writer()({"artifact": {"name": name, "parts": [{"text": name}], **named}})


def notes(events: Sequence[AgentEvent]) -> list[str]:
    return [event.text for event in events if isinstance(event, Progress)]


def artifacts(events: Sequence[AgentEvent]) -> dict[str | None, str]:
    """The ids of the artifacts, by name."""
    made = [event.artifact for event in events if isinstance(event, ArtifactMade)]
    assert len({each.artifact_id for each in made}) == len(made)
    return {each.name: each.artifact_id for each in made}


def graph_of(*nodes: Any, saver: BaseCheckpointSaver[str] | None, sequence: bool = True) -> Any:
    builder = StateGraph(MessagesState)
    if sequence:
        builder.add_sequence(nodes)
        builder.add_edge(START, nodes[0].__name__)
    else:
        for node in nodes:
            builder.add_node(node.__name__, node)
            builder.add_edge(START, node.__name__)
    return builder.compile(checkpointer=saver)


def sync_mail(state: MessagesState) -> dict[str, Any]:
    note("draft written")
    make("draft")
    first = interrupt("Send it?")
    note("mail sent")
    make("receipt")
    second = interrupt("Archive it?")
    note("archived")
    make("log")
    return {"messages": [AIMessage(f"{first}, {second}")]}


async def mail(state: MessagesState) -> dict[str, Any]:
    return sync_mail(state)


def inner(node: Any) -> Any:
    return graph_of(node, saver=None)


def as_node(node: Any) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("inner", inner(node))
    builder.add_edge(START, "inner")
    return builder


@pytest.mark.parametrize("node", [mail, sync_mail], ids=["async", "sync"])
@pytest.mark.parametrize("is_inner", [False, True], ids=["node", "subgraph"])
async def test_a_node_with_two_questions_tells_everything_once_and_its_artifacts_keep_their_ids(
    node: Any, is_inner: bool
) -> None:
    """Each run has an agent of its own, as after a restart."""
    saver = InMemorySaver()

    def agent() -> Any:
        return agent_of(as_node(node).compile(checkpointer=saver) if is_inner else graph_of(node, saver=saver))

    first = await events_of(agent(), turn("go"))
    assert asked(first).text == "Send it?"
    second = await events_of(agent(), turn("yes", answers=True))
    assert asked(second).text == "Archive it?"
    third = await events_of(agent(), turn("no", answers=True))
    assert whole(third) == "yes, no"
    assert [notes(each) for each in (first, second, third)] == [["draft written"], ["mail sent"], ["archived"]]
    ids = artifacts(third)
    assert list(ids) == ["draft", "receipt", "log"]
    assert artifacts(first).items() < artifacts(second).items() < ids.items()


async def test_parallel_nodes_do_not_take_each_others_places() -> None:
    async def tells(state: MessagesState) -> None:
        note("told")
        make("report")

    async def asks(state: MessagesState) -> dict[str, Any]:
        note("asking")
        make("draft")
        return {"messages": [AIMessage(interrupt("Sure?"))]}

    agent = agent_of(graph_of(tells, asks, saver=InMemorySaver(), sequence=False))
    first, second = await events_of(agent, turn("go")), await events_of(agent, turn("yes", answers=True))
    assert sorted(notes(first)) == ["asking", "told"]
    assert notes(second) == []
    assert len(artifacts(first)) == 2
    assert artifacts(second) == {"draft": artifacts(first)["draft"]}


async def test_a_node_that_runs_in_a_later_step_makes_artifacts_of_its_own() -> None:
    async def again(state: MessagesState) -> dict[str, Any]:
        note("again")
        make("draft")
        make("draft")
        make("log", artifact_id="log")
        return {"messages": [AIMessage("x")]}

    builder = StateGraph(MessagesState)
    builder.add_node("again", again)
    builder.add_edge(START, "again")
    builder.add_conditional_edges("again", lambda state: "again" if len(state["messages"]) < 3 else "__end__")
    events = await events_of(agent_of(builder.compile(checkpointer=InMemorySaver())), turn("go"))
    ids = [event.artifact.artifact_id for event in events if isinstance(event, ArtifactMade)]
    assert (len(ids), ids.count("log"), len(set(ids))) == (6, 2, 5)
    assert notes(events) == ["again", "again"]


async def test_a_graph_that_streams_another_in_its_own_code_reads_what_was_written() -> None:
    async def outer(state: MessagesState) -> dict[str, Any]:
        said = [chunk async for chunk in inner(speaks).astream(state, stream_mode="custom")]
        return {"messages": [AIMessage(str(said))]}

    async def speaks(state: MessagesState) -> None:
        note("hello")

    events = await events_of(agent_of(graph_of(outer, saver=InMemorySaver())), turn("go"))
    assert whole(events) == "['hello']"


async def test_a_graph_keeps_its_own_store() -> None:
    async def node(state: MessagesState, runtime: Runtime[Any]) -> dict[str, Any]:
        assert runtime.store is not None
        await runtime.store.aput(("a",), "k", {"v": 1})
        return {"messages": [AIMessage("kept")]}

    store = InMemoryStore()
    assert whole(await events_of(agent_of(node_graph(node, store=store)), turn("go"))) == "kept"
    assert store.get(("a",), "k") is not None


async def test_a_graph_without_memory_writes_too() -> None:
    async def node(state: MessagesState) -> dict[str, Any]:
        note("hello")
        get_stream_writer()({"artifact": {"parts": [{"data": 1}]}})
        return {"messages": [AIMessage("x")]}

    events = await events_of(agent_of(graph_of(node, saver=None)), turn("go"))
    assert notes(events) == ["hello"]
    assert [event.artifact.parts for event in events if isinstance(event, ArtifactMade)] == [(Data(data=1),)]
