"""An agent that never ends what it says is left by every command, and what it said fills no memory."""

import gzip
import json
import tracemalloc
from collections.abc import Iterator

import pytest
from starlette.responses import Response
from tests.endless import ENDLESS, endless
from tests.unit.cli.conftest import CARD, Agent, message, result

from llamon_agent.cli.exits import Exit
from llamon_agent.cli.main import main
from llamon_agent.client import rpc

Capture = pytest.CaptureFixture[str]

LIMIT_BYTES = 1 << 20
SOCKET_BYTES = 8 << 20
"""What the kernel's two buffers may hold beside it."""


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(rpc, "MAX_REPLY_BYTES", LIMIT_BYTES)
    tracemalloc.start()
    yield
    tracemalloc.stop()


def assert_left(capsys: Capture, said: str, *command: str, card: bool = False) -> None:
    with endless(said, card=card) as server:
        code = main([word.replace("ORIGIN", server.origin) for word in command])
        assert server.left.wait(5)
    told = capsys.readouterr().err
    assert (code, "sends more than 1 MiB at once" in told) == (Exit.PROTOCOL, True) or said == "a header", told
    assert "Traceback" not in told
    assert server.taken_bytes < LIMIT_BYTES + SOCKET_BYTES
    assert tracemalloc.get_traced_memory()[1] < 12 * LIMIT_BYTES


@pytest.mark.parametrize("said", ENDLESS)
def test_a_call_that_is_answered_without_end_is_left(traced: None, capsys: Capture, said: str) -> None:
    assert_left(capsys, said, "send", "ORIGIN", "hello")


@pytest.mark.parametrize("said", ["a body", "a packed body", "a header"])
@pytest.mark.parametrize("command", [("send", "ORIGIN", "hello"), ("card", "ORIGIN"), ("get", "ORIGIN", "t1")])
def test_a_card_without_end_is_left(traced: None, capsys: Capture, said: str, command: tuple[str, ...]) -> None:
    assert_left(capsys, said, *command, card=True)


def test_an_answer_that_is_packed_otherwise_than_we_accept_is_told(agent: Agent, capsys: Capture) -> None:
    agent.says(Response(b"packed", headers={"Content-Encoding": "br"}, media_type="application/json"))
    assert main(["send", agent.origin, "hi"]) == Exit.PROTOCOL
    assert "is packed in a way that was not asked for" in capsys.readouterr().err
    assert agent.calls[0].headers["accept-encoding"] == "gzip"


def test_what_is_packed_as_we_accept_is_read(agent: Agent, capsys: Capture) -> None:
    packed = {"Content-Encoding": "gzip"}
    card = gzip.compress(json.dumps(CARD).encode())
    agent.cards = {"/.well-known/agent-card.json": Response(card, headers=packed, media_type="application/json")}
    reply = gzip.compress(bytes(result({"message": message("hi there")}).body))
    agent.says(Response(reply, headers=packed, media_type="application/json"))
    assert main(["send", agent.origin, "hi"]) == Exit.OK
    assert "hi there" in capsys.readouterr().out
