"""From a card to one interface."""

from typing import Any

import msgspec
import pytest

from llamon_agent.client.agent_url import AgentUrl
from llamon_agent.client.card import Card, Interface, decide_interface, read_card
from llamon_agent.client.errors import NotA2A

ONE = Card(name="One", supported_interfaces=(Interface("http://[::1]:9/deep/path", "JSONRPC", "1.0"),))


def card(*ways: tuple[str, str], **more: Any) -> Card:
    interfaces = [
        {"url": f"https://else.example/{binding}{version}", "protocolBinding": binding, "protocolVersion": version}
        for binding, version in ways
    ]
    return read_card(msgspec.json.encode({"name": "One", "supportedInterfaces": interfaces, **more}), "http://a")


@pytest.mark.parametrize(
    ("interfaces", "path"),
    [
        ([("JSONRPC", "0.3"), ("JSONRPC", "1.0")], "/JSONRPC1.0"),
        ([("HTTP+JSON", "1.0"), ("JSONRPC", "0.3.0")], "/JSONRPC0.3.0"),
        ([("GRPC", "1.0"), ("HTTP+JSON", "1.0")], "/HTTP+JSON1.0"),
        ([("JSONRPC", "2.0"), ("HTTP+JSON", "0.3")], "/HTTP+JSON0.3"),
    ],
)
def test_the_best_interface_is_called_at_the_origin_that_was_named(
    interfaces: list[tuple[str, str]], path: str
) -> None:
    assert decide_interface(card(*interfaces), AgentUrl("http://a.example")).url == f"http://a.example{path}"


@pytest.mark.parametrize("interfaces", [[("GRPC", "1.0")], [("JSONRPC", "2.0")], []])
def test_a_card_without_an_interface_for_us_is_told_by_its_name(interfaces: list[tuple[str, str]]) -> None:
    with pytest.raises(NotA2A) as raised:
        decide_interface(card(*interfaces), AgentUrl("http://a.example"))
    assert "One at http://a.example" in raised.value.detail


@pytest.mark.parametrize(("version", "spoken"), [("0.3.0", "0.3"), ("0.2.6", "0.3"), ("1.0", "1.0"), ("", "1.0")])
def test_a_version_is_spoken_by_its_major_number(version: str, spoken: str) -> None:
    assert Interface("http://a", "JSONRPC", version).version == spoken


@pytest.mark.parametrize(
    ("typed", "called"),
    [
        ("http://h:1", "http://h:1/deep/path"),
        ("http://h:1/.well-known/agent-card.json", "http://h:1/deep/path"),
        ("http://h:1/a2a/other", "http://h:1/a2a/other"),
    ],
)
def test_calls_go_to_the_origin_that_was_typed(typed: str, called: str) -> None:
    assert decide_interface(ONE, AgentUrl(typed, takes_calls=True)).url == called


@pytest.mark.parametrize(
    ("written", "called"),
    [
        ("a2a", "http://h/a2a"),
        ("?x=1", "http://h/?x=1"),
        (".evil.example/a2a", "http://h/.evil.example/a2a"),
        ("@evil.example/a2a", "http://h/@evil.example/a2a"),
        (":1@evil.example", "http://h/:1@evil.example"),
        ("//evil.example/a2a", "http://h/a2a"),
        ("mailto:@evil.example", "http://h/@evil.example"),
    ],
)
def test_a_cards_url_without_an_origin_never_changes_the_origin(written: str, called: str) -> None:
    found = Card(name="One", supported_interfaces=(Interface(written, "JSONRPC", "1.0"),))
    assert decide_interface(found, AgentUrl("http://h")).url == called


def test_a_path_that_was_typed_is_spoken_to_as_the_card_describes_it() -> None:
    both = card(("JSONRPC", "1.0"), ("JSONRPC", "0.3"), ("HTTP+JSON", "1.0"))
    at = {
        path: decide_interface(both, AgentUrl(f"http://a{path}", takes_calls=True))
        for path in ("/JSONRPC0.3/", "/HTTP+JSON1.0", "/other")
    }
    assert [(way.protocol_binding, way.version) for way in at.values()] == [
        ("JSONRPC", "0.3"),
        ("HTTP+JSON", "1.0"),
        ("JSONRPC", "1.0"),
    ]
    assert [way.url for way in at.values()] == [f"http://a{path}" for path in at]


@pytest.mark.parametrize("found", [None, card(), card(("GRPC", "1.0"))])
def test_a_path_that_was_typed_needs_no_card(found: Card | None) -> None:
    way = decide_interface(found, AgentUrl("http://h/a2a", takes_calls=True))
    assert (way.url, way.protocol_binding, way.version) == ("http://h/a2a", "JSONRPC", "1.0")


def test_a_url_that_answers_with_the_card_is_no_path_of_calls() -> None:
    url = AgentUrl("http://a/cards/one", takes_calls=True)
    assert decide_interface(card(("JSONRPC", "1.0")), url, found_at="/cards/one").url == "http://a/JSONRPC1.0"


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"capabilities": ["streaming"]}, "capabilities is not valid"),
        ({"name": None}, "name is not valid"),
        ({"skills": [{"name": 7}]}, "skills[0].name is not valid"),
        ({"supportedInterfaces": [{"protocolVersion": "1.0"}]}, "supportedInterfaces[0].url is required"),
    ],
)
def test_a_field_of_a_card_that_cannot_be_read_is_named(wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(NotA2A) as raised:
        read_card(msgspec.json.encode({"name": "One", **wrong}), "http://a")
    assert named in raised.value.detail


def test_a_card_may_leave_empty_what_is_not_needed() -> None:
    bare = {"name": "One", "description": None, "skills": None, "capabilities": None, "version": None}
    assert not read_card(msgspec.json.encode(bare), "http://a").streams


def test_without_a_card_an_origin_is_not_enough() -> None:
    with pytest.raises(NotA2A) as raised:
        decide_interface(None, AgentUrl("http://h", takes_calls=True))
    assert "give the URL that takes the agent's calls" in raised.value.detail


def test_an_old_card_has_interfaces_too() -> None:
    old = {
        "name": "Old",
        "url": "https://else.example/rest",
        "preferredTransport": "HTTP+JSON",
        "protocolVersion": "0.3.0",
        "additionalInterfaces": [
            {"url": "https://else.example/rpc", "transport": "JSONRPC"},
            {"url": "https://else.example/rest", "transport": "HTTP+JSON"},
        ],
        "description": None,
        "skills": None,
    }
    read = read_card(msgspec.json.encode(old), "http://a")
    assert [(way.protocol_binding, way.version) for way in read.interfaces] == [
        ("HTTP+JSON", "0.3"),
        ("JSONRPC", "0.3"),
    ]
    assert decide_interface(read, AgentUrl("http://a")).url == "http://a/rpc"


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"name": 3}', b"\xff", b"[" * 100_000])
def test_what_is_no_card_is_told_by_its_url(body: bytes) -> None:
    with pytest.raises(NotA2A) as caught:
        read_card(body, "http://h/card")
    assert "http://h/card" in caught.value.detail
    assert "http://h" not in caught.value.public
