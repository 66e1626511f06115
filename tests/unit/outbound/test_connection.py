"""Cards as they are found, and what failures mean."""

import json
from typing import Any

import httpx
import pytest
from a2a.types import a2a_pb2 as pb
from starlette.responses import Response
from tests.unit.cli.conftest import CARD, Agent

from llamon_agent.outbound.address import Address
from llamon_agent.outbound.connection import fetch_card, open_http, remote_errors
from llamon_agent.outbound.errors import NobodyThere, NotA2A, NotAllowed, RemoteError, TimedOut, Unreached

OLD_CARD: dict[str, Any] = {
    "name": "Old",
    "url": "https://elsewhere.example/old",
    "protocolVersion": "0.3.0",
    "preferredTransport": "JSONRPC",
}


async def card_of(agent: Agent) -> pb.AgentCard:
    address = Address(agent.origin)
    async with open_http(address, "secret", timeout_s=5) as http:
        return await fetch_card(http, address)


async def test_the_cards_interface_is_taken_to_the_origin_that_was_named(agent: Agent) -> None:
    [interface] = (await card_of(agent)).supported_interfaces
    assert interface.url == f"{agent.origin}/a2a"
    assert agent.fetched[0].headers["authorization"] == "Bearer secret"


async def test_an_agent_of_old_is_found_by_its_old_card(agent: Agent) -> None:
    agent.cards = {"/.well-known/agent.json": OLD_CARD}
    [interface] = (await card_of(agent)).supported_interfaces
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
        (httpx.ConnectError("refused"), NobodyThere),
        (httpx.ConnectTimeout("slow"), NobodyThere),
        (httpx.ReadError("lost"), Unreached),
        (RecursionError(), NotA2A),
        (httpx.ReadTimeout("slow"), TimedOut),
        (TimeoutError(), TimedOut),
        (json.JSONDecodeError("bad", "", 0), NotA2A),
        (KeyError("result"), NotA2A),
    ],
)
def test_an_accident_is_translated_with_its_cause(raised: Exception, error: type[RemoteError]) -> None:
    with pytest.raises(error) as caught, remote_errors():
        raise raised
    assert type(caught.value) is error
    assert caught.value.__cause__ is raised
