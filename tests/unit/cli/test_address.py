import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamon_agent.cli.address import CARD_PATHS, Card, Interface, is_loopback, read_address, read_card, rpc_url
from llamon_agent.cli.exits import NotA2A, Usage

ONE = Card(name="One", supported_interfaces=(Interface("http://[::1]:9/deep/path", "JSONRPC", "1.0"),))


UNDER_A2A = ("/a2a/.well-known/agent-card.json", "/a2a/.well-known/agent.json", *CARD_PATHS)


@pytest.mark.parametrize(
    ("typed", "origin", "rpc_path", "card_paths"),
    [
        ("http://h:8000", "http://h:8000", None, CARD_PATHS),
        ("http://h:8000/", "http://h:8000", None, CARD_PATHS),
        ("https://h/a2a", "https://h", "/a2a", UNDER_A2A),
        ("https://h/a2a/?t=1", "https://h", "/a2a/?t=1", UNDER_A2A),
        ("http://[::1]:8000/a2a#x", "http://[::1]:8000", "/a2a", UNDER_A2A),
        ("http://h/.well-known/agent-card.json", "http://h", None, ("/.well-known/agent-card.json",)),
        ("http://h/x/.well-known/agent", "http://h", None, ("/x/.well-known/agent",)),
        ("http://h/agents/a.json?v=2", "http://h", None, ("/agents/a.json?v=2",)),
    ],
)
def test_a_url_is_an_origin_a_card_or_a_place_for_calls(
    typed: str, origin: str, rpc_path: str | None, card_paths: tuple[str, ...]
) -> None:
    address = read_address(typed)
    assert (address.origin, address.rpc_path, address.card_paths) == (origin, rpc_path, card_paths)


@pytest.mark.parametrize(
    "typed", ["", "127.0.0.1:8000", "ftp://h", "http://", "http://h:99999", "http://h:0", "http://[::", "http://u:p@h"]
)
def test_what_is_no_url_is_a_usage_error(typed: str) -> None:
    with pytest.raises(Usage):
        read_address(typed)


@given(st.one_of(st.text(), st.text().map("http://".__add__)))
def test_any_text_is_an_address_or_a_usage_error(typed: str) -> None:
    with contextlib.suppress(Usage):
        assert read_address(typed).card_paths


@pytest.mark.parametrize(
    ("typed", "called"),
    [
        ("http://h:1", "http://h:1/deep/path"),
        ("http://h:1/.well-known/agent-card.json", "http://h:1/deep/path"),
        ("http://h:1/a2a/other", "http://h:1/a2a/other"),
    ],
)
def test_calls_go_to_the_origin_that_was_typed(typed: str, called: str) -> None:
    assert rpc_url(read_address(typed), ONE) == called


@pytest.mark.parametrize("version", ["0.3", "0.3.0", "2.0", ""])
def test_only_version_1_is_spoken(version: str) -> None:
    card = Card(name="Old", supported_interfaces=(Interface("http://h/", "JSONRPC", version),))
    with pytest.raises(NotA2A, match="Old"):
        rpc_url(read_address("http://h"), card)


def test_a_path_that_was_typed_needs_no_card() -> None:
    assert rpc_url(read_address("http://h/a2a"), None) == "http://h/a2a"


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"name": 3}', b"\xff", b"[" * 100_000])
def test_what_is_no_card_is_told_by_its_url(body: bytes) -> None:
    with pytest.raises(NotA2A) as caught:
        read_card(body, "http://h/card")
    assert "http://h/card" in caught.value.public


@pytest.mark.parametrize(
    ("host", "is_it"),
    [("localhost", True), ("127.0.0.1", True), ("127.1.2.3", True), ("[::1]", True), ("0.0.0.0", False), ("h", False)],
)
def test_loopback_is_told_by_the_name(host: str, is_it: bool) -> None:
    assert is_loopback(host) is is_it
