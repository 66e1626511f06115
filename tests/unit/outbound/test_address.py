"""From a URL to a card, and from a card to one interface."""

import pytest
from a2a.types import a2a_pb2 as pb

from llamon_agent.domain.errors import ConfigError
from llamon_agent.outbound.address import Address, decide_interface, dialect_of
from llamon_agent.outbound.history import Dialect


@pytest.mark.parametrize(
    ("url", "paths"),
    [
        ("http://a.example", ("/.well-known/agent-card.json", "/.well-known/agent.json")),
        ("http://a.example/a2a/x/", ("/a2a/x/.well-known/agent-card.json", "/a2a/x/.well-known/agent.json")),
        ("http://a.example/x/card.json", ("/x/card.json",)),
    ],
)
def test_a_card_is_looked_for_behind_the_url(url: str, paths: tuple[str, ...]) -> None:
    address = Address(url)
    assert (address.origin, address.card_paths) == ("http://a.example", paths)


@pytest.mark.parametrize(
    "url", ["", "a.example", "ftp://a.example", "http://", "http://u:p@a.example", "http://a:0", "http://a:x"]
)
def test_what_is_no_url_is_a_mistake_of_configuration(url: str) -> None:
    with pytest.raises(ConfigError):
        Address(url)


@pytest.mark.parametrize(
    ("url", "own"),
    [("http://localhost:1", True), ("http://127.0.0.1", True), ("http://[::1]", True), ("http://a.b", False)],
)
def test_this_machine_is_known_by_its_name(url: str, own: bool) -> None:
    assert Address(url).is_loopback is own


def card(*interfaces: tuple[str, str]) -> pb.AgentCard:
    return pb.AgentCard(
        supported_interfaces=[
            pb.AgentInterface(
                url=f"https://else.example/{binding}{version}", protocol_binding=binding, protocol_version=version
            )
            for binding, version in interfaces
        ]
    )


@pytest.mark.parametrize(
    ("interfaces", "path"),
    [
        ([("JSONRPC", "0.3"), ("JSONRPC", "1.0")], "/JSONRPC1.0"),
        ([("HTTP+JSON", "1.0"), ("JSONRPC", "0.3.0")], "/JSONRPC0.3.0"),
        ([("GRPC", "1.0"), ("HTTP+JSON", "1.0")], "/HTTP+JSON1.0"),
    ],
)
def test_the_best_interface_is_called_at_the_origin_that_was_named(
    interfaces: list[tuple[str, str]], path: str
) -> None:
    found = decide_interface(card(*interfaces), "http://a.example")
    assert found is not None
    assert found.url == f"http://a.example{path}"


def test_a_card_without_an_interface_for_us_has_none() -> None:
    assert decide_interface(card(("GRPC", "1.0")), "http://a.example") is None


@pytest.mark.parametrize(("version", "dialect"), [("0.3.0", "0.3"), ("1.0", "1.0"), ("1.0.1", "1.0"), ("", "1.0")])
def test_the_dialect_is_the_interfaces(version: str, dialect: str) -> None:
    assert dialect_of(pb.AgentInterface(protocol_version=version)) is Dialect(dialect)
