from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.types import Command

from llamon_agent.adapters.langgraph.hitl.questions import Answer
from llamon_agent.adapters.langgraph.plan import Call, Go, Say, decide_turn
from llamon_agent.adapters.langgraph.state import StateMapping
from llamon_agent.adapters.langgraph.thread import ThreadState
from llamon_agent.domain.errors import AgentError
from llamon_agent.domain.events import Complete, Interrupt, Question, SeedOutcome

EMPTY = ThreadState()
USED = ThreadState(exists=True, messages=(HumanMessage("old", id="1"),))
ASKING = ThreadState(exists=True, questions=(Question(id="q", value="how many?"),))
STOPPED = ThreadState(exists=True, questions=(Question(id="breakpoint:n:1", value={"breakpoint": ["n"]}),))
SEEDS = (HumanMessage("h"), AIMessage("a"))


def decide(call: Call, state: ThreadState, mapping: StateMapping | None = None, window: int | None = None) -> Go | Say:
    return decide_turn(call, state, mapping or StateMapping(), window)


def new(**more: Any) -> Call:
    return Call("hi", "m", **more)


def answering(text: str) -> Call:
    return Call("", "m", answer=Answer(text=text), received=1)


def test_a_new_thread_is_seeded_in_front_of_the_message() -> None:
    go = decide(new(prefill=SEEDS, received=3), EMPTY)
    assert isinstance(go, Go)
    assert isinstance(go.given, dict)
    assert [message.content for message in go.given["messages"]] == ["h", "a", "hi"]
    assert go.started.history == SeedOutcome(seeded=2, skipped=1, reason="cold_start")


def test_seeds_that_the_window_drops_count_as_skipped() -> None:
    go = decide(new(prefill=SEEDS, received=2), EMPTY, window=1)
    assert go.started.history == SeedOutcome(seeded=0, skipped=2, reason="cold_start")


def test_a_used_thread_is_not_seeded() -> None:
    go = decide(new(prefill=SEEDS, received=2), USED)
    assert isinstance(go, Go)
    assert isinstance(go.given, dict)
    assert [message.content for message in go.given["messages"]] == ["hi"]
    assert go.started.history == SeedOutcome(seeded=0, skipped=2, reason="thread_not_empty")


def test_a_mapped_graph_is_not_seeded() -> None:
    go = decide(new(prefill=SEEDS, received=2), EMPTY, StateMapping(input_key="question", output_key="answer"))
    assert isinstance(go, Go)
    assert go.given == {"question": "hi"}
    assert go.started.history == SeedOutcome(seeded=0, skipped=2, reason="no_messages_channel")


def test_without_history_nothing_is_told_of_it() -> None:
    assert decide(new(), EMPTY).started.history is None


def test_a_new_message_to_a_waiting_thread_asks_again_and_runs_nothing() -> None:
    say = decide(new(prefill=SEEDS, received=2), ASKING)
    assert isinstance(say, Say)
    assert isinstance(say.ending, Interrupt)
    assert (say.ending.text, say.drops_pause) == ("how many?", False)
    assert say.started.history == SeedOutcome(seeded=0, skipped=2, reason="pending_interrupt")


def test_an_answer_resumes_by_id() -> None:
    go = decide(answering("7"), ASKING)
    assert isinstance(go, Go)
    assert go.given == Command(resume={"q": "7"})
    assert go.started.history == SeedOutcome(seeded=0, skipped=1, reason="pending_interrupt")


def test_an_answer_that_is_not_clear_asks_again_and_says_why() -> None:
    say = decide(Call("", "m", answer=Answer()), ASKING)
    assert isinstance(say, Say)
    assert isinstance(say.ending, Interrupt)
    assert say.ending.text == "That answer was not taken: it has neither text nor data.\nhow many?"


@pytest.mark.parametrize("state", [EMPTY, USED])
def test_an_answer_where_nothing_waits_is_an_error(state: ThreadState) -> None:
    with pytest.raises(AgentError, match="Nothing waits"):
        decide(answering("yes"), state)


def test_a_breakpoint_is_passed_on_yes_and_ended_on_no() -> None:
    go, say = decide(answering("yes"), STOPPED), decide(answering("no"), STOPPED)
    assert isinstance(go, Go)
    assert go.given is None
    assert isinstance(say, Say)
    assert isinstance(say.ending, Complete)
    assert say.drops_pause
