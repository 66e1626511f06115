"""History goes to an agent once per context."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamon_agent.adapters.prompts import SeenContexts, decide_seed
from llamon_agent.domain.events import SeedOutcome
from llamon_agent.domain.message import Message, Role, Text
from llamon_agent.runs.ports.agent import Turn

TOLD = Message(message_id="h", role=Role.USER, parts=(Text.of("before"),))


def a_turn(*, received: int, usable: int, answers: bool = False) -> Turn:
    return Turn(
        task_id="t",
        context_id="c",
        thread_id="c",
        session_id="c",
        message=TOLD,
        prompt="now",
        prefill=(TOLD,) * usable,
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
def test_history_is_seeded_or_the_reason_is_told(
    turn: Turn, first: bool, supported: bool, seeded: int, reason: str
) -> None:
    outcome = decide_seed(turn, first=first, supported=supported)
    assert outcome == SeedOutcome(seeded=seeded, skipped=3 - seeded, reason=reason)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("supported", [True, False])
def test_without_history_there_is_nothing_to_tell(first: bool, supported: bool) -> None:
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
