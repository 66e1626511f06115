"""Cards as they are found, and what failures mean."""

from typing import Any

import httpx2
import pytest
from starlette.responses import Response
from tests.unit.cli.conftest import CARD, Agent, result, task

from llamon_agent.client.agent_url import AgentUrl
from llamon_agent.client.card import Card, decide_interface
from llamon_agent.client.errors import NobodyThere, NotA2A, NotAllowed, RemoteError, TimedOut, Unreached
from llamon_agent.client.rpc import Connection, Http, connect, new_message, open_http, status_of
from llamon_agent.domain.errors import ConfigError
from llamon_agent.domain.message import Role, Text

OLD_CARD: dict[str, Any] = {
    "name": "Old",
    "url": "https://elsewhere.example/old",
    "protocolVersion": "0.3.0",
    "preferredTransport": "JSONRPC",
}


async def card_of(agent: Agent) -> Card:
    async with connect(AgentUrl(agent.origin), "secret") as connection:
        assert connection.card is not None
        return connection.card


def test_a_message_is_the_users_and_its_id_is_new() -> None:
    one, other = (new_message((Text.of("hi"),), context_id="c", task_id="t", metadata={"k": 1}) for _ in range(2))
    assert (one.role, one.parts, one.context_id, one.task_id) == (Role.USER, (Text.of("hi"),), "c", "t")
    assert one.metadata == {"k": 1}
    assert one.message_id != other.message_id


async def test_the_cards_interface_is_taken_to_the_origin_that_was_named(agent: Agent) -> None:
    interface = decide_interface(await card_of(agent), AgentUrl(agent.origin))
    assert interface.url == f"{agent.origin}/a2a"
    assert agent.fetched[0].headers["authorization"] == "Bearer secret"


async def test_an_agent_of_old_is_found_by_its_old_card(agent: Agent) -> None:
    agent.cards = {"/.well-known/agent.json": OLD_CARD}
    interface = decide_interface(await card_of(agent), AgentUrl(agent.origin))
    assert (interface.url, interface.protocol_version) == (f"{agent.origin}/old", "0.3.0")


@pytest.mark.parametrize(
    ("cards", "error"),
    [
        ({}, NotA2A),
        ({"/.well-known/agent-card.json": Response("<html>", media_type="text/html")}, NotA2A),
        ({"/.well-known/agent-card.json": Response("[]", media_type="application/json")}, NotA2A),
        ({"/.well-known/agent-card.json": {**CARD, "supportedInterfaces": []}}, NotA2A),
        (
            {
                "/.well-known/agent-card.json": {
                    **CARD,
                    "supportedInterfaces": [{"url": "http://[", "protocolBinding": "JSONRPC"}],
                }
            },
            NotA2A,
        ),
        ({"/.well-known/agent-card.json": Response("", 401)}, NotAllowed),
        ({"/.well-known/agent-card.json": Response("", 403)}, NotAllowed),
        ({"/.well-known/agent-card.json": Response("", 503)}, Unreached),
        ({"/.well-known/agent-card.json": Response("", 302, {"Location": "https://else.example"})}, NotA2A),
    ],
)
async def test_what_is_no_card_is_told_by_its_kind(
    agent: Agent, cards: dict[str, Any], error: type[RemoteError]
) -> None:
    agent.cards = cards
    with pytest.raises(error) as raised:
        await card_of(agent)
    assert raised.value.said == ""


@pytest.mark.parametrize(
    ("raised", "error"),
    [
        (httpx2.ConnectError("refused"), NobodyThere),
        (httpx2.ConnectTimeout("slow"), NobodyThere),
        (httpx2.ReadError("lost"), Unreached),
        (httpx2.ReadTimeout("slow"), TimedOut),
        (httpx2.InvalidURL("odd"), NotA2A),
    ],
)
async def test_an_accident_is_translated_with_its_cause(raised: Exception, error: type[RemoteError]) -> None:
    def fail(_: httpx2.Request) -> httpx2.Response:
        raise raised

    url = AgentUrl("http://127.0.0.1:1/a2a", takes_calls=True)
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(fail)) as client:
        with pytest.raises(error) as caught:
            await Connection(Http(client, 1024), decide_interface(None, url), None).get("t1")
    assert type(caught.value) is error
    assert caught.value.__cause__ is raised


async def test_an_http_status_is_told_with_the_error(agent: Agent) -> None:
    agent.says(Response("", 418))
    async with connect(AgentUrl(agent.origin), None) as connection:
        with pytest.raises(NotA2A) as raised:
            await connection.get("t1")
    assert status_of(raised.value) == 418
    assert status_of(NotA2A()) is None


@pytest.mark.parametrize("token", ["two\nlines", "안녕"])
async def test_a_token_that_no_header_can_carry_is_a_mistake_of_configuration(token: str) -> None:
    with pytest.raises(ConfigError):
        async with open_http(AgentUrl("http://127.0.0.1:1"), token):
            pass


async def test_what_was_read_is_kept_as_it_was_written(agent: Agent) -> None:
    agent.says(result(task("WORKING")["task"]))
    async with connect(AgentUrl(agent.origin), None) as connection:
        reply = await connection.get("t1")
    assert (reply.event.task_id, reply.event.context_id) == ("t1", "c1")
    assert b'"TASK_STATE_WORKING"' in reply.raw
