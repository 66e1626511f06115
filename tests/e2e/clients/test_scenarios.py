"""A scenario notices what a client shows wrongly; the clients that show it rightly are in test_hosts.py."""

from collections.abc import Iterator, Sequence

import pytest
from tests.e2e.clients.running import Refused
from tests.e2e.clients.scenarios import Scenario, Shown, Turn, answers, asks, breaks_off, fails, history, remembers

NOWHERE = "http://127.0.0.1:1"


class SaysThis:
    """A client that shows the same whatever is said, or raises it."""

    def __init__(self, shown: Shown | Refused) -> None:
        self._shown = shown

    def say(self, text: str, *, conversation: str, history: Sequence[Turn] = ()) -> Shown:
        if isinstance(self._shown, Refused):
            raise self._shown
        return self._shown

    def stream(self, text: str, *, conversation: str) -> Iterator[str]:
        raise NotImplementedError

    def cancel(self, text: str) -> str:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("scenario", "text"),
    [
        (answers, ""),
        (answers, "You said: hello thereYou said: hello there"),
        (answers, "You  said:  hello  there"),
        (remembers, "You said: find_key"),
        (asks, 'Which colour?\n{"questions": []}'),
        (asks, "Which colour?"),
        (fails, ""),
        (fails, "break secretly"),
        (breaks_off, "Half an "),
        (history, "find_key"),
    ],
)
def test_what_is_shown_wrongly_fails(scenario: Scenario, text: str) -> None:
    with pytest.raises(AssertionError):
        scenario(SaysThis(Shown(text=text)), NOWHERE)


def test_a_clients_error_is_no_answer_but_shows_a_failure() -> None:
    refused = SaysThis(Refused("TaskFailed: The agent failed."))
    fails(refused, NOWHERE)
    with pytest.raises(Refused):
        answers(refused, NOWHERE)


def test_a_client_that_shows_the_agents_exception_fails() -> None:
    with pytest.raises(AssertionError):
        fails(SaysThis(Refused("RuntimeError: secretly")), NOWHERE)
