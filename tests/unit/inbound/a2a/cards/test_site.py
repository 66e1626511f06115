import json

import pytest
from tests.card_keys import key_of

from llamon_agent.domain.profile import ExtendedFields, Profile, Skill
from llamon_agent.inbound.a2a.cards.card import Flavour
from llamon_agent.inbound.a2a.cards.site import Cards, CardSite, GrpcPort, interfaces
from llamon_agent.wire.cards.signing import Signer

PROFILE = Profile(
    name="Demo",
    description="Answers.",
    version="1",
    extended_fields=ExtendedFields(description="For you.", skills=(Skill(id="x", name="X", description="More."),)),
)
BASE = "https://a.example"
SITE = CardSite(profile=PROFILE, path="/a2a", started_s=0.0)
SIGNED = CardSite(profile=PROFILE, path="/a2a", started_s=0.0, signer=Signer([key_of()]))


@pytest.mark.parametrize("flavour", ["hybrid", "1.0", "0.3"])
def test_a_card_is_signed_once_so_that_its_etag_stays(flavour: Flavour) -> None:
    """ES256 makes another signature each time."""
    cards = Cards(SIGNED)
    first = cards.card(BASE, flavour)
    assert json.loads(first.body)["signatures"]
    assert cards.card(BASE, flavour) is first
    assert Cards(SIGNED).card(BASE, flavour).etag != first.etag


def test_an_edge_without_keys_signs_nothing() -> None:
    assert b"signatures" not in Cards(SITE).card(BASE, "hybrid").body


def test_each_address_has_a_card_of_its_own() -> None:
    cards = Cards(SITE)
    urls = [json.loads(cards.card(base, "0.3").body)["url"] for base in (BASE, "http://b.example", BASE)]
    assert urls == [f"{BASE}/a2a", "http://b.example/a2a", f"{BASE}/a2a"]


def test_authenticated_callers_get_more_in_their_versions_shape() -> None:
    cards = Cards(SIGNED)
    public, new, old = (
        json.loads(body)
        for body in (
            cards.card(BASE, "1.0").body,
            cards.extended_card(BASE, "1.0"),
            cards.extended_card(BASE, "0.3"),
        )
    )
    assert public["description"] == "Answers."
    assert new["description"] == old["description"] == "For you."
    assert [skill["id"] for skill in new["skills"]] == ["x"]
    assert "supportedInterfaces" in new
    assert "supportedInterfaces" not in old
    assert new["signatures"]
    assert old["signatures"]


@pytest.mark.parametrize(
    ("base_url", "port", "told"),
    [
        ("https://a.example:8443/prefix", GrpcPort(port=50051), "a.example:50051"),
        ("http://[::1]:8000", GrpcPort(port=50051), "[::1]:50051"),
        (BASE, GrpcPort(port=443, scheme="https", tenant="demo"), "a.example:443"),
    ],
)
def test_grpc_is_on_another_port_of_the_host_that_the_caller_knows(base_url: str, port: GrpcPort, told: str) -> None:
    site = CardSite(profile=PROFILE, path="/a2a/demo", started_s=0.0, grpc=port)
    found = interfaces(site, base_url)
    assert (found.url, found.grpc) == (f"{base_url}/a2a/demo", told)
    assert (found.grpc_scheme, found.grpc_tenant) == (port.scheme, port.tenant)
    assert interfaces(SITE, base_url).grpc is None
