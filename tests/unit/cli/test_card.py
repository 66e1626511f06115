import json

import pytest
from starlette.responses import Response
from tests.unit.cli.conftest import CARD, Agent

from llamon_agent.cli.card import card_lines
from llamon_agent.cli.exits import Exit
from llamon_agent.cli.main import main
from llamon_agent.client.card import Card, CardSkill

Capture = pytest.CaptureFixture[str]


def test_a_card_is_shown_for_people(agent: Agent, capsys: Capture) -> None:
    assert main(["card", agent.origin]) == Exit.OK
    assert capsys.readouterr().out.splitlines() == [
        "Canned 2.1.0",
        "  Says what it was told to say.",
        "Skills",
        "  Can: Opens cans.",
        "Interfaces",
        "  JSONRPC 1.0  https://elsewhere.example/a2a",
        "Streaming  yes",
        "Sign-in    none",
    ]


def test_json_is_the_card_as_it_is_served(agent: Agent, capsys: Capture) -> None:
    served = {**CARD, "unknown": {"to": ["us", 1.50]}}
    agent.cards = {"/.well-known/agent-card.json": served}
    assert main(["card", agent.origin, "--json"]) == Exit.OK
    printed = capsys.readouterr().out
    assert json.loads(printed) == served
    assert printed.count("\n") == 1


def test_an_old_card_is_found_at_the_old_path(agent: Agent, capsys: Capture) -> None:
    agent.cards = {"/.well-known/agent.json": {"name": "Old", "url": "http://old.example/", "protocolVersion": "0.2.5"}}
    assert main(["card", f"{agent.origin}/a2a"]) == Exit.OK
    assert "  JSONRPC 0.2.5  http://old.example/" in capsys.readouterr().out


def test_the_cards_own_url_is_taken_as_it_is(agent: Agent) -> None:
    agent.cards = {"/agents/one.json": CARD}
    assert main(["card", f"{agent.origin}/agents/one.json"]) == Exit.OK
    assert [call.path for call in agent.fetched] == ["/agents/one.json"]


def test_no_card_at_either_path_names_both(agent: Agent, capsys: Capture) -> None:
    agent.cards = {}
    assert main(["card", agent.origin]) == Exit.PROTOCOL
    err = capsys.readouterr().err
    assert "agent-card.json" in err
    assert "agent.json" in err


@pytest.mark.parametrize("path", ["/v1/card", "/cards/one"])
def test_a_url_that_answers_with_a_card_is_the_card(agent: Agent, capsys: Capture, path: str) -> None:
    agent.cards = {path: CARD}
    assert main(["card", agent.origin + path]) == Exit.OK
    assert CARD["name"] in capsys.readouterr().out


def test_a_web_page_is_no_card(agent: Agent, capsys: Capture) -> None:
    agent.cards = {"/.well-known/agent-card.json": Response("<html>", media_type="text/html")}
    assert main(["card", agent.origin]) == Exit.PROTOCOL
    assert "is there an A2A agent?" in capsys.readouterr().err


def test_json_that_is_no_card_is_told(agent: Agent, capsys: Capture) -> None:
    agent.cards = {"/.well-known/agent-card.json": {"hello": "world"}}
    assert main(["card", agent.origin]) == Exit.PROTOCOL
    assert "is not an agent card" in capsys.readouterr().err


def test_a_card_of_little_is_shown_in_few_lines() -> None:
    assert card_lines(Card(name="Tiny")) == ["Tiny", "Streaming  no", "Sign-in    none"]
    assert "  a: b" in card_lines(Card(name="Tiny", skills=(CardSkill("a", "b"),)))
