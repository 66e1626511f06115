"""From a URL to where a card is looked for."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamon_agent.client.agent_url import CARD_PATHS, AgentUrl, is_loopback
from llamon_agent.domain.errors import ConfigError

UNDER_A2A = ("/a2a/.well-known/agent-card.json", "/a2a/.well-known/agent.json")


@pytest.mark.parametrize(
    ("url", "paths"),
    [
        ("http://a.example", CARD_PATHS),
        ("http://a.example/a2a/", UNDER_A2A),
        ("http://a.example/x/card.json", ("/x/card.json",)),
    ],
)
def test_a_card_is_looked_for_below_the_url(url: str, paths: tuple[str, ...]) -> None:
    found = AgentUrl(url)
    assert (found.origin, found.card_paths, found.call_path) == ("http://a.example", paths, None)


@pytest.mark.parametrize(
    ("typed", "origin", "call_path", "card_paths"),
    [
        ("http://h:8000", "http://h:8000", None, CARD_PATHS),
        ("http://h:8000/", "http://h:8000", None, CARD_PATHS),
        ("https://h/a2a", "https://h", "/a2a", UNDER_A2A + CARD_PATHS),
        ("https://h/a2a/?t=1", "https://h", "/a2a/?t=1", tuple(path + "?t=1" for path in UNDER_A2A + CARD_PATHS)),
        ("http://[::1]:8000/a2a#x", "http://[::1]:8000", "/a2a", UNDER_A2A + CARD_PATHS),
        ("http://h/.well-known/agent-card.json", "http://h", None, ("/.well-known/agent-card.json",)),
        ("http://h/x/.well-known/agent", "http://h", None, ("/x/.well-known/agent",)),
        ("http://h/agents/a.json?v=2", "http://h", None, ("/agents/a.json?v=2",)),
        ("http://h/?assistant_id=x", "http://h", None, tuple(path + "?assistant_id=x" for path in CARD_PATHS)),
        ("http://h/agent/v1/card", "http://h", None, ("/agent/v1/card",)),
        ("http://h/a2a/extendedAgentCard", "http://h", None, ("/a2a/extendedAgentCard",)),
    ],
)
def test_a_url_may_be_an_origin_a_card_or_a_place_for_calls(
    typed: str, origin: str, call_path: str | None, card_paths: tuple[str, ...]
) -> None:
    url = AgentUrl(typed, takes_calls=True)
    assert (url.origin, url.call_path, url.card_paths) == (origin, call_path, card_paths)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "a.example:1",
        "ftp://a",
        "http://",
        "http://u:p@a",
        "http://a:0",
        "http://a:x",
        "http://a:99999",
        "http://[::",
    ],
)
def test_what_is_no_url_is_a_mistake_of_configuration(url: str) -> None:
    with pytest.raises(ConfigError):
        AgentUrl(url)


@given(st.one_of(st.text(), st.text().map("http://".__add__)))
def test_any_text_is_a_url_or_a_mistake_of_configuration(text: str) -> None:
    with contextlib.suppress(ConfigError):
        assert AgentUrl(text, takes_calls=True).card_paths


@pytest.mark.parametrize(
    ("host", "is_it"),
    [("localhost", True), ("127.0.0.1", True), ("127.1.2.3", True), ("[::1]", True), ("0.0.0.0", False), ("h", False)],
)
def test_this_machine_is_known_by_its_name(host: str, is_it: bool) -> None:
    assert is_loopback(host) is is_it
    assert AgentUrl(f"http://{host}:1").is_loopback is is_it
