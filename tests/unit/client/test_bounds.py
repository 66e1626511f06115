"""A remote agent that never ends what it says is left, and what it said fills no memory."""

import asyncio
import gzip
import json
import tracemalloc
from collections.abc import Iterator

import pytest
from starlette.responses import Response
from tests.endless import ENDLESS, endless
from tests.unit.cli.conftest import CARD, Agent, message, result, stream, task

from llamon_agent.client.errors import NotA2A, RemoteError, TooMuch
from llamon_agent.client.remote_agent import RemoteAgent

LIMIT_BYTES = 1 << 20
SOCKET_BYTES = 8 << 20
"""What the kernel's two buffers may hold beside it."""


@pytest.fixture
def traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


def remote(origin: str) -> RemoteAgent:
    return RemoteAgent(origin, timeout_s=20, max_reply_bytes=LIMIT_BYTES)


@pytest.mark.parametrize("said", ENDLESS)
@pytest.mark.parametrize("status", ["200 OK", "500 Oh"])
@pytest.mark.parametrize("card", [False, True])
async def test_what_never_ends_is_left(traced: None, said: str, status: str, card: bool) -> None:
    with endless(said, status=status, card=card) as server:
        async with asyncio.timeout(30):
            with pytest.raises(RemoteError) as raised:
                await remote(server.origin).ask("hello")
        assert await asyncio.to_thread(server.left.wait, 5)
        # What is no success, and a card that is no JSON, is left without reading it.
        is_unread = status.startswith("500") or (card and said not in ("a body", "a packed body"))
        assert isinstance(raised.value, TooMuch) or said == "a header" or is_unread
        assert server.taken_bytes < LIMIT_BYTES + SOCKET_BYTES
        assert tracemalloc.get_traced_memory()[1] < 12 * LIMIT_BYTES


async def test_a_stream_may_be_longer_than_any_of_its_events(agent: Agent) -> None:
    events = [task("WORKING"), *[piece_of(400_000) for _ in range(5)], task("COMPLETED", "done")]
    agent.says(stream(*events))
    assert (await remote(agent.origin).ask("hello")).text == "done"


def piece_of(size: int) -> dict[str, object]:
    return {
        "statusUpdate": {
            "taskId": "t1",
            "contextId": "c1",
            "status": {"state": "TASK_STATE_WORKING", "message": message("x" * size)},
        }
    }


async def test_an_answer_that_is_packed_otherwise_than_we_accept_is_told(agent: Agent) -> None:
    agent.says(Response(b"packed", headers={"Content-Encoding": "br"}, media_type="application/json"))
    with pytest.raises(NotA2A, match="packed"):
        await remote(agent.origin).ask("hello")
    assert agent.calls[0].headers["accept-encoding"] == "gzip"


async def test_a_card_that_is_packed_as_we_accept_is_read(agent: Agent) -> None:
    packed = Response(
        gzip.compress(json.dumps(CARD).encode()), headers={"Content-Encoding": "gzip"}, media_type="application/json"
    )
    agent.cards = {"/.well-known/agent-card.json": packed}
    agent.says(result({"message": message("hi")}))
    assert (await remote(agent.origin).ask("hello")).text == "hi"
