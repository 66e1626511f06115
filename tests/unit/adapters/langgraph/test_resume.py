"""A turn whose process died is taken again: at every place where it can have died."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, TypedDict

import msgspec
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from tests.unit.adapters.langgraph.scripted import (
    agent_of,
    asked,
    chat_graph,
    config_of,
    events_of,
    history,
    messages_of,
    node_graph,
    plain,
    spoken,
    started,
    streaming,
    turn,
    whole,
)

from llamon_agent.adapters.langgraph.agent import LangGraphAgent
from llamon_agent.adapters.langgraph.state import StateMapping
from llamon_agent.adapters.langgraph.thread import Graph
from llamon_agent.domain.errors import AgentError
from llamon_agent.domain.events import AgentEvent, ArtifactMade, Complete, Delta, Interrupt, SeedOutcome, Started
from llamon_agent.domain.message import Data, Metadata
from llamon_agent.runs.decisions import question_out
from llamon_agent.runs.ports.agent import Turn

Saver = BaseCheckpointSaver[Any]


class Steps:
    """Three nodes that say their names; `hold` names one that waits for ever, `ask` one that asks first."""

    def __init__(self, *, hold: str = "", ask: str = "") -> None:
        self.hold = hold
        self.ask = ask
        self.done: list[str] = []
        self.held = asyncio.Event()

    async def work(self, name: str) -> None:
        if name == self.ask:
            self.done.append(f"{name}: {interrupt(f'{name}?')}")
        if name == self.hold:
            self.held.set()
            await asyncio.Event().wait()
        self.done.append(name)

    def graph(self, saver: Saver | None, *, within: bool = False) -> Graph:
        builder = StateGraph(MessagesState)
        before = START
        for name in ("one", "two", "three"):
            builder.add_node(name, self._node(name))
            builder.add_edge(before, name)
            before = name
        if not within:
            return builder.compile(checkpointer=saver)
        outer = StateGraph(MessagesState)
        outer.add_node("inner", builder.compile())
        outer.add_edge(START, "inner")
        return outer.compile(checkpointer=saver)

    def _node(self, name: str) -> Any:
        async def node(state: MessagesState) -> dict[str, Any]:
            await self.work(name)
            return {"messages": [AIMessage(f"said {name}")]}

        return node


async def died_in(steps: Steps, agent: LangGraphAgent, taken: Turn) -> None:
    """The process ended in the middle of the node that holds."""
    events = agent.run(taken)
    running = asyncio.ensure_future(_all(events))
    async with asyncio.timeout(5):
        await steps.held.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    steps.hold = ""
    steps.held.clear()


class Dying(InMemorySaver):
    """What a process keeps that dies right before it saves the step of a node, counted from 1. The node has ended, and
    what it wrote is kept already.
    """

    def __init__(self, *, before_step: int) -> None:
        super().__init__()
        self.before_step = before_step
        self.is_dead = False

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        self.is_dead |= (metadata["source"], metadata["step"]) == ("loop", self.before_step)
        self._check()
        return await super().aput(config, checkpoint, metadata, new_versions)

    async def aput_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self._check()
        await super().aput_writes(config, writes, task_id, task_path)

    async def aget_tuple(self, config: Any) -> Any:
        self._check()
        return await super().aget_tuple(config)

    def _check(self) -> None:
        if self.is_dead:
            raise ConnectionError

    async def died_in(self, agent: LangGraphAgent, taken: Turn) -> None:
        with pytest.raises(AgentError):
            await events_of(agent, taken)
        self.is_dead, self.before_step = False, 0


async def _all(events: AsyncGenerator[AgentEvent]) -> None:
    async with aclosing(events):
        async for _ in events:
            pass


def again(taken: Turn, asked: Interrupt | None = None) -> Turn:
    """The same turn, once more, with what the task had asked if it answers that."""
    told: Sequence[Metadata] = [question_out(question) for question in asked.questions] if asked else ()
    return msgspec.structs.replace(taken, attempt=2, asked=tuple(told))


async def said(graph: Graph) -> list[str]:
    return [str(message.content) for message in await messages_of(graph)]


async def test_a_run_that_died_before_anything_was_saved_begins_as_for_the_first_time(saver: Saver) -> None:
    graph = chat_graph(plain("ok"), saver)
    events = await events_of(agent_of(graph), again(turn("hi", past=history("a", "b"))))
    assert started(events).history == SeedOutcome(seeded=2, skipped=0, reason="cold_start")
    assert (whole(events), await said(graph)) == ("ok", ["a", "b", "hi", "ok"])


@pytest.mark.parametrize("within", [False, True])
async def test_a_run_that_died_in_a_node_begins_that_node_anew_and_no_other(saver: Saver, within: bool) -> None:
    steps = Steps(hold="two")
    graph = steps.graph(saver, within=within)
    agent, taken = agent_of(graph), turn("go", past=history("a"))
    await died_in(steps, agent, taken)
    events = await events_of(agent, again(taken))
    assert steps.done == ["one", "two", "three"]
    assert started(events).history == SeedOutcome(seeded=1, skipped=0, reason="cold_start")
    assert (whole(events), spoken(events)) == ("said three", "said three")
    assert await said(graph) == ["a", "go", "said one", "said two", "said three"]


async def test_a_run_that_died_in_the_first_node_gives_its_input_once(saver: Saver) -> None:
    steps = Steps(hold="one")
    graph = steps.graph(saver)
    agent = agent_of(graph)
    await died_in(steps, agent, turn("go"))
    assert whole(await events_of(agent, again(turn("go")))) == "said three"
    assert await said(graph) == ["go", "said one", "said two", "said three"]


@pytest.mark.parametrize("step", [1, 2, 3])
async def test_a_node_that_had_ended_is_not_run_again_though_its_step_was_not_saved(step: int) -> None:
    steps, saver = Steps(), Dying(before_step=step)
    graph = steps.graph(saver)
    agent = agent_of(graph)
    await saver.died_in(agent, turn("go"))
    assert steps.done == ["one", "two", "three"][:step]
    assert whole(await events_of(agent, again(turn("go")))) == "said three"
    assert steps.done == ["one", "two", "three"]
    assert await said(graph) == ["go", "said one", "said two", "said three"]


async def test_an_answer_whose_node_had_ended_is_not_given_again_though_its_step_was_not_saved() -> None:
    steps, saver = Steps(ask="two"), Dying(before_step=2)
    agent = agent_of(steps.graph(saver))
    pause = asked(await events_of(agent, turn("go")))
    await saver.died_in(agent, turn("yes", answers=True))
    assert whole(await events_of(agent, again(turn("yes", answers=True), pause))) == "said three"
    assert steps.done == ["one", "two: yes", "two", "three"]


async def test_a_run_that_is_given_up_when_a_node_had_ended_leaves_nothing_to_go_on_with() -> None:
    steps, saver = Steps(ask="two"), Dying(before_step=1)
    graph = steps.graph(saver)
    agent = agent_of(graph)
    await saver.died_in(agent, turn("go"))
    await agent.close_turn("thread")
    assert (await graph.aget_state(config_of())).tasks == ()
    assert asked(await events_of(agent, turn("next", task="2"))).questions
    assert await said(graph) == ["go", "said one", "next", "said one"]


async def test_a_node_that_was_stopped_before_it_knew_where_it_leads_begins_anew(saver: Saver) -> None:
    steps = Steps(hold="where to")
    chosen: list[str] = []

    async def route(state: MessagesState) -> str:
        await steps.work("where to")
        chosen.append("three")
        return "three"

    builder = StateGraph(MessagesState)
    for name in ("one", "three"):
        builder.add_node(name, steps._node(name))
    builder.add_edge(START, "one")
    builder.add_conditional_edges("one", route, ["three"])
    graph: Graph = builder.compile(checkpointer=saver)
    agent = agent_of(graph)
    await died_in(steps, agent, turn("go"))
    assert whole(await events_of(agent, again(turn("go")))) == "said three"
    assert await said(graph) == ["go", "said one", "said three"]
    assert chosen == ["three"]


async def test_a_run_that_died_after_the_last_node_gives_its_result_and_nothing_runs(saver: Saver) -> None:
    steps = Steps()
    agent = agent_of(steps.graph(saver))
    first = await events_of(agent, turn("go", past=history("a")))
    events = await events_of(agent, again(turn("go", past=history("a"))))
    assert steps.done == ["one", "two", "three"]
    assert events == [started(first), Complete(text="said three")]


@pytest.mark.parametrize(("returned", "answer"), [("Hello.", "Hello."), ([], "")])
async def test_after_a_crash_the_messages_of_the_caller_are_no_answer(returned: Any, answer: str, saver: Saver) -> None:
    agent = agent_of(node_graph(lambda _: {"messages": returned}, saver))
    taken = turn("go", past=history("a"))
    for given in (taken, again(taken)):
        assert whole(await events_of(agent, given)) == answer


async def test_a_run_that_died_at_a_question_asks_it_and_nothing_runs(saver: Saver) -> None:
    steps = Steps(ask="two")
    agent = agent_of(steps.graph(saver))
    pause = asked(await events_of(agent, turn("go")))
    assert await events_of(agent, again(turn("go"))) == [Started(), Delta(text="said one", restart=True), pause]
    assert steps.done == ["one"]


async def test_who_died_at_a_question_takes_back_what_may_have_been_told_and_is_not_in_the_state(saver: Saver) -> None:
    async def node(state: MessagesState) -> dict[str, Any]:
        await streaming("secret").ainvoke("x")
        return {"messages": [AIMessage(str(interrupt("sure?")))]}

    agent = agent_of(node_graph(node, saver))
    pause = asked(await events_of(agent, turn("go")))
    assert await events_of(agent, again(turn("go"))) == [Started(), Delta(text="", restart=True), pause]


async def test_who_died_at_the_end_of_a_run_without_an_answer_takes_back_what_may_have_been_told(saver: Saver) -> None:
    async def node(state: MessagesState) -> dict[str, Any]:
        await streaming("secret").ainvoke("x")
        return {}

    agent = agent_of(node_graph(node, saver))
    await events_of(agent, turn("go"))
    assert await events_of(agent, again(turn("go"))) == [Started(), Complete(text="")]


@pytest.mark.parametrize("within", [False, True])
async def test_an_answer_that_was_not_taken_is_given_again(saver: Saver, within: bool) -> None:
    steps = Steps(ask="two")
    agent = agent_of(steps.graph(saver, within=within))
    pause = asked(await events_of(agent, turn("go")))
    steps.hold = "two"
    await died_in(steps, agent, turn("yes", answers=True))
    events = await events_of(agent, again(turn("yes", answers=True), pause))
    assert whole(events) == "said three"
    assert steps.done == ["one", "two: yes", "two: yes", "two", "three"]  # its node had begun, and begins anew


@pytest.mark.parametrize("within", [False, True])
async def test_an_answer_that_was_taken_is_not_given_again(saver: Saver, within: bool) -> None:
    steps = Steps(ask="two")
    agent = agent_of(steps.graph(saver, within=within))
    pause = asked(await events_of(agent, turn("go")))
    steps.hold = "three"
    await died_in(steps, agent, turn("yes", answers=True))
    assert whole(await events_of(agent, again(turn("yes", answers=True), pause))) == "said three"
    assert steps.done == ["one", "two: yes", "two", "three"]


async def test_an_answer_is_not_given_to_the_question_after_its_own(saver: Saver) -> None:
    steps = Steps(ask="one")
    agent = agent_of(steps.graph(saver))
    pause = asked(await events_of(agent, turn("go")))
    steps.ask = "two"
    steps.done.append("one: yes")
    agent_two = agent_of(steps.graph(saver))
    following = asked(await events_of(agent_two, turn("yes", answers=True)))
    assert await events_of(agent_two, again(turn("yes", answers=True), pause)) == [Started(), following]
    assert "two" not in steps.done


async def test_an_answer_whose_run_had_ended_gives_the_result_and_nothing_runs(saver: Saver) -> None:
    steps = Steps(ask="two")
    agent = agent_of(steps.graph(saver))
    pause = asked(await events_of(agent, turn("go")))
    await events_of(agent, turn("yes", answers=True))
    done = list(steps.done)
    assert whole(await events_of(agent, again(turn("yes", answers=True), pause))) == "said three"
    assert steps.done == done


async def test_the_answer_of_an_earlier_task_is_not_given_again(saver: Saver) -> None:
    steps = Steps()
    graph = steps.graph(saver)
    agent = agent_of(graph)
    await events_of(agent, turn("first", task="1"))
    events = await events_of(agent, again(turn("second", task="2")))
    assert steps.done == ["one", "two", "three"] * 2
    assert (await said(graph))[4] == "second"
    assert whole(events) == "said three"


async def test_a_thread_that_is_repaired_before_the_input_does_not_count_as_begun(saver: Saver) -> None:
    steps = Steps(hold="two")
    graph = steps.graph(saver)
    agent = agent_of(graph)
    await died_in(steps, agent, turn("first", task="1"))
    await agent.close_turn("thread")
    assert whole(await events_of(agent, again(turn("second", task="2")))) == "said three"
    assert (await said(graph))[:3] == ["first", "said one", "second"]


async def test_a_run_that_was_given_up_does_not_go_on(saver: Saver) -> None:
    steps = Steps(hold="two")
    agent = agent_of(steps.graph(saver))
    await died_in(steps, agent, turn("go"))
    await agent.close_turn("thread")
    with pytest.raises(AgentError, match="restarted"):
        await events_of(agent, again(turn("go")))
    assert steps.done == ["one"]


async def test_a_run_that_dies_again_goes_on_again(saver: Saver) -> None:
    steps = Steps(hold="two")
    agent = agent_of(steps.graph(saver))
    await died_in(steps, agent, turn("go"))
    steps.hold = "three"
    await died_in(steps, agent, again(turn("go")))
    assert whole(await events_of(agent, again(turn("go")))) == "said three"
    assert steps.done == ["one", "two", "three"]


class Prompted(TypedDict):
    prompt: str


class Plain(TypedDict, total=False):
    prompt: str
    first: str
    answer: str


@pytest.mark.parametrize("mapping", [StateMapping(input_key="prompt", output_key="answer"), None])
async def test_a_graph_without_messages_goes_on_too(saver: Saver, mapping: StateMapping | None) -> None:
    steps = Steps(hold="two")

    async def one(state: Plain) -> Plain:
        await steps.work("one")
        return {"first": state["prompt"].upper()}

    async def two(state: Plain) -> Plain:
        await steps.work("two")
        return {"answer": state["first"] + "!"}

    builder = StateGraph(Plain, input_schema=Prompted)
    builder.add_node("one", one)
    builder.add_node("two", two)
    builder.add_edge(START, "one")
    builder.add_edge("one", "two")
    graph: Graph = builder.compile(checkpointer=saver)
    agent = agent_of(graph, mapping=mapping)
    await died_in(steps, agent, turn("go"))
    for _ in range(2):
        events = await events_of(agent, again(turn("go")))
        made = [event.artifact.parts for event in events if isinstance(event, ArtifactMade)]
        if mapping is None:
            assert made == [(Data(data={"first": "GO", "answer": "GO!"}),)]
            assert whole(events) == '{"first":"GO","answer":"GO!"}'
        else:
            assert (made, whole(events)) == ([], "GO!")
    assert steps.done == ["one", "two"]


async def test_artifacts_have_the_same_ids_in_every_attempt(saver: Saver) -> None:
    class State(MessagesState, total=False):
        structured_response: dict[str, int]

    async def node(state: State) -> dict[str, Any]:
        return {"messages": [AIMessage("x")], "structured_response": {"n": len(state["messages"])}}

    builder = StateGraph(State)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    graph: Graph = builder.compile(checkpointer=saver)
    agent = agent_of(graph)
    made = [event for event in await events_of(agent, turn("go")) if isinstance(event, ArtifactMade)]
    told = [event for event in await events_of(agent, again(turn("go"))) if isinstance(event, ArtifactMade)]
    assert [event.artifact.artifact_id for event in made] == ["answer-1-structured_response"]
    assert told == made


def test_only_threads_that_outlive_the_process_recover() -> None:
    assert not agent_of(Steps().graph(None)).survives_restart
    assert not agent_of(Steps().graph(InMemorySaver())).survives_restart


async def test_threads_in_a_file_recover(tmp_path: Any) -> None:
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads")) as saver:
        assert agent_of(Steps().graph(saver)).survives_restart


async def test_a_thread_that_is_not_kept_begins_anew() -> None:
    steps = Steps()
    assert whole(await events_of(agent_of(steps.graph(None)), again(turn("go")))) == "said three"


async def test_a_foreign_question_in_the_thread_is_answered_as_for_the_first_time(saver: Saver) -> None:
    steps = Steps(ask="one")
    graph = steps.graph(saver)
    agent = agent_of(graph)
    await graph.ainvoke({"messages": [HumanMessage("from elsewhere")]}, config_of())
    pause = asked(await events_of(agent, turn("go", task="2")))
    assert whole(await events_of(agent, again(turn("yes", task="2", answers=True), pause))) == "said three"
