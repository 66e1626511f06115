import json
from copy import deepcopy
from typing import Any

import jwt
import pytest
from a2a.client.card_resolver import parse_agent_card
from a2a.types import a2a_pb2 as pb
from a2a.utils.signing import (
    InvalidSignaturesError,
    ProtectedHeader,
    create_agent_card_signer,
    create_signature_verifier,
)
from google.protobuf.json_format import MessageToDict, ParseDict
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.card_keys import key_of, pem, private
from tests.unit.wire.cards.test_canonical import profiles

from llamon_agent.domain.profile import Profile
from llamon_agent.inbound.a2a.cards.card import Flavour, Interfaces, card_of
from llamon_agent.wire.cards.canonical import Json
from llamon_agent.wire.cards.signing import Signer
from llamon_agent.wire.cards.verification import Finding, Signature, SignatureCheck, read_signatures, verify

BASE = "https://a.example"
HERE = Interfaces(url=f"{BASE}/a2a", grpc="a.example:50051")
LOCKED = Profile(name="데모", description="Answers.", version="1", bearer=True)
KEY = key_of()
KEYS = [KEY.public]
FLAVOURS: list[Flavour] = ["hybrid", "1.0", "0.3"]


def served(profile: Profile, flavour: Flavour) -> Json:
    """A signed card as its reader has it."""
    card: Json = json.loads(json.dumps(Signer([KEY]).sign(card_of(profile, HERE, flavour), BASE)))
    return card


def findings(card: Json, keys: list[Json] | None = None) -> list[Finding]:
    return [verify(card, one, KEYS if keys is None else keys).finding for one in read_signatures(card)]


def official(card: pb.AgentCard, key: jwt.PyJWK | None = None) -> None:
    """What the official SDK makes of a card's signatures. Raises: its own errors."""
    create_signature_verifier(lambda kid, jku: key or jwt.PyJWK(KEY.public), ["ES256"])(card)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_what_we_sign_holds_for_us(flavour: Flavour) -> None:
    card = served(LOCKED, flavour)
    assert set(findings(card)) == {Finding.HOLDS}


@pytest.mark.parametrize("levels", [100, 400, 900])
def test_a_card_that_nests_too_deep_does_not_hold(levels: int) -> None:
    deep: Json = {}
    for _ in range(levels):
        deep = {"a": deep}
    assert set(findings(served(LOCKED, "hybrid") | {"deep": [deep]})) <= {Finding.BROKEN, Finding.HOLDS}


@pytest.mark.parametrize("flavour", ["hybrid", "1.0"])
@pytest.mark.requirement("1.0/8.4.1-canonical")
def test_what_we_sign_holds_for_the_official_sdk(flavour: Flavour) -> None:
    official(parse_agent_card(served(LOCKED, flavour)))


@pytest.mark.parametrize("flavour", ["hybrid", "1.0"])
def test_the_official_sdk_sees_a_change_too(flavour: Flavour) -> None:
    card = served(LOCKED, flavour)
    card["supportedInterfaces"][0]["url"] = "https://evil.example/a2a"
    with pytest.raises(InvalidSignaturesError):
        official(parse_agent_card(card))


def signed_by_the_sdk(profile: Profile) -> Json:
    header = ProtectedHeader(kid="main", alg="ES256", jku=None, typ="JOSE")
    signer = create_agent_card_signer(pem(private("ES256")), header)
    unsigned = ParseDict(card_of(profile, HERE, "1.0"), pb.AgentCard())
    signed: Json = MessageToDict(signer(unsigned))
    return signed


@pytest.mark.parametrize(("bearer", "uncovered_fields"), [(False, ()), (True, ("securityRequirements",))])
def test_what_the_official_sdk_signs_holds_for_us_but_for_what_it_passes_over(
    bearer: bool, uncovered_fields: tuple[str, ...]
) -> None:
    """It takes a requirement without scopes for empty, so whoever took it away would not be noticed."""
    card = signed_by_the_sdk(Profile(name="데모", description="Answers.", version="1", bearer=bearer))
    (signature,) = read_signatures(card)
    assert (signature.kid, signature.alg, signature.jku) == ("main", "ES256", "")
    assert verify(card, signature, KEYS) == SignatureCheck(finding=Finding.HOLDS, uncovered=uncovered_fields)


def test_a_signature_over_the_1_0_half_leaves_the_rest_open() -> None:
    """The official server adds 0.3's fields to a card that is signed already."""
    card = {**card_of(LOCKED, HERE, "hybrid"), **signed_by_the_sdk(LOCKED)}
    (signature,) = read_signatures(card)
    verdict = verify(card, signature, KEYS)
    assert verdict.finding is Finding.HOLDS
    assert set(verdict.uncovered) >= {"url", "additionalInterfaces", "security"}


def paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where each plain value of a JSON value is."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    return [at] if inner is None else [path for key, one in inner for path in paths(one, (*at, key))]


def changed(card: Json, path: tuple[Any, ...]) -> Json:
    other = deepcopy(card)
    inside: Any = other
    for step in path[:-1]:
        inside = inside[step]
    old = inside[path[-1]]
    inside[path[-1]] = not old if isinstance(old, bool) else f"{old}!"
    return other


@given(profiles, st.sampled_from(FLAVOURS), st.data())
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@pytest.mark.requirement("1.0/8.4.3-verified")
def test_a_signed_card_holds_until_anything_in_it_changes(
    profile: Profile, flavour: Flavour, data: st.DataObject
) -> None:
    """Each change breaks at least the signature over the whole."""
    card = served(profile, flavour)
    assert set(findings(card)) == {Finding.HOLDS}
    places = [path for path in paths(card) if path[0] != "signatures"]
    assert Finding.BROKEN in findings(changed(card, data.draw(st.sampled_from(places))))


@pytest.mark.parametrize("path", [("signatures", 0, "protected"), ("signatures", 0, "signature")])
def test_a_changed_signature_does_not_hold(path: tuple[Any, ...]) -> None:
    card = served(Profile(name="Demo", description="d", version="1"), "1.0")
    spoilt = deepcopy(card)
    text = spoilt["signatures"][0][path[-1]]
    spoilt["signatures"][0][path[-1]] = text[:20] + ("A" if text[20] != "A" else "B") + text[21:]
    assert findings(card) == [Finding.HOLDS]
    assert findings(spoilt) != [Finding.HOLDS]


def test_a_key_that_is_not_there_is_no_broken_signature() -> None:
    card = served(LOCKED, "0.3")
    assert findings(card, []) == [Finding.UNKNOWN_KEY]
    assert findings(card, [key_of("other").public]) == [Finding.UNKNOWN_KEY]


@pytest.mark.requirement("1.0/8.4.3-verified")
def test_another_key_by_the_same_name_breaks_it_and_of_several_one_is_enough() -> None:
    card, other = served(LOCKED, "0.3"), key_of(number=1).public
    assert findings(card, [other]) == [Finding.BROKEN]
    assert findings(card, [other, KEY.public]) == [Finding.HOLDS]


@pytest.mark.parametrize(
    "change", [{"alg": "ES384"}, {"use": "enc"}, {"kty": "RSA"}, {"x": "!"}, {"x": 5}, {"crv": "P-384"}, {"kty": None}]
)
def test_a_key_that_is_for_something_else_verifies_nothing(change: dict[str, Any]) -> None:
    assert findings(served(LOCKED, "0.3"), [{**KEY.public, **change}]) == [Finding.BROKEN]


def with_header(**header: Any) -> Json:
    protected = jwt.utils.base64url_encode(json.dumps(header).encode()).decode()
    return {"name": "Demo", "signatures": [{"protected": protected, "signature": "AAAA"}]}


@pytest.mark.parametrize("alg", ["none", "HS256", "ES256K", "", None, 5])
def test_an_algorithm_without_a_public_key_is_not_even_tried(alg: Any) -> None:
    """Or a public key would do as a shared secret."""
    assert findings(with_header(kid="main", alg=alg)) == [Finding.UNREADABLE]


@pytest.mark.parametrize("protected", ["", "!", "AAAA", "e30", "WzFd", "\u00e9", 5, None])
def test_a_header_that_cannot_be_read_names_no_key(protected: Any) -> None:
    card = {"signatures": [{"protected": protected, "signature": "AAAA"}]}
    assert [(one.kid, one.alg, one.jku) for one in read_signatures(card)] == [("", "", "")]
    assert findings(card) == [Finding.UNREADABLE]


def test_a_header_that_demands_more_is_not_passed_over() -> None:
    """RFC 7515 §4.1.11 (`crit`)."""
    assert findings(with_header(kid="main", alg="ES256", crit=["exp"], exp=1)) == [Finding.BROKEN]


@pytest.mark.parametrize("signatures", [None, {}, "x", [], [1, None, "x"]])
def test_what_is_no_list_of_signatures_is_none(signatures: Any) -> None:
    assert read_signatures({"signatures": signatures}) == []
    assert read_signatures({}) == []


def test_a_card_without_a_canonical_form_was_never_signed() -> None:
    card = {**served(LOCKED, "1.0"), "number": 2**60}
    assert set(findings(card)) == {Finding.BROKEN}


def test_signatures_are_values() -> None:
    assert read_signatures(with_header(kid="a", alg="ES256", jku="https://b"))[0] == Signature(
        protected=with_header(kid="a", alg="ES256", jku="https://b")["signatures"][0]["protected"],
        signature="AAAA",
        kid="a",
        alg="ES256",
        jku="https://b",
    )
