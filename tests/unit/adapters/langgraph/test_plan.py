"""What a call means for a thread; and when history is seeded, on a real graph and both checkpointers."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import MessagesState
from langgraph.types import Command, interrupt
from tests.unit.adapters.langgraph.scripted import (
    agent_of,
    asked,
    chat_graph,
    events_of,
    history,
    messages_of,
    node_graph,
    plain,
    started,
    turn,
    whole,
)

from llamon_agent.adapters.langgraph.hitl.questions import CallerAnswer
from llamon_agent.adapters.langgraph.plan import GraphCall, Respond, RunGraph, decide_plan, decide_seeds, seed_outcome
from llamon_agent.adapters.langgraph.schema import Placed
from llamon_agent.adapters.langgraph.state import StateMapping
from llamon_agent.adapters.langgraph.thread import ThreadState
from llamon_agent.domain.errors import AgentError
from llamon_agent.domain.events import Complete, Interrupt, Question, SeedOutcome
from llamon_agent.runs.ports.agent import Turn

EMPTY = ThreadState()
USED = ThreadState(exists=True, messages=(HumanMessage("old", id="1"),))
ASKING = ThreadState(exists=True, questions=(Question(id="q", value="how many?"),))
STOPPED = ThreadState(exists=True, questions=(Question(id="breakpoint:n:1", value={"breakpoint": ["n"]}),))
SEEDS = (HumanMessage("h"), AIMessage("a"))


def decide(
    call: GraphCall, state: ThreadState, mapping: StateMapping | None = None, window: int | None = None
) -> RunGraph | Respond:
    return decide_plan(call, state, mapping or StateMapping(), window)


def new(**more: Any) -> GraphCall:
    return GraphCall("hi", "m", **more)


def answering(text: str) -> GraphCall:
    return GraphCall("", "m", answer=CallerAnswer(text=text), received=1)


def test_a_new_thread_is_seeded_in_front_of_the_message() -> None:
    plan = decide(new(prefill=SEEDS, received=3), EMPTY)
    assert isinstance(plan, RunGraph)
    assert isinstance(plan.given, dict)
    assert [message.content for message in plan.given["messages"]] == ["h", "a", "hi"]
    assert plan.started.history == SeedOutcome(seeded=2, skipped=1, reason="cold_start")


def test_seeds_that_the_window_drops_count_as_skipped() -> None:
    plan = decide(new(prefill=SEEDS, received=2), EMPTY, window=1)
    assert plan.started.history == SeedOutcome(seeded=0, skipped=2, reason="cold_start")


def test_a_used_thread_is_not_seeded() -> None:
    plan = decide(new(prefill=SEEDS, received=2), USED)
    assert isinstance(plan, RunGraph)
    assert isinstance(plan.given, dict)
    assert [message.content for message in plan.given["messages"]] == ["hi"]
    assert plan.started.history == SeedOutcome(seeded=0, skipped=2, reason="thread_not_empty")


def test_a_mapped_graph_is_not_seeded() -> None:
    plan = decide(new(prefill=SEEDS, received=2), EMPTY, StateMapping(input_key="question", output_key="answer"))
    assert isinstance(plan, RunGraph)
    assert plan.given == {"question": "hi"}
    assert plan.started.history == SeedOutcome(seeded=0, skipped=2, reason="no_messages_channel")


def test_a_message_that_fills_fields_is_the_input_and_nothing_is_seeded() -> None:
    plan = decide(new(prefill=SEEDS, received=2, placed=Placed({"question": "q"})), EMPTY)
    assert isinstance(plan, RunGraph)
    assert plan.given == {"question": "q"}
    assert plan.started.history == SeedOutcome(seeded=0, skipped=2, reason="no_messages_channel")


def test_a_message_without_a_field_is_an_error_and_may_be_an_answer() -> None:
    misfit = Placed(problem="no field")
    with pytest.raises(AgentError, match="no field"):
        decide(new(placed=misfit), EMPTY)
    plan = decide(GraphCall("", "m", answer=CallerAnswer(text="2"), placed=misfit), ASKING)
    assert isinstance(plan, RunGraph)


def test_without_history_there_is_no_seed_outcome() -> None:
    assert decide(new(), EMPTY).started.history is None


def test_a_new_message_to_a_waiting_thread_asks_again_and_runs_nothing() -> None:
    plan = decide(new(prefill=SEEDS, received=2), ASKING)
    assert isinstance(plan, Respond)
    assert isinstance(plan.ending, Interrupt)
    assert (plan.ending.text, plan.drops_pause) == ("how many?", False)
    assert plan.started.history == SeedOutcome(seeded=0, skipped=2, reason="pending_interrupt")


RAISING = ThreadState(exists=True, questions=(Question(id="placeholder-id", value="too long"),))


def test_an_answer_to_a_node_interrupt_is_put_into_the_state_as_a_new_message_is() -> None:
    call = GraphCall("shorter", "m", answer=CallerAnswer(text="shorter"))
    plan = decide(call, RAISING)
    assert isinstance(plan, RunGraph)
    assert isinstance(plan.given, Command)
    [message] = plan.given.update["messages"]  # type: ignore[index]
    assert (message.text, message.id) == ("shorter", "m")
    plan = decide(call, RAISING, StateMapping(input_key="q", output_key="a"))
    assert isinstance(plan, RunGraph)
    assert plan.given == Command(update={"q": "shorter"})


def test_fields_that_answer_a_node_interrupt_are_changed_and_a_yes_changes_none() -> None:
    placed = Placed({"q": "shorter"})
    plan = decide(GraphCall("", "m", answer=CallerAnswer(data=({"q": "shorter"},)), placed=placed), RAISING)
    assert isinstance(plan, RunGraph)
    assert plan.given == Command(update={"q": "shorter"})
    plan = decide(GraphCall("yes", "m", answer=CallerAnswer(text="yes"), placed=placed), RAISING)
    assert isinstance(plan, RunGraph)
    assert plan.given == Command(resume=True)


def test_an_answer_to_a_node_interrupt_that_no_field_takes_asks_again() -> None:
    placed = Placed(problem="no field")
    plan = decide(GraphCall("shorter", "m", answer=CallerAnswer(text="shorter"), placed=placed), RAISING)
    assert isinstance(plan, Respond)
    assert isinstance(plan.ending, Interrupt)
    assert plan.ending.text.startswith("no field\ntoo long\nThis question reads no answer")


def test_an_answer_resumes_by_id() -> None:
    plan = decide(answering("7"), ASKING)
    assert isinstance(plan, RunGraph)
    assert plan.given == Command(resume={"q": "7"})
    assert plan.started.history == SeedOutcome(seeded=0, skipped=1, reason="pending_interrupt")


def test_an_answer_that_is_not_clear_asks_again_and_says_why() -> None:
    plan = decide(GraphCall("", "m", answer=CallerAnswer()), ASKING)
    assert isinstance(plan, Respond)
    assert isinstance(plan.ending, Interrupt)
    assert plan.ending.text == "That answer was not taken: it has neither text nor data.\nhow many?"


@pytest.mark.parametrize("state", [EMPTY, USED])
def test_an_answer_where_nothing_waits_is_an_error(state: ThreadState) -> None:
    with pytest.raises(AgentError, match="Nothing waits"):
        decide(answering("yes"), state)


def test_a_breakpoint_is_passed_on_yes() -> None:
    plan = decide(answering("yes"), STOPPED)
    assert isinstance(plan, RunGraph)
    assert plan.given is None


def test_a_breakpoint_is_ended_on_no() -> None:
    plan = decide(answering("no"), STOPPED)
    assert isinstance(plan, Respond)
    assert isinstance(plan.ending, Complete)
    assert plan.drops_pause


Saver = BaseCheckpointSaver[Any]

SEEDED = SeedOutcome(seeded=2, skipped=0, reason="cold_start")
SKIPPED = SeedOutcome(seeded=0, skipped=2, reason="thread_not_empty")
LONGER_SKIPPED = SeedOutcome(seeded=0, skipped=4, reason="thread_not_empty")
PAST = history("q1", "a1")
LONGER = history("q1", "a1", "one", "ok1")

SCENARIOS: dict[str, list[tuple[Turn, SeedOutcome | None, list[str]]]] = {
    "a first call seeds its history": [
        (turn("now", past=PAST), SEEDED, ["q1", "a1", "now"]),
    ],
    "the same context again, with more history, is not seeded again": [
        (turn("one", past=PAST, task="1"), SEEDED, ["q1", "a1", "one"]),
        (turn("two", past=LONGER, task="2"), LONGER_SKIPPED, ["q1", "a1", "one", "ok1", "two"]),
        (turn("three", past=PAST, task="3"), SKIPPED, ["q1", "a1", "one", "ok1", "two", "ok2", "three"]),
    ],
    "a new context every time is seeded every time": [
        (turn("one", past=PAST, thread="a"), SEEDED, ["q1", "a1", "one"]),
        (turn("two", past=PAST, thread="b"), SEEDED, ["q1", "a1", "two"]),
    ],
    "without history nothing is seeded or told": [
        (turn("one"), None, ["one"]),
    ],
    "a conversation without history remembers by itself": [
        (turn("one", task="1"), None, ["one"]),
        (turn("two", task="2"), None, ["one", "ok1", "two"]),
    ],
    "history that comes late does not get into a conversation": [
        (turn("one", task="1"), None, ["one"]),
        (turn("two", past=PAST, task="2"), SKIPPED, ["one", "ok1", "two"]),
    ],
    "a host that reuses its message id loses no turn": [
        (turn("one"), None, ["one"]),
        (turn("two"), None, ["one", "ok1", "two"]),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", SCENARIOS)
async def test_scenario(name: str, saver: Saver) -> None:
    model = plain("ok1", "ok2", "ok3")
    agent = agent_of(chat_graph(model, saver))
    for taken, outcome, read in SCENARIOS[name]:
        events = await events_of(agent, taken)
        assert started(events).history == outcome
        assert [message.content for message in model.asked[-1]] == read


async def test_a_stateless_graph_is_seeded_every_time() -> None:
    model = plain("ok1", "ok2")
    agent = agent_of(chat_graph(model))
    for text in ("one", "two"):
        assert started(await events_of(agent, turn(text, past=PAST))).history == SEEDED
        assert [message.content for message in model.asked[-1]] == ["q1", "a1", text]


async def test_interrupt_then_resume_seeds_once(saver: Saver) -> None:
    def node(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"{len(state['messages'])} {interrupt('sure?')}")]}

    agent = agent_of(node_graph(node, saver))
    first = await events_of(agent, turn("now", past=PAST))
    assert (started(first).history, asked(first).text) == (SEEDED, "sure?")
    second = await events_of(agent, turn("yes", past=PAST, answers=True))
    assert started(second).history == SeedOutcome(seeded=0, skipped=2, reason="pending_interrupt")
    assert whole(second) == "3 yes"


async def test_a_thread_whose_first_turn_crashed_is_not_new(saver: Saver) -> None:
    model = plain(RuntimeError("down"), "ok")
    agent = agent_of(chat_graph(model, saver))
    with pytest.raises(AgentError):
        await events_of(agent, turn("one", past=PAST, task="1"))
    events = await events_of(agent, turn("two", past=PAST, task="2"))
    assert started(events).history == SKIPPED
    assert [message.content for message in model.asked[-1]] == ["q1", "a1", "one", "two"]


async def test_a_thread_written_from_outside_is_not_new_and_not_paused(saver: Saver) -> None:
    model = plain("ok")
    graph = chat_graph(model, saver)
    await graph.aupdate_state({"configurable": {"thread_id": "thread"}}, {"messages": [HumanMessage("x")]}, "__start__")
    events = await events_of(agent_of(graph), turn("now", past=PAST))
    assert (started(events).history, whole(events)) == (SKIPPED, "ok")


async def test_equal_ids_of_a_host_replace_nothing(saver: Saver) -> None:
    twice = (PAST[0], PAST[0], PAST[1])
    graph = chat_graph(plain("ok"), saver)
    events = await events_of(agent_of(graph), turn("now", past=twice, message_id=PAST[0].message_id))
    assert started(events).history == SeedOutcome(seeded=3, skipped=0, reason="cold_start")
    assert [message.content for message in await messages_of(graph)] == ["q1", "q1", "a1", "now", "ok"]


async def test_seeded_messages_have_ids_by_place(saver: Saver) -> None:
    graph = chat_graph(plain("ok"), saver)
    await events_of(agent_of(graph), turn("now", past=PAST, task="t", message_id="m"))
    assert [message.id for message in await messages_of(graph)][:3] == ["seed:0", "seed:1", "t:m"]


def test_history_without_a_usable_turn_says_so() -> None:
    assert decide_seeds(ThreadState(), [], takes_messages=True) == ([], "no_usable_turns")
    assert seed_outcome(2, 0, "no_usable_turns") == SeedOutcome(seeded=0, skipped=2, reason="no_usable_turns")
    assert seed_outcome(0, 0, "cold_start") is None


def test_a_pending_question_is_the_first_reason_not_to_seed() -> None:
    state = ThreadState(exists=True, questions=(Question(id="q", value="?"),))
    assert decide_seeds(state, [HumanMessage("h")], takes_messages=True) == ([], "pending_interrupt")


def test_messages_of_the_caller_are_known_by_their_ids_or_as_the_answers_text() -> None:
    call = GraphCall("hi", "task:m2", answer=CallerAnswer(text="yes"))
    sent = [HumanMessage("a", id="task:m1:2"), HumanMessage("a", id="seed:0"), HumanMessage("yes", id="x")]
    others = [HumanMessage("no", id="x"), HumanMessage("no"), HumanMessage("no", id="task1:m1")]
    assert [call.is_sent(message) for message in sent] == [True] * 3
    assert [call.is_sent(message) for message in others] == [False] * 3
    assert GraphCall("hi", "m").is_sent(HumanMessage("hi", id="m"))
