"""What a caller's message and a host's history become for an agent that keeps its memory itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage

from llamon_agent.adapters.prompts import SeenContexts, decide_seed, plain_prefill, text_prompt
from llamon_agent.domain.errors import AgentError
from llamon_agent.domain.events import SeedOutcome
from llamon_agent.domain.message import Data, Message, Part, Raw, Role, Text, Url
from llamon_agent.inbound.a2a.history.converter import prefill_to_lc
from llamon_agent.runs.ports.agent import Turn


def a_message_of(*parts: Part, prompt: str = "") -> Turn:
    message = Message(message_id="m", role=Role.USER, parts=parts)
    return Turn(task_id="t", context_id="c", thread_id="c", session_id="c", message=message, prompt=prompt)


def test_data_follows_the_text_a_line_each() -> None:
    parts = (Data(data={"x": 1}), Text.of("look"), Data(data=None))
    assert text_prompt(a_message_of(*parts, prompt="look")) == 'look\n{"x":1}\nnull'


def test_data_alone_is_a_prompt() -> None:
    assert text_prompt(a_message_of(Data(data=[1]))) == "[1]"


@pytest.mark.parametrize("file", [Raw(data=b"x"), Url(url="https://example.com/x")])
def test_a_file_does_not_vanish(file: Part) -> None:
    with pytest.raises(AgentError, match="no files"):
        text_prompt(a_message_of(Text.of("look"), file, prompt="look"))


TURNS = [
    Message(message_id="1", role=Role.USER, parts=(Text.of("one "), Text.of("and two"))),
    Message(message_id="2", role=Role.AGENT, parts=(Text.of("three"),)),
]


def test_turns_become_human_and_ai_messages_in_order() -> None:
    assert plain_prefill(TURNS) == [HumanMessage("one and two"), AIMessage("three")]


def test_but_for_ids_it_is_what_an_edge_hands_in() -> None:
    handed_in = [message.model_copy(update={"id": None}) for message in prefill_to_lc(TURNS)]
    assert plain_prefill(TURNS) == handed_in


EARLIER = Message(message_id="h", role=Role.USER, parts=(Text.of("before"),))


def a_turn(*, received: int, usable: int, answers: bool = False) -> Turn:
    return Turn(
        task_id="t",
        context_id="c",
        thread_id="c",
        session_id="c",
        message=EARLIER,
        prompt="now",
        prefill=(EARLIER,) * usable,
        history_received=received,
        answers=answers,
    )


@pytest.mark.parametrize(
    ("turn", "first", "supported", "seeded", "reason"),
    [
        (a_turn(received=3, usable=2), True, True, 2, "cold_start"),
        (a_turn(received=3, usable=2), False, True, 0, "thread_not_empty"),
        (a_turn(received=3, usable=0), True, True, 0, "no_usable_turns"),
        (a_turn(received=3, usable=2, answers=True), True, True, 0, "pending_interrupt"),
        (a_turn(received=3, usable=2, answers=True), False, True, 0, "pending_interrupt"),
        (a_turn(received=3, usable=2), True, False, 0, "not_supported"),
        (a_turn(received=3, usable=2), False, False, 0, "not_supported"),
    ],
)
def test_history_is_seeded_or_there_is_a_reason(
    turn: Turn, first: bool, supported: bool, seeded: int, reason: str
) -> None:
    outcome = decide_seed(turn, first=first, supported=supported)
    assert outcome == SeedOutcome(seeded=seeded, skipped=3 - seeded, reason=reason)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("supported", [True, False])
def test_without_history_there_is_no_outcome(first: bool, supported: bool) -> None:
    assert decide_seed(a_turn(received=0, usable=0), first=first, supported=supported) is None


def test_a_thread_is_new_once() -> None:
    seen = SeenContexts()
    assert [seen.take(thread) for thread in ("a", "b", "a", "b")] == [True, True, False, False]


def test_the_longest_silent_thread_is_forgotten_first() -> None:
    seen = SeenContexts(limit=2)
    for thread in ("a", "b", "a", "c"):
        seen.take(thread)
    assert not seen.take("a")
    assert seen.take("b")


@given(st.lists(st.integers(0, 6).map(str)), st.integers(1, 4))
def test_no_more_threads_are_remembered_than_allowed(threads: list[str], limit: int) -> None:
    seen = SeenContexts(limit)
    for place, thread in enumerate(threads):
        recent = list(dict.fromkeys(reversed(threads[:place])))[:limit]
        assert seen.take(thread) == (thread not in recent)


def test_a_forgotten_thread_is_new_again() -> None:
    seen = SeenContexts()
    assert seen.take("a")
    seen.forget("a")
    seen.forget("b")
    assert seen.take("a")
