"""The agent against real graphs: what a caller gets, and what stays in the thread."""

import asyncio
import operator
import threading
from collections.abc import Sequence
from contextlib import aclosing
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, Literal

import msgspec
import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from pydantic import BaseModel
from tests.unit.adapters.langgraph.scripted import (
    agent_of,
    asked,
    assert_valid,
    calling,
    chat_graph,
    config_of,
    events_of,
    history,
    messages_of,
    node_graph,
    plain,
    progress,
    shown,
    spoken,
    streaming,
    tool_graph,
    turn,
    until,
    whole,
)
from typing_extensions import TypedDict

from llamon_agent.adapters.langgraph.agent import LangGraphAgent
from llamon_agent.adapters.langgraph.checkpoints.memory import PrunedMemory
from llamon_agent.adapters.langgraph.checkpoints.sqlite import open_checkpoints
from llamon_agent.adapters.langgraph.state import StateMapping
from llamon_agent.adapters.langgraph.thread import Graph
from llamon_agent.domain.errors import AgentError
from llamon_agent.domain.events import AgentEvent, ArtifactMade, Complete, Delta, Interrupt, Progress, Started
from llamon_agent.domain.message import Data, Message, Raw, Role, Text
from llamon_agent.runs.ports.agent import Agent

Saver = BaseCheckpointSaver[Any]

THINKING: list[str | dict[Any, Any]] = [
    {"type": "thinking", "thinking": "secret thought"},
    {"type": "text", "text": "clear "},
    {"type": "text", "text": "words"},
]


def say(text: str) -> Any:
    return lambda state: {"messages": [AIMessage(text)]}


def in_subgraph(graph: Graph, saver: Any = None) -> Graph:
    builder = StateGraph(MessagesState)
    builder.add_node("inner", graph)
    builder.add_edge(START, "inner")
    return builder.compile(checkpointer=saver or InMemorySaver())


def test_it_is_an_agent() -> None:
    agent: Agent = agent_of(chat_graph(plain()))
    assert isinstance(agent, LangGraphAgent)


# -- streaming


@pytest.mark.parametrize(
    ("graph", "text"),
    [
        (chat_graph(streaming("Hel lo  world")), "Hel lo  world"),
        (chat_graph(plain("Hello")), "Hello"),
        (node_graph(say("constant")), "constant"),
        (in_subgraph(chat_graph(streaming("from inside"))), "from inside"),
        (chat_graph(streaming(AIMessage(THINKING))), "clear words"),
        (chat_graph(plain(AIMessage(THINKING))), "clear words"),
    ],
    ids=["streaming", "whole", "constant", "subgraph", "blocks streaming", "blocks whole"],
)
async def test_the_text_comes_exactly_once(graph: Graph, text: str) -> None:
    events = await events_of(agent_of(graph), turn("hi"))
    assert events[0] == Started()
    assert (spoken(events), whole(events)) == (text, text)


async def test_a_streaming_model_is_heard_piece_by_piece() -> None:
    events = await events_of(agent_of(chat_graph(streaming("one two three"))), turn("hi"))
    assert [event for event in events if isinstance(event, Delta)] == [
        Delta(text="one "),
        Delta(text="two "),
        Delta(text="three"),
        Delta(text="", restart=True),
        Delta(text="one two three", restart=True),
    ]


async def test_text_before_a_tool_call_gives_way_to_the_answer() -> None:
    @tool
    def look(what: str) -> str:
        """Look."""
        get_stream_writer()("looking")
        return f"secret {what}"

    model = streaming(calling("look", text="Let me see.", what="args"), "It is there.")
    for graph in (tool_graph(model, [look]), create_agent(streaming(*model.replies), [look])):
        events = await events_of(agent_of(graph), turn("hi"))
        assert (spoken(events), whole(events)) == ("It is there.", "It is there.")
        assert progress(events) == ["Calling look …", "looking", "look has answered."]
        assert "secret" not in str(events)


async def test_two_parallel_models_do_not_mix_their_words() -> None:
    one, two = streaming("a a a a"), streaming("b b b b")

    async def first(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await one.ainvoke("x")]}

    async def second(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await two.ainvoke("x")]}

    builder = StateGraph(MessagesState)
    builder.add_node("first", first)
    builder.add_node("second", second)
    builder.add_edge(START, "first")
    builder.add_edge(START, "second")
    events = await events_of(agent_of(builder.compile()), turn("hi"))
    assert spoken(events) in ("a a a a", "b b b b")
    assert whole(events) == "b b b b"


async def test_a_model_that_must_not_stream_is_not_heard_before_the_end() -> None:
    hidden = streaming("not shown").with_config(tags=["nostream"])

    async def node(state: MessagesState) -> dict[str, Any]:
        await hidden.ainvoke("x")
        return {"messages": [AIMessage("shown")]}

    events = await events_of(agent_of(node_graph(node)), turn("hi"))
    assert (spoken(events), whole(events)) == ("shown", "shown")


async def test_a_model_whose_words_are_no_answer_is_corrected_at_the_end() -> None:
    side = streaming("a note to myself")

    async def node(state: MessagesState) -> dict[str, Any]:
        note = await side.ainvoke("x")
        return {"messages": [AIMessage(f"{len(str(note.text))} letters")]}

    assert whole(await events_of(agent_of(node_graph(node)), turn("hi"))) == "16 letters"


async def test_words_whose_message_does_not_get_into_the_state_are_no_answer() -> None:
    async def node(state: MessagesState) -> dict[str, Any]:
        await streaming("just said").ainvoke("x")
        return {}

    events = await events_of(agent_of(node_graph(node)), turn("hi"))
    assert (shown(events), spoken(events), whole(events)) == ("just said", "", "")


@pytest.mark.parametrize(
    "options",
    [
        {
            "ls_structured_output_format": {
                "kwargs": {"method": "json_schema"},
                "schema": {"title": "Route", "type": "object"},
            }
        },
        {"response_format": {"type": "json_object"}},
    ],
    ids=["with_structured_output", "bound"],
)
async def test_a_call_for_structured_output_is_never_spoken(options: dict[str, Any]) -> None:
    router, model = streaming('{"category": "secret"}'), streaming("Your bill is paid.")

    async def route(state: MessagesState) -> dict[str, Any]:
        await router.bind(**options).ainvoke("x")
        return {}

    async def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke("x")]}

    builder = StateGraph(MessagesState)
    builder.add_node("route", route)
    builder.add_node("answer", answer)
    builder.add_edge(START, "route")
    builder.add_edge("route", "answer")
    events = await events_of(agent_of(builder.compile()), turn("hi"))
    assert "secret" not in str(events)
    assert (spoken(events), whole(events)) == ("Your bill is paid.", "Your bill is paid.")


async def test_a_sub_agent_that_a_tool_calls_is_no_answer_unless_the_graph_says_so() -> None:
    inner = create_agent(streaming("inner words"), [])

    @tool
    async def ask_expert() -> str:
        """Ask."""
        await inner.ainvoke({"messages": [HumanMessage("x")]})
        return "done"

    graph = tool_graph(plain(calling("ask_expert"), ""), [ask_expert])
    events = await events_of(agent_of(graph), turn("hi"))
    assert (shown(events), spoken(events), whole(events)) == ("inner words", "", "")


class PlainList(TypedDict):
    messages: Annotated[list[Any], operator.add]


@pytest.mark.parametrize("message", [{"role": "assistant", "content": "Hello."}, ("ai", "Hello.")], ids=type)
async def test_a_message_that_a_plain_list_keeps_as_it_was_written_is_the_answer(message: Any) -> None:
    async def node(state: PlainList) -> dict[str, Any]:
        await streaming("Hello.").ainvoke("x")
        return {"messages": [message]}

    builder = StateGraph(PlainList)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    agent = agent_of(builder.compile(checkpointer=InMemorySaver()))
    for task in ("1", "2"):
        events = await events_of(agent, turn("hi", task=task))
        assert (spoken(events), whole(events)) == ("Hello.", "Hello.")


class OneValue(TypedDict):
    messages: Any


RETURNED = {
    "a string": (MessagesState, "Hello."),
    "a string in a plain list": (PlainList, ["Hello."]),
    "a string as the only value": (OneValue, "Hello."),
    "a mapping as the only value": (OneValue, {"role": "assistant", "content": "Hello."}),
}


def graph_over(state: Any, node: Any) -> Graph:
    """One node over a state of one's own."""
    builder = StateGraph(state)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    return builder.compile(checkpointer=InMemorySaver())


@pytest.mark.parametrize(("state", "returned"), RETURNED.values(), ids=RETURNED)
async def test_a_string_that_a_node_returns_is_the_answer(state: Any, returned: Any) -> None:
    agent = agent_of(graph_over(state, lambda _: {"messages": returned}))
    for task in ("1", "2"):
        events = await events_of(agent, turn("hi", task=task))
        assert (spoken(events), whole(events)) == ("", "Hello.")


async def test_an_answer_of_the_caller_that_a_node_keeps_is_not_the_agents_answer(saver: Saver) -> None:
    def node(state: MessagesState) -> dict[str, Any]:
        return {"messages": [HumanMessage(interrupt("Sure?"))]}

    agent = agent_of(node_graph(node, saver))
    assert asked(await events_of(agent, turn("hi"))).questions
    assert whole(await events_of(agent, turn("yes", answers=True))) == ""


# -- words in front of a question


async def ask(state: MessagesState) -> dict[str, Any]:
    return {"messages": [AIMessage(f"You said {interrupt('Sure?')}.")]}


def asking_after(node: Any, saver: Saver | None = None, state: Any = MessagesState) -> Graph:
    """A graph whose node is followed by a question."""
    builder = StateGraph(state)
    builder.add_node("first", node)
    builder.add_node("ask", ask)
    builder.add_edge(START, "first")
    builder.add_edge("first", "ask")
    return builder.compile(checkpointer=saver or InMemorySaver())


def speaking(model: Any, keep: Any) -> Any:
    """A node that calls a model and keeps of it what it likes."""

    async def node(state: MessagesState) -> Any:
        return {"messages": keep(await model.ainvoke("x"))}

    return node


KEPT = {
    "the message": lambda said: [said],
    "a new message": lambda said: [AIMessage(said.text)],
    "a message in OpenAI's form": lambda said: [{"role": "assistant", "content": str(said.text)}],
}


@pytest.mark.parametrize("keep", KEPT.values(), ids=KEPT)
async def test_words_in_front_of_a_question_stand_if_they_are_in_the_state(keep: Any, saver: Saver) -> None:
    agent = agent_of(asking_after(speaking(streaming("Let me ask."), keep), saver))
    events = await events_of(agent, turn("hi"))
    assert asked(events).questions
    assert (spoken(events), shown(events)) == ("Let me ask.", "Let me ask.")
    events = await events_of(agent, turn("yes", answers=True))
    assert (spoken(events), whole(events)) == ("You said yes.", "You said yes.")


async def test_words_in_front_of_a_question_that_are_not_in_the_state_are_taken_back(saver: Saver) -> None:
    agent = agent_of(asking_after(speaking(streaming("secret route"), lambda said: []), saver))
    events = await events_of(agent, turn("hi"))
    assert isinstance(events[-1], Interrupt)
    assert (shown(events), spoken(events)) == ("secret route", "")
    assert whole(await events_of(agent, turn("yes", answers=True))) == "You said yes."


async def test_a_message_that_is_changed_in_the_state_is_corrected_at_the_question() -> None:
    def blot(said: AIMessage) -> list[AIMessage]:
        return [AIMessage("***", id=said.id)]

    events = await events_of(agent_of(asking_after(speaking(streaming("a secret"), blot))), turn("hi"))
    assert (spoken(events), isinstance(events[-1], Interrupt)) == ("***", True)


async def test_words_that_other_words_replaced_come_back_at_the_question_if_only_they_are_in_the_state() -> None:
    model = streaming("The draft is ready.", "secret route")

    async def node(state: MessagesState) -> dict[str, Any]:
        said = await model.ainvoke("x")
        await model.ainvoke("x")
        return {"messages": [said]}

    events = await events_of(agent_of(asking_after(node)), turn("hi"))
    assert (spoken(events), isinstance(events[-1], Interrupt)) == ("The draft is ready.", True)


async def test_an_old_message_with_the_same_words_keeps_nothing_at_the_question() -> None:
    agent = agent_of(asking_after(speaking(streaming("yes", "yes"), lambda said: []), InMemorySaver()))
    await agent.graph.aupdate_state(config_of(), {"messages": [HumanMessage("?"), AIMessage("yes")]}, as_node="ask")
    events = await events_of(agent, turn("hi"))
    assert (spoken(events), isinstance(events[-1], Interrupt)) == ("", True)


async def test_words_of_a_branch_beside_a_question_stand(saver: Saver) -> None:
    builder = StateGraph(MessagesState)
    builder.add_node("one", speaking(streaming("from beside"), lambda said: [said]))
    builder.add_node("ask", ask)
    builder.add_edge(START, "one")
    builder.add_edge(START, "ask")
    events = await events_of(agent_of(builder.compile(checkpointer=saver)), turn("hi"))
    assert (spoken(events), isinstance(events[-1], Interrupt)) == ("from beside", True)


async def test_words_in_front_of_the_question_of_a_subgraph_stand_and_those_of_a_graph_called_in_code_do_not(
    saver: Saver,
) -> None:
    def inner() -> Graph:
        return asking_after(speaking(streaming("from inside"), lambda said: [said]), True)  # type: ignore[arg-type]

    called = inner()

    async def call(state: MessagesState) -> Any:
        return await called.ainvoke({"messages": []})

    for graph, text in ((in_subgraph(inner(), saver), "from inside"), (node_graph(call, saver), "")):
        events = await events_of(agent_of(graph), turn("hi", thread=text))
        assert (spoken(events), isinstance(events[-1], Interrupt)) == (text, True)


# -- an output key


class Found(MessagesState):
    found: Any


def finding(*found: Any, ask_at_end: bool = False) -> LangGraphAgent:
    """An agent whose nodes write these values, one after the other, and call a model each time."""
    builder = StateGraph(Found)
    names = [f"node{place}" for place in range(len(found))]
    for name, value in zip(names, found, strict=True):

        async def node(state: Found, value: Any = value) -> dict[str, Any]:
            return {"messages": [await streaming("aloud").ainvoke("x")]} | ({} if value is None else {"found": value})

        builder.add_node(name, node)
    if ask_at_end:
        builder.add_node("ask", ask)
    steps = [START, *names, *(["ask"] if ask_at_end else [])]
    for before, after in pairwise(steps):
        builder.add_edge(before, after)
    return agent_of(builder.compile(checkpointer=InMemorySaver()), mapping=StateMapping(output_key="found"))


@pytest.mark.parametrize(
    ("found", "told", "text"),
    [
        (["it", None], ["it"], "it"),
        (["draft", "final"], ["draft", "final"], "final"),
        ([AIMessage("said")], ["said"], "said"),
        ([3], [], "3"),
        (["draft", ""], ["draft", ""], ""),
        ([None], [], ""),
        ([""], [], ""),
    ],
)
async def test_with_an_output_key_only_what_is_under_it_is_spoken(found: Any, told: list[str], text: str) -> None:
    events = await events_of(finding(*found), turn("hi"))
    assert [event.text for event in events if isinstance(event, Delta)] == told
    assert whole(events) == text


async def test_with_an_output_key_what_is_under_it_stands_at_a_question() -> None:
    agent = finding("it", None, ask_at_end=True)
    events = await events_of(agent, turn("hi"))
    assert (spoken(events), isinstance(events[-1], Interrupt)) == ("it", True)
    events = await events_of(agent, turn("yes", answers=True))
    assert (spoken(events), whole(events)) == ("", "it")


async def test_a_result_that_is_returned_directly_is_the_answer() -> None:
    @tool(return_direct=True)
    def look() -> str:
        """Look."""
        return "it is there"

    agent = agent_of(create_agent(plain(calling("look")), [look]))
    assert whole(await events_of(agent, turn("hi"))) == "it is there"


async def test_the_messages_files_and_data_reach_the_model() -> None:
    model = plain("ok")
    parts = (Text.of("see"), Raw(data=b"x", media_type="image/png"))
    message = Message(message_id="m", role=Role.USER, parts=parts)
    await events_of(agent_of(chat_graph(model)), msgspec.structs.replace(turn("see"), message=message))
    assert model.asked[0][0].content == [
        {"type": "text", "text": "see"},
        {"type": "image", "base64": "eA==", "mime_type": "image/png"},
    ]


# -- human in the loop


def approval_graph(saver: Saver, done: list[str], value: Any = "sure?") -> Graph:
    async def node(state: MessagesState) -> dict[str, Any]:
        answer = interrupt(value)
        done.append(repr(answer))
        return {"messages": [AIMessage(f"got {answer!r}")]}

    return node_graph(node, saver)


async def test_a_plain_message_to_a_paused_thread_restarts_nothing(saver: Saver) -> None:
    done: list[str] = []
    graph = approval_graph(saver, done)
    agent = agent_of(graph)
    first = asked(await events_of(agent, turn("go")))
    again = await events_of(agent, turn("yes", task="other"))
    assert again == [Started(), first]
    assert [message.content for message in await messages_of(graph)] == ["go"]
    assert whole(await events_of(agent, turn("yes", answers=True))) == "got 'yes'"


async def test_an_answer_where_nothing_waits_is_an_error_and_reaches_no_model(saver: Saver) -> None:
    done: list[str] = []
    graph = approval_graph(saver, done)
    agent = agent_of(graph)
    with pytest.raises(AgentError, match="Nothing waits"):
        await events_of(agent, turn("yes", answers=True, thread="unused"))
    await graph.aupdate_state(config_of("seeded"), {"messages": [HumanMessage("x")]}, "__start__")
    with pytest.raises(AgentError, match="Nothing waits"):
        await events_of(agent, turn("yes", answers=True, thread="seeded"))
    await events_of(agent, turn("go"))
    await events_of(agent, turn("yes", answers=True))
    with pytest.raises(AgentError, match="Nothing waits"):
        await events_of(agent, turn("yes", answers=True))
    assert done == ["'yes'"]


async def test_an_answer_is_never_used_for_the_next_question(tmp_path: Path) -> None:
    done: list[str] = []

    async def node(state: MessagesState) -> dict[str, Any]:
        done.append(f"{interrupt('delete?')} {interrupt('really?')}")
        return {"messages": [AIMessage("done")]}

    async with open_checkpoints("sqlite", tmp_path) as saver:
        agent = agent_of(node_graph(node, saver))
        first = asked(await events_of(agent, turn("go")))
        second = asked(await events_of(agent, turn("yes", answers=True)))
    assert (first.text, second.text) == ("delete?", "really?")
    async with open_checkpoints("sqlite", tmp_path) as saver:  # another process
        agent = agent_of(node_graph(node, saver))
        assert asked(await events_of(agent, turn("hello?", task="other"))) == second
        stale = asked(await events_of(agent, turn(data=[{"answers": {first.questions[0].id: "no"}}], answers=True)))
        assert (stale.questions, done) == (second.questions, [])
        assert whole(await events_of(agent, turn("sure", answers=True))) == "done"
    assert done == ["yes sure"]


@pytest.mark.parametrize("value", [False, "", 0, [], {}, {"a": 1}, True, "text"])
async def test_any_json_value_but_null_is_an_answer(value: Any) -> None:
    done: list[str] = []
    agent = agent_of(approval_graph(InMemorySaver(), done))
    await events_of(agent, turn("go"))
    assert whole(await events_of(agent, turn(data=[value], answers=True))) == f"got {value!r}"


async def test_null_asks_again() -> None:
    done: list[str] = []
    agent = agent_of(approval_graph(InMemorySaver(), done))
    first = asked(await events_of(agent, turn("go")))
    again = asked(await events_of(agent, turn(data=[None], answers=True)))
    assert (again.questions, done) == (first.questions, [])


@pytest.mark.parametrize("compiling", [{"interrupt_before": ["tools"]}, {"interrupt_after": ["answer"]}])
async def test_a_static_breakpoint_pauses_and_is_passed_or_ended(saver: Saver, compiling: Any) -> None:
    done: list[str] = []

    @tool
    def act() -> str:
        """Act."""
        done.append("acted")
        return "acted"

    graph = tool_graph(plain(calling("act"), "end", calling("act"), "end"), [act], saver, **compiling)
    agent = agent_of(graph)
    pause = asked(await events_of(agent, turn("go")))
    unclear = asked(await events_of(agent, turn("yes, but only once", answers=True)))
    assert (unclear.questions, done) == (pause.questions, [])
    assert (whole(await events_of(agent, turn("네", answers=True))), done) == ("end", ["acted"])
    asked(await events_of(agent, turn("again", task="2")))
    assert whole(await events_of(agent, turn("no", answers=True))) == "Stopped, as asked. Nothing more was done."
    assert done == ["acted"]
    assert_valid(await messages_of(graph))
    assert (await graph.aget_state(config_of())).next == ()


async def test_a_subgraphs_interrupt_pauses(saver: Saver) -> None:
    done: list[str] = []
    inner = StateGraph(MessagesState)

    async def node(state: MessagesState) -> dict[str, Any]:
        done.append(interrupt("inside?"))
        return {"messages": [AIMessage("done")]}

    inner.add_node("ask", node)
    inner.add_edge(START, "ask")
    agent = agent_of(in_subgraph(inner.compile(), saver))
    assert asked(await events_of(agent, turn("go"))).text == "inside?"
    assert (whole(await events_of(agent, turn("yes", answers=True))), done) == ("done", ["yes"])


async def test_a_graph_asks_for_a_sign_in_and_goes_on_when_it_is_told_of_it(saver: Saver) -> None:
    async def node(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"signed in: {interrupt({'auth': 'Sign in at https://login.example.'})}")]}

    agent = agent_of(node_graph(node, saver))
    pause = asked(await events_of(agent, turn("go")))
    assert (pause.auth, pause.text) == (True, "Sign in at https://login.example.")
    assert whole(await events_of(agent, turn("done", answers=True))) == "signed in: done"


async def test_two_branches_ask_and_are_answered_one_by_one(saver: Saver) -> None:
    def branch(name: str) -> Graph:
        async def node(state: MessagesState) -> dict[str, Any]:
            return {"messages": [AIMessage(f"{name}={interrupt(f'{name}?')}")]}

        builder = StateGraph(MessagesState)
        builder.add_node("node", node)
        builder.add_edge(START, "node")
        return builder.compile()

    builder = StateGraph(MessagesState)
    for name in ("left", "right"):
        builder.add_node(name, branch(name))
        builder.add_edge(START, name)
    graph = builder.compile(checkpointer=saver)
    agent = agent_of(graph)
    pause = asked(await events_of(agent, turn("go")))
    ids = {question.value: question.id for question in pause.questions}
    assert ids.keys() == {"left?", "right?"}
    assert asked(await events_of(agent, turn("yes", answers=True))).questions == pause.questions
    unknown = asked(await events_of(agent, turn(data=[{"answers": {"nope": 1}}], answers=True)))
    assert "no pending question 'nope'" in unknown.text
    rest = asked(await events_of(agent, turn(data=[{"answers": {ids["right?"]: "R"}}], answers=True)))
    assert [question.id for question in rest.questions] == [ids["left?"]]
    await events_of(agent, turn("L", answers=True))
    assert {message.content for message in await messages_of(graph)} >= {"left=L", "right=R"}


@tool
def delete_file(name: str) -> str:
    """Delete a file."""
    return f"deleted {name}"


def guarded(saver: Saver, *replies: Any, mode: Literal["batched", "per_call"] = "batched") -> Graph:
    middleware = HumanInTheLoopMiddleware(interrupt_on={"delete_file": True}, interrupt_mode=mode)
    return create_agent(plain(*replies), [delete_file], middleware=[middleware], checkpointer=saver)


@pytest.mark.parametrize("mode", ["batched", "per_call"])
@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ({"text": "승인"}, "deleted a.txt"),
        ({"text": "no, I need it"}, "reason: I need it"),
        (
            {"data": [{"type": "edit", "edited_action": {"name": "delete_file", "args": {"name": "b.txt"}}}]},
            "deleted b.txt",
        ),
        ({"data": [True]}, "deleted a.txt"),
    ],
)
async def test_langchains_approval_is_asked_and_answered(
    saver: Saver, mode: Literal["batched", "per_call"], answer: Any, outcome: str
) -> None:
    graph = guarded(saver, calling("delete_file", name="a.txt"), "end", mode=mode)
    agent = agent_of(graph)
    pause = asked(await events_of(agent, turn("go")))
    assert "delete_file" in pause.text
    unclear = asked(await events_of(agent, turn("yes, delete it", answers=True)))
    assert unclear.questions == pause.questions
    answered = turn(answer.get("text"), data=answer.get("data", ()), answers=True)
    assert whole(await events_of(agent, answered)) == "end"
    results = [str(message.text) for message in await messages_of(graph) if isinstance(message, ToolMessage)]
    assert len(results) == 1
    assert outcome in results[0]


class Age(BaseModel):
    years: Annotated[int, "not negative"]

    def model_post_init(self, context: Any) -> None:
        if self.years < 0:
            raise ValueError("secret words")


async def test_an_answer_that_the_graph_itself_refuses_asks_again(saver: Saver) -> None:
    async def node(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"{interrupt('how old?', response_schema=Age).years} years")]}

    agent = agent_of(node_graph(node, saver))
    pause = asked(await events_of(agent, turn("go")))
    assert pause.questions[0].schema is not None
    early = asked(await events_of(agent, turn("old", answers=True)))
    late = asked(await events_of(agent, turn(data=[{"years": -1}], answers=True)))
    assert early.questions == late.questions == pause.questions
    assert "secret" not in late.text
    assert whole(await events_of(agent, turn(data=[{"years": 7}], answers=True))) == "7 years"


async def test_a_graph_that_asks_but_keeps_nothing_fails_in_words() -> None:
    async def node(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(interrupt("sure?"))]}

    builder = StateGraph(MessagesState)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    with pytest.raises(AgentError, match="checkpointer"):
        await events_of(agent_of(builder.compile()), turn("go"))


async def test_an_answer_that_cannot_be_saved_asks_again_and_runs_nothing(saver: Saver) -> None:
    done: list[str] = []
    agent = agent_of(approval_graph(saver, done))
    pause = asked(await events_of(agent, turn("go")))
    again = asked(await events_of(agent, turn(data=[{"n": 2**70}], answers=True)))
    assert (again.questions, done) == (pause.questions, [])
    assert "64 bits" in again.text


@pytest.mark.parametrize("where", ["question", "state"])
async def test_a_value_of_the_agent_that_cannot_be_saved_fails_in_words(saver: Saver, where: str) -> None:
    async def node(state: MessagesState) -> dict[str, Any]:
        if where == "question":
            interrupt({"held": Lock()})
        return {"messages": [AIMessage("x", additional_kwargs={"held": Lock()})]}

    agent = agent_of(node_graph(node, saver))
    with pytest.raises(AgentError, match="cannot be saved"):
        await events_of(agent, turn("go"))


async def test_abandoning_drops_the_pause_only(saver: Saver) -> None:
    done: list[str] = []
    graph = approval_graph(saver, done)
    agent = agent_of(graph)
    pause = asked(await events_of(agent, turn("go")))
    await agent.close_turn("thread")
    await agent.close_turn("unused")
    with pytest.raises(AgentError, match="Nothing waits"):
        await events_of(agent, turn("yes", answers=True))
    next_pause = asked(await events_of(agent, turn("again", task="2")))
    assert next_pause.questions[0].id != pause.questions[0].id
    assert done == []


async def test_a_forgotten_thread_is_new_and_the_others_stay(saver: Saver) -> None:
    graph = chat_graph(plain("ok"), saver)
    agent = agent_of(graph)
    await events_of(agent, turn("hi"))
    await agent.delete_thread("thread")
    await agent.delete_thread("unused")
    assert (await graph.aget_state(config_of())).values == {}
    assert [found async for found in saver.alist(None)] == []


@pytest.mark.parametrize("own", [InMemorySaver(), None], ids=["in memory", "none"])
async def test_no_thread_of_a_graphs_own_checkpointer_is_pruned(own: Saver | None) -> None:
    graph = chat_graph(plain("one", "two", "three"), own)
    for number in range(3):
        await events_of(agent_of(graph), turn("hi", task=f"t{number}"))
    kept = [] if own is None else [found async for found in own.alist(None)]
    assert not await agent_of(graph).prune_thread("thread", completed="t2")
    assert kept == ([] if own is None else [found async for found in own.alist(None)])


async def test_a_checkpointer_that_fails_to_prune_is_the_agents_failure() -> None:
    class Fails(PrunedMemory):
        async def prune_thread(self, thread_id: str, *, completed: str | None) -> bool:
            raise OSError("secret")

    with pytest.raises(AgentError):
        await agent_of(chat_graph(plain("ok"), Fails())).prune_thread("thread", completed=None)


async def test_a_checkpointer_that_cannot_delete_keeps_its_threads() -> None:
    class Keeps(InMemorySaver):
        async def adelete_thread(self, thread_id: str) -> None:
            raise NotImplementedError

    graph = chat_graph(plain("ok"), Keeps())
    await events_of(agent_of(graph), turn("hi"))
    await agent_of(graph).delete_thread("thread")
    assert (await graph.aget_state(config_of())).values != {}


async def test_a_checkpointer_that_fails_to_delete_is_the_agents_failure() -> None:
    class Fails(InMemorySaver):
        async def adelete_thread(self, thread_id: str) -> None:
            raise OSError("secret")

    with pytest.raises(AgentError):
        await agent_of(chat_graph(plain("ok"), Fails())).delete_thread("thread")


async def test_a_graph_without_memory_has_nothing_to_forget() -> None:
    await agent_of(chat_graph(plain("ok"), None)).delete_thread("thread")


async def test_abandoning_a_thread_without_a_pause_leaves_it(saver: Saver) -> None:
    graph = chat_graph(plain("ok"), saver)
    agent = agent_of(graph)
    await events_of(agent, turn("hi"))
    before = (await graph.aget_state(config_of())).config
    await agent.close_turn("thread")
    assert (await graph.aget_state(config_of())).config == before


async def test_closing_after_the_question_leaves_the_pause(saver: Saver) -> None:
    done: list[str] = []
    agent = agent_of(approval_graph(saver, done))
    async with aclosing(agent.run(turn("go"))) as events:
        await until(events, Interrupt)
    assert whole(await events_of(agent, turn("yes", answers=True))) == "got 'yes'"


# -- cancel and repair


class Slow:
    """A tool with a side effect at its end, and a word when it has begun."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()
        self.stopped = asyncio.Event()
        self.effects: list[str] = []

    def tool(self) -> Any:
        @tool
        async def work() -> str:
            """Work."""
            self.begun.set()
            try:
                await self.go_on.wait()
            except asyncio.CancelledError:
                self.stopped.set()
                raise
            self.effects.append("done")
            return "done"

        return work


@pytest.mark.parametrize("kind", ["tool node", "create_agent", "subgraph"])
@pytest.mark.parametrize("how", ["cancel", "close"])
async def test_a_cancelled_tool_stops_and_leaves_a_history_that_goes_on(saver: Saver, kind: str, how: str) -> None:
    slow = Slow()
    model = plain(calling("work"), "ok")
    graph: Graph = tool_graph(model, [slow.tool()], None if kind == "subgraph" else saver)
    if kind == "create_agent":
        graph = create_agent(model, [slow.tool()], checkpointer=saver)
    if kind == "subgraph":
        graph = in_subgraph(graph, saver)
    agent = agent_of(graph)
    if how == "cancel":
        running = asyncio.create_task(events_of(agent, turn("go", task="1")))
        async with asyncio.timeout(5):
            await slow.begun.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    else:
        async with asyncio.timeout(5), aclosing(agent.run(turn("go", task="1"))) as events:
            await until(events, Progress)
            await slow.begun.wait()
    assert slow.stopped.is_set()
    await agent.close_turn("thread")
    slow.go_on.set()
    snapshot = await graph.aget_state(config_of())
    assert (snapshot.next, snapshot.interrupts) == ((), ())
    assert_valid(snapshot.values["messages"])
    assert whole(await events_of(agent, turn("continue", task="2"))) == "ok"
    assert slow.effects == []


async def test_an_answer_that_is_cancelled_while_it_resumes_leaves_no_pause(saver: Saver) -> None:
    begun = asyncio.Event()

    async def node(state: MessagesState) -> dict[str, Any]:
        interrupt("sure?")
        begun.set()
        await asyncio.Event().wait()
        return {}

    graph = node_graph(node, saver)
    agent = agent_of(graph)
    await events_of(agent, turn("go"))
    running = asyncio.create_task(events_of(agent, turn("yes", answers=True)))
    async with asyncio.timeout(5):
        await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await agent.close_turn("thread")
    assert (await graph.aget_state(config_of())).interrupts == ()


async def test_a_sync_tool_is_waited_for_when_its_run_is_stopped_and_its_result_is_not_taken() -> None:
    """Python has no way to stop a thread."""
    begun, go_on, ended = asyncio.Event(), threading.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    @tool
    def work() -> str:
        """Work."""
        loop.call_soon_threadsafe(begun.set)
        assert go_on.wait(5)
        ended.set()
        return "done"

    graph = tool_graph(plain(calling("work"), "ok"), [work], InMemorySaver())
    agent = agent_of(graph)
    running = asyncio.create_task(events_of(agent, turn("go", task="1")))
    async with asyncio.timeout(5):
        await begun.wait()
        running.cancel()
        for _ in range(50):
            await asyncio.sleep(0)
        assert not running.done()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert ended.is_set()
    await agent.close_turn("thread")
    results = [message for message in await messages_of(graph) if isinstance(message, ToolMessage)]
    assert [result.status for result in results] == ["error"]


async def test_a_thread_that_a_lost_process_left_is_repaired_before_the_next_turn(saver: Saver) -> None:
    slow = Slow()
    model = plain(calling("work"), "ok")
    graph = tool_graph(model, [slow.tool()], saver)
    lost = asyncio.create_task(graph.ainvoke({"messages": [HumanMessage("go")]}, config_of()))
    async with asyncio.timeout(5):
        await slow.begun.wait()
    lost.cancel()
    await asyncio.gather(lost, return_exceptions=True)
    assert (await graph.aget_state(config_of())).next
    assert whole(await events_of(agent_of(graph), turn("continue"))) == "ok"
    assert [message.type for message in model.asked[-1]] == ["human", "ai", "tool", "human"]


async def test_a_history_without_a_result_is_completed_before_the_next_turn(saver: Saver) -> None:
    model = plain("ok")
    graph = chat_graph(model, saver)
    await graph.aupdate_state(config_of(), {"messages": [HumanMessage("a"), calling("x"), HumanMessage("b")]}, "answer")
    assert whole(await events_of(agent_of(graph), turn("c"))) == "ok"
    assert [message.type for message in model.asked[-1]] == ["human", "ai", "tool", "human", "human"]


async def test_a_failed_run_leaves_a_clean_thread(saver: Saver) -> None:
    model = plain(calling("absent"), RuntimeError("down"), "ok")
    graph = tool_graph(model, [delete_file], saver)
    agent = agent_of(graph)
    with pytest.raises(AgentError):
        await events_of(agent, turn("go", task="1"))
    assert (await graph.aget_state(config_of())).next == ()
    assert whole(await events_of(agent, turn("again", task="2"))) == "ok"


async def test_a_branch_that_fails_next_to_a_question_takes_the_question_with_it(saver: Saver) -> None:
    async def fails(state: MessagesState) -> dict[str, Any]:
        raise RuntimeError("down")

    async def asks(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(interrupt("sure?"))]}

    builder = StateGraph(MessagesState)
    builder.add_node("asks", asks)
    builder.add_node("fails", fails)
    builder.add_edge(START, "asks")
    builder.add_edge(START, "fails")
    graph = builder.compile(checkpointer=saver)
    with pytest.raises(AgentError):
        await events_of(agent_of(graph), turn("go"))
    assert (await graph.aget_state(config_of())).interrupts == ()


# -- failures


async def test_an_errors_own_text_never_reaches_the_caller(saver: Saver) -> None:
    agent = agent_of(chat_graph(plain(RuntimeError("secret key")), saver))
    with pytest.raises(AgentError) as raised:
        await events_of(agent, turn("hi"))
    assert raised.value.public == "The agent failed."
    assert isinstance(raised.value.__cause__, RuntimeError)


async def test_an_error_that_was_written_for_the_caller_reaches_the_caller(saver: Saver) -> None:
    with pytest.raises(AgentError, match="Out of paper"):
        await events_of(agent_of(chat_graph(plain(AgentError("Out of paper.")), saver)), turn("hi"))


async def test_a_loop_without_end_fails_in_words() -> None:
    graph = tool_graph(plain(*[calling("delete_file", name="a")] * 9), [delete_file], InMemorySaver())
    with pytest.raises(AgentError, match="limit of steps"):
        await events_of(agent_of(graph.with_config(recursion_limit=3)), turn("go"))


class Away(InMemorySaver):
    """A checkpointer whose database is gone, or goes once a run has begun."""

    def __init__(self, *, after_reads: int = 0) -> None:
        super().__init__()
        self.reads_left = after_reads

    async def aget_tuple(self, config: Any) -> Any:
        self.reads_left -= 1
        if self.reads_left < 0:
            raise ConnectionError("secret host")
        return await super().aget_tuple(config)


async def test_a_checkpointer_that_is_away_fails_the_run() -> None:
    agent = agent_of(chat_graph(plain("ok"), Away()))
    with pytest.raises(AgentError) as raised:
        await events_of(agent, turn("hi"))
    assert "secret" not in raised.value.public
    with pytest.raises(AgentError):
        await agent.close_turn("thread")


async def test_a_checkpointer_that_goes_away_at_the_end_never_gives_an_empty_success(
    caplog: pytest.LogCaptureFixture,
) -> None:
    agent = agent_of(chat_graph(plain("ok"), Away(after_reads=2)))
    with pytest.raises(AgentError):
        await events_of(agent, turn("hi"))
    assert "could not repair" in caplog.text


async def test_a_breakpoint_that_cannot_be_cleared_fails_the_answer() -> None:
    saver = Away(after_reads=100)
    agent = agent_of(chat_graph(plain("ok"), saver, interrupt_before=["answer"]))
    await events_of(agent, turn("go"))
    saver.reads_left = 2
    with pytest.raises(AgentError):
        await events_of(agent, turn("no", answers=True))


async def test_a_graph_that_stops_for_no_reason_that_can_be_seen_is_no_success() -> None:
    inner = chat_graph(plain("ok"), True, interrupt_before=["answer"])  # type: ignore[arg-type]
    hidden = {"graph": inner}

    async def node(state: MessagesState) -> dict[str, Any]:
        return await hidden["graph"].ainvoke(state)

    with pytest.raises(AgentError, match="before it was finished"):
        await events_of(agent_of(node_graph(node)), turn("go"))


# -- state without messages, memory


class Asked(TypedDict, total=False):
    question: str
    answer: Any


async def test_a_graph_without_messages_is_driven_by_its_mapping(saver: Saver) -> None:
    builder = StateGraph(Asked)
    builder.add_node("node", lambda state: {"answer": {"echo": state["question"]}})
    builder.add_edge(START, "node")
    mapping = StateMapping(input_key="question", output_key="answer")
    agent = agent_of(builder.compile(checkpointer=saver), mapping=mapping)
    events = await events_of(agent, turn("hi", past=history("q", "a")))
    assert isinstance(events[0], Started)
    assert events[0].history is not None
    assert events[0].history.reason == "no_messages_channel"
    assert whole(events) == '{"echo":"hi"}'


class Filled(TypedDict, total=False):
    question: str
    task_id: str
    contextId: str
    answer: str
    sure: bool


class Filling(TypedDict):
    question: str
    task_id: str
    contextId: str


def filled_graph(saver: Any, *, asks: bool = False) -> Graph:
    async def answer(state: Filled) -> Filled:
        return {**state, "answer": f"{state['task_id']} in {state['contextId']}: {state['question']}"}

    async def check(state: Filled) -> Filled:
        return {"sure": interrupt("sure?") == "yes"} if asks else {"sure": True}

    builder = StateGraph(Filled, input_schema=Filling)
    builder.add_node("answer", answer)
    builder.add_node("check", check)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", "check")
    return builder.compile(checkpointer=saver)


def outputs(events: Sequence[AgentEvent]) -> list[Any]:
    return [event.artifact.parts for event in events if isinstance(event, ArtifactMade)]


async def test_a_graph_without_messages_needs_no_mapping(saver: Saver) -> None:
    agent = agent_of(filled_graph(saver))
    for task in ("1", "1", "2"):
        events = await events_of(agent, turn("hi", task=task))
        assert outputs(events) == [(Data(data={"answer": f"{task} in thread: hi", "sure": True}),)]
        assert whole(events) == f"{task} in thread: hi"


async def test_what_a_run_wrote_before_its_question_is_part_of_its_answer(saver: Saver) -> None:
    agent = agent_of(filled_graph(saver, asks=True))
    for task in ("1", "2"):
        asked(await events_of(agent, turn("hi", task=task)))
        events = await events_of(agent, turn("yes", task=task, answers=True))
        assert outputs(events) == [(Data(data={"answer": f"{task} in thread: hi", "sure": True}),)]
        assert whole(events) == f"{task} in thread: hi"


async def test_a_message_that_no_field_takes_is_an_objection_and_no_run() -> None:
    agent = agent_of(filled_graph(None))
    odd = turn(data=[{"nope": 1}])
    assert agent.objection(turn("hi").message) is None
    assert "Its fields: question." in str(agent.objection(odd.message))
    with pytest.raises(AgentError, match="Its fields: question"):
        await events_of(agent, odd)
    assert agent_of(chat_graph(plain())).objection(odd.message) is None


async def test_a_prompt_fills_its_field() -> None:
    class State(TypedDict):
        question: str
        thread_id: str

    builder = StateGraph(State)
    builder.add_node("node", lambda state: {"question": f"{state['thread_id']}: {state['question']}"})
    builder.add_edge(START, "node")
    assert await agent_of(builder.compile()).invoke("hi", thread_id="t") == "t: hi"


async def test_a_thread_keeps_its_window(saver: Saver) -> None:
    model = plain("a1", "a2", "a3")
    graph = chat_graph(model, saver)
    agent = agent_of(graph, window_size=3)
    for place, text in enumerate(("q1", "q2", "q3")):
        await events_of(agent, turn(text, task=str(place)))
    assert [message.content for message in model.asked[-1]] == ["q2", "a2", "q3"]
    assert [message.content for message in await messages_of(graph)] == ["q2", "a2", "q3", "a3"]


# -- invoke, stream, invoke_with_hitl


async def test_invoke_gives_the_whole_answer_and_seeds_once(saver: Saver) -> None:
    model = streaming("one two", "three")
    agent = agent_of(chat_graph(model, saver))
    past = [HumanMessage("q"), AIMessage("a")]
    assert await agent.invoke("hi", thread_id="t", prefill_messages=past) == "one two"
    assert await agent.invoke("hi", thread_id="t", prefill_messages=past) == "three"
    assert [message.content for message in model.asked[-1]] == ["q", "a", "hi", "one two", "hi"]


async def test_a_foreign_history_is_made_valid_before_it_is_seeded() -> None:
    model = plain("ok")
    past = [ToolMessage("lost", tool_call_id="x"), HumanMessage("q"), calling("a"), AIMessage("a"), AIMessage("b")]
    assert await agent_of(chat_graph(model)).invoke("hi", thread_id="t", prefill_messages=past) == "ok"
    assert [message.type for message in model.asked[0]] == ["human", "ai", "tool", "ai", "ai", "human"]


async def test_stream_gives_the_pieces() -> None:
    agent = agent_of(chat_graph(streaming("one two")))
    assert [piece async for piece in agent.stream("hi", thread_id="t")] == ["one ", "two"]


async def test_stream_begins_anew_after_an_empty_line() -> None:
    model = streaming(calling("delete_file", text="Let me see.", name="a"), "Done.")
    agent = agent_of(tool_graph(model, [delete_file]))
    assert "".join([piece async for piece in agent.stream("hi", thread_id="t")]) == "Let me see.\n\nDone."


async def test_stream_ends_with_an_answer_that_was_not_streamed() -> None:
    side = streaming("thinking aloud")

    async def node(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await side.ainvoke("x")], "found": 3}

    class Found(MessagesState):
        found: int

    builder = StateGraph(Found)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    agent = agent_of(builder.compile(), mapping=StateMapping(output_key="found"))
    assert "".join([piece async for piece in agent.stream("hi", thread_id="t")]) == "3"


async def test_two_answers_of_which_the_graph_refuses_one_ask_for_that_one_again(saver: Saver) -> None:
    async def good(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"good {interrupt('name?')}")]}

    async def picky(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"{interrupt('how old?', response_schema=Age).years} years")]}

    builder = StateGraph(MessagesState)
    for node in (good, picky):
        builder.add_node(node.__name__, node)
        builder.add_edge(START, node.__name__)
    agent = agent_of(builder.compile(checkpointer=saver))
    pause = asked(await events_of(agent, turn("go")))
    ids = {question.value: question.id for question in pause.questions}
    answers = {"answers": {ids["name?"]: "Ann", ids["how old?"]: {"years": -1}}}
    again = asked(await events_of(agent, turn(data=[answers], answers=True)))
    assert [question.value for question in again.questions] == ["how old?"]


async def test_a_question_is_answered_through_invoke_with_hitl(saver: Saver) -> None:
    done: list[str] = []
    agent = agent_of(approval_graph(saver, done))
    pause = await agent.invoke_with_hitl("go", thread_id="t")
    assert isinstance(pause, Interrupt)
    assert await agent.invoke_with_hitl(thread_id="t", resume={"answers": {pause.questions[0].id: 7}}) == "got 7"


@pytest.mark.parametrize(("resume", "answer"), [("yes", "got 'yes'"), (False, "got False"), ({"a": 1}, "got {'a': 1}")])
async def test_any_value_resumes_through_invoke_with_hitl(resume: Any, answer: str) -> None:
    agent = agent_of(approval_graph(InMemorySaver(), []))
    await agent.invoke_with_hitl("go", thread_id="t")
    assert await agent.invoke_with_hitl(thread_id="t", resume=resume) == answer


async def test_invoke_and_stream_say_that_the_graph_asks() -> None:
    agent = agent_of(approval_graph(InMemorySaver(), []))
    with pytest.raises(AgentError, match="invoke_with_hitl"):
        await agent.invoke("go", thread_id="a")
    with pytest.raises(AgentError, match="invoke_with_hitl"):
        [piece async for piece in agent.stream("go", thread_id="b")]


async def test_runs_of_different_threads_share_nothing() -> None:
    agent = agent_of(chat_graph(plain("ok", "ok"), InMemorySaver()))
    both = await asyncio.gather(*(events_of(agent, turn(name, thread=name)) for name in ("a", "b")))
    assert [events[-1] for events in both] == [Complete(text="ok")] * 2
