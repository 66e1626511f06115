import json
import math
from typing import Any

import pytest
from a2a.client.card_resolver import parse_agent_card
from a2a.types import a2a_pb2 as pb
from a2a.utils.signing import _canonicalize_agent_card
from google.protobuf.json_format import MessageToDict, ParseDict
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import texts

from llamon_agent.domain.profile import ExtendedFields, Extension, Profile, Skill
from llamon_agent.inbound.a2a.cards.card import Flavour, Interfaces, card_of
from llamon_agent.wire.cards.canonical import (
    Json,
    NotCanonical,
    canonical,
    canonical_forms,
    known_to_10,
    uncovered_fields,
    whole,
    without_empty,
)

HERE = Interfaces(url="https://a.example/a2a", grpc="a.example:50051")
BARE = Profile(name="Demo", description="Answers.", version="1")
LOCKED = Profile(name="Demo", description="Answers.", version="1", bearer=True, extended_fields=ExtendedFields())

safe_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
skills = st.builds(Skill, id=texts, name=texts, description=texts, tags=st.lists(texts, max_size=2).map(tuple))
extensions = st.builds(
    Extension,
    uri=texts,
    description=texts,
    required=st.booleans(),
    params=st.dictionaries(texts, safe_json, max_size=3),
)
profiles = st.builds(
    Profile,
    name=texts,
    description=texts,
    version=texts,
    skills=st.lists(skills, max_size=2).map(tuple),
    documentation_url=st.none() | texts,
    icon_url=st.none() | texts,
    bearer=st.booleans(),
    streaming=st.booleans(),
    extensions=st.lists(extensions, max_size=2).map(tuple),
)


# The canonical spelling.


@pytest.mark.parametrize(
    ("value", "spelled"),
    [
        (333333333.33333329, "333333333.3333333"),
        (1e30, "1e+30"),
        (4.50, "4.5"),
        (2e-3, "0.002"),
        (1e-27, "1e-27"),
        (10.0, "10"),
        (-0.0, "0"),
        (1e-7, "1e-7"),
        (1e-6, "0.000001"),
        (1e21, "1e+21"),
        (123456789012345680000.0, "123456789012345680000"),
        (5e-324, "5e-324"),
        (True, "true"),
        (None, "null"),
        ('\u20ac$\u000f\nA\'B"\\\\"/', '"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"'),
    ],
)
@pytest.mark.requirement("1.0/8.4.1-canonical")
def test_values_are_spelled_as_rfc_8785_does(value: Any, spelled: str) -> None:
    """RFC 8785 §3.2.2, appendix B."""
    assert canonical({"v": value}).decode() == f'{{"v":{spelled}}}'


def test_keys_are_sorted_by_utf_16() -> None:
    """RFC 8785 §3.2.3: the emoji's surrogates come before the ligature, though its code point comes after."""
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]
    sorted_keys = ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]
    assert list(json.loads(canonical(dict.fromkeys(keys, 0)))) == sorted_keys


@pytest.mark.parametrize("value", [2**53, math.inf, math.nan, "\ud800"])
def test_what_json_readers_do_not_agree_on_has_no_canonical_form(value: Any) -> None:
    with pytest.raises(NotCanonical):
        canonical({"v": [value]})


# What a card is signed as.


def test_a_card_that_is_the_same_to_every_verifier_has_one_form() -> None:
    card = card_of(BARE, HERE, "1.0")
    assert canonical_forms(card) == (card,)
    old = card_of(BARE, HERE, "0.3")
    assert canonical_forms(old) == (old,)


def test_a_requirement_without_scopes_is_a_form_of_its_own() -> None:
    """The official SDKs pass it over; the clause keeps it, as an explicit entry of a map."""
    card = card_of(LOCKED, HERE, "1.0")
    bare, to_the_letter = canonical_forms(card)
    assert to_the_letter == card
    assert "securityRequirements" not in bare


def test_the_hybrid_card_has_the_form_of_its_1_0_half_and_the_whole() -> None:
    card = card_of(BARE, HERE, "hybrid")
    half, everything = canonical_forms(card)
    assert everything == card
    assert set(card) - set(half) == {
        "url",
        "preferredTransport",
        "protocolVersion",
        "additionalInterfaces",
        "supportsAuthenticatedExtendedCard",
    }
    assert "stateTransitionHistory" not in half["capabilities"]


def test_no_form_holds_signatures() -> None:
    card = {**card_of(BARE, HERE, "hybrid"), "signatures": [{"protected": "a", "signature": "b"}]}
    assert all("signatures" not in form for form in (*canonical_forms(card), whole(card), known_to_10(card)))


def test_what_a_form_leaves_open_is_named() -> None:
    card = card_of(LOCKED, HERE, "1.0")
    assert uncovered_fields(card, card) == ()
    assert uncovered_fields(card, without_empty(card)) == ("securityRequirements",)
    hybrid = card_of(LOCKED, HERE, "hybrid")
    assert set(uncovered_fields(hybrid, known_to_10(hybrid))) == {
        "url",
        "preferredTransport",
        "protocolVersion",
        "additionalInterfaces",
        "supportsAuthenticatedExtendedCard",
        "security",
        "securitySchemes",
    }


def test_a_default_that_is_spelled_out_hides_nothing() -> None:
    card = card_of(BARE, HERE, "1.0")
    card["capabilities"]["extensions"] = [{"uri": "urn:x", "required": False, "description": ""}]
    card["securityRequirements"] = []
    assert uncovered_fields(card, known_to_10(card)) == uncovered_fields(card, without_empty(card)) == ()


@pytest.mark.requirement("1.0/8.4.1-canonical")
def test_fields_with_presence_stay_and_others_go_at_their_default() -> None:
    """A2A 1.0 §8.4.1."""
    card: Json = {
        "name": "",
        "description": "",
        "documentationUrl": "",
        "iconUrl": None,
        "supportedInterfaces": [{"url": "u", "tenant": ""}],
        "capabilities": {"streaming": False, "extensions": []},
        "securitySchemes": {"key": {"apiKeySecurityScheme": {"name": "k", "location": "", "description": ""}}},
        "securityRequirements": [{"schemes": {"key": {"list": []}}}, {"schemes": {}}],
        "skills": [],
    }
    assert known_to_10(card) == {
        "name": "",
        "description": "",
        "documentationUrl": "",
        "supportedInterfaces": [{"url": "u"}],
        "capabilities": {"streaming": False},
        "securitySchemes": {"key": {"apiKeySecurityScheme": {"name": "k", "location": ""}}},
        "securityRequirements": [{"schemes": {"key": {}}}, {}],
        "skills": [],
    }


@pytest.mark.parametrize("odd", ["text", 5, None, [[]], {"schemes": 7}, [{"schemes": [1]}]])
def test_a_field_that_is_not_what_it_should_be_is_no_trouble(odd: Any) -> None:
    for key in ("securityRequirements", "capabilities", "securitySchemes", "supportedInterfaces"):
        canonical_forms({"supportedInterfaces": [], key: odd})


EVERY_FIELD: Json = {
    "name": "n",
    "description": "d",
    "version": "v",
    "supportedInterfaces": [{"url": "u", "protocolBinding": "b", "protocolVersion": "p", "tenant": "t"}],
    "provider": {"url": "u", "organization": "o"},
    "documentationUrl": "x",
    "iconUrl": "i",
    "capabilities": {
        "streaming": False,
        "pushNotifications": False,
        "extendedAgentCard": False,
        "extensions": [{"uri": "u", "description": "d", "required": True, "params": {"a": [None, ""], "b": {}}}],
    },
    "defaultInputModes": ["a"],
    "defaultOutputModes": ["b"],
    "skills": [
        {
            "id": "i",
            "name": "n",
            "description": "d",
            "tags": ["t"],
            "examples": ["e"],
            "inputModes": ["m"],
            "outputModes": ["m"],
            "securityRequirements": [{"schemes": {"s": {"list": ["x"]}}}],
        }
    ],
    "securityRequirements": [{"schemes": {"s": {"list": ["x"]}, "t": {}}}],
    "securitySchemes": {
        "a": {"apiKeySecurityScheme": {"description": "d", "location": "l", "name": "n"}},
        "b": {"httpAuthSecurityScheme": {"description": "d", "scheme": "s", "bearerFormat": "f"}},
        "c": {"openIdConnectSecurityScheme": {"description": "d", "openIdConnectUrl": "u"}},
        "d": {"mtlsSecurityScheme": {"description": "d"}},
        **{
            flow: {"oauth2SecurityScheme": {"description": "d", "oauth2MetadataUrl": "m", "flows": {flow: fields}}}
            for flow, fields in {
                "authorizationCode": {
                    "authorizationUrl": "a",
                    "tokenUrl": "t",
                    "refreshUrl": "r",
                    "scopes": {"s": ""},
                    "pkceRequired": True,
                },
                "clientCredentials": {"tokenUrl": "t", "refreshUrl": "r", "scopes": {"s": "x"}},
                "implicit": {"authorizationUrl": "a", "refreshUrl": "r", "scopes": {"s": "x"}},
                "password": {"tokenUrl": "t", "refreshUrl": "r", "scopes": {"s": "x"}},
                "deviceCode": {"deviceAuthorizationUrl": "d", "tokenUrl": "t", "refreshUrl": "r", "scopes": {"s": "x"}},
            }.items()
        },
    },
}


def test_every_field_of_1_0_is_known() -> None:
    assert MessageToDict(ParseDict(EVERY_FIELD, pb.AgentCard())) == EVERY_FIELD
    assert known_to_10(EVERY_FIELD) == EVERY_FIELD


def spelled_out(value: Any) -> Any:
    """Each field of every message, as 1.0 spells what is not set but in the fields with presence."""
    return MessageToDict(ParseDict(value, pb.AgentCard()), always_print_fields_with_no_presence=True)


def test_what_the_sdk_leaves_out_is_left_out_here() -> None:
    padded = spelled_out(EVERY_FIELD)
    assert padded != EVERY_FIELD
    assert known_to_10(padded) == EVERY_FIELD


@given(profiles, st.sampled_from(["hybrid", "1.0"]))
def test_the_first_form_of_a_card_is_what_the_official_sdk_computes(profile: Profile, flavour: Flavour) -> None:
    card = json.loads(json.dumps(card_of(profile, HERE, flavour)))
    first = canonical(canonical_forms(card)[0])
    assert first.decode() == _canonicalize_agent_card(parse_agent_card(card))


@given(safe_json)
def test_nothing_empty_is_left_at_any_depth(value: Any) -> None:
    def holds_empty(one: Any) -> bool:
        inner = one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
        return one in (None, "", [], {}) or any(holds_empty(item) for item in inner)

    left = without_empty(value)
    assert left is None or not holds_empty(left)
