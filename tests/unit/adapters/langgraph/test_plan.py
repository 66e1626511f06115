from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.types import Command

from llamon_agent.adapters.langgraph.hitl.questions import CallerAnswer
from llamon_agent.adapters.langgraph.plan import GraphCall, Respond, RunGraph, decide_plan
from llamon_agent.adapters.langgraph.state import StateMapping
from llamon_agent.adapters.langgraph.thread import ThreadState
from llamon_agent.domain.errors import AgentError
from llamon_agent.domain.events import Complete, Interrupt, Question, SeedOutcome

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


def test_without_history_nothing_is_told_of_it() -> None:
    assert decide(new(), EMPTY).started.history is None


def test_a_new_message_to_a_waiting_thread_asks_again_and_runs_nothing() -> None:
    plan = decide(new(prefill=SEEDS, received=2), ASKING)
    assert isinstance(plan, Respond)
    assert isinstance(plan.ending, Interrupt)
    assert (plan.ending.text, plan.drops_pause) == ("how many?", False)
    assert plan.started.history == SeedOutcome(seeded=0, skipped=2, reason="pending_interrupt")


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
