"""What every host does with an agent, each as a scenario: the columns of docs/clients.md.

A scenario says with AssertionError, or with the error that the client raised, what did not come about.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from threading import Timer
from typing import Any, Protocol

import httpx
import msgspec
from tests.e2e.clients.running import Refused, unique

FIRST_PIECE_S = 5.0
"""After this time the agent speaks on, though the client has not shown its first words: it does not stream."""


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """What a client gives its user for one turn: the text, and whether it says that the turn failed."""

    text: str
    failed: bool = False


Turn = tuple[str, str]
"""A turn of the host's history: `user` or `agent`, and the text."""


class Caller(Protocol):
    """A client that is connected to the served agent. It keeps what it needs of a conversation by that name."""

    def say(self, text: str, *, conversation: str, history: Sequence[Turn] = ()) -> Shown:
        """Take a turn and wait for its end. Raises: Refused, the client's own error."""
        ...

    def stream(self, text: str, *, conversation: str) -> Iterator[str]:
        """The text as it is shown by then, each time that it grows. Raises: Refused."""
        ...

    def cancel(self, text: str) -> str:
        """Begin a turn, cancel it by the client's own method, and give the task's id. Raises: Refused."""
        ...


Scenario = Callable[[Caller, str], None]


def answers(caller: Caller, url: str) -> None:
    shown = caller.say("hello there", conversation=unique("c"))
    assert (shown.text.strip(), shown.failed) == ("You said: hello there", False), shown


def streams(caller: Caller, url: str) -> None:
    """The first words are shown while the agent has not said the last ones; in the end all are there, once."""
    gate, conversation = unique("gate"), unique("c")
    shown = caller.stream(f"pause {gate}", conversation=conversation)
    late = Timer(FIRST_PIECE_S, _open, (url, gate))
    late.start()
    try:
        first = next((text for text in shown if "Before" in text), "")
        in_time = late.is_alive() and "after" not in first
    finally:
        late.cancel()
        _open(url, gate)
    *_, last = first, *shown
    assert in_time, f"nothing was shown until the end: {last!r}"
    assert last.strip() == "Before, and after.", last


def remembers(caller: Caller, url: str) -> None:
    conversation = unique("c")
    caller.say("my key is blue", conversation=conversation)
    shown = caller.say("find_key", conversation=conversation)
    assert "my key is blue" in shown.text, shown


def asks(caller: Caller, url: str) -> None:
    """A question is shown as its text alone, and the next turn answers it."""
    conversation = unique("c")
    asked = caller.say("ask colour", conversation=conversation)
    assert asked.text.strip() == "Which colour?", asked
    answered = caller.say("blue", conversation=conversation)
    assert answered.text.strip() == "You answered: blue", answered


def fails(caller: Caller, url: str) -> None:
    """A failure is the client's error, or our text; it is no answer, and not the user's own words."""
    _fails(caller, "break secretly")


def breaks_off(caller: Caller, url: str) -> None:
    """So is one in the middle of an answer, whose first half does not stand for the whole."""
    _fails(caller, "fail secretly")


def cancels(caller: Caller, url: str) -> None:
    task = caller.cancel(f"wait {unique('gate')}")
    assert _call(url, "GetTask", {"id": task})["status"]["state"] == "TASK_STATE_CANCELED"


def history(caller: Caller, url: str) -> None:
    """What the host sends along comes before the conversation's first turn."""
    told = [("user", "my key is green"), ("agent", "I have noted it.")]
    shown = caller.say("find_key", conversation=unique("c"), history=told)
    assert "my key is green" in shown.text, shown


SCENARIOS: Mapping[str, Scenario] = {
    scenario.__name__.replace("_", " "): scenario
    for scenario in (answers, streams, remembers, asks, fails, breaks_off, cancels, history)
}


def _open(url: str, gate: str) -> None:
    """Let the agent go on. A gate stays open."""
    message = {"messageId": unique("m"), "role": "ROLE_USER", "parts": [{"text": f"open {gate}"}]}
    _call(url, "SendMessage", {"message": message})


def _call(url: str, method: str, params: dict[str, Any]) -> dict[str, Any]:
    asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    answer = httpx.post(f"{url}/a2a", json=asked, headers={"A2A-Version": "1.0"}, timeout=20).json()
    result: dict[str, Any] = answer["result"]
    return result


def _fails(caller: Caller, text: str) -> None:
    try:
        shown = caller.say(text, conversation=unique("c"))
    except Refused as refused:
        assert "secretly" not in str(refused)  # noqa: PT017 -- either end is right, if the exception's text stays here
        return
    assert shown.failed or "The agent failed" in shown.text, shown
    assert "secretly" not in shown.text, shown
