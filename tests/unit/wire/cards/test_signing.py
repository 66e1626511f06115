import json
from typing import Any, get_args

import jwt
import pytest
from tests.card_keys import key_of, pem, private, public_pem

from llamon_agent.domain.profile import Profile, SigningAlgorithm
from llamon_agent.inbound.a2a.cards.card import Interfaces, card_of
from llamon_agent.wire.cards.canonical import canonical, canonical_forms
from llamon_agent.wire.cards.signing import BadKey, Signer, read_key

BASE = "https://a.example"
CARD = card_of(
    Profile(name="Demo", description="안녕", version="1", bearer=True), Interfaces(url=f"{BASE}/a2a"), "hybrid"
)


def header(signature: dict[str, str]) -> Any:
    return json.loads(jwt.utils.base64url_decode(signature["protected"]))


@pytest.mark.parametrize("alg", get_args(SigningAlgorithm))
def test_every_algorithm_signs_every_form(alg: SigningAlgorithm) -> None:
    key = key_of(alg=alg)
    signatures = Signer([key]).sign(CARD, BASE)["signatures"]
    assert len(signatures) == len(canonical_forms(CARD)) == 3
    for signature, form in zip(signatures, canonical_forms(CARD), strict=True):
        payload = jwt.utils.base64url_encode(canonical(form)).decode()
        token = f"{signature['protected']}.{payload}.{signature['signature']}"
        assert jwt.PyJWS().decode(token, jwt.PyJWK(key.public), algorithms=[alg])


@pytest.mark.requirement("1.0/8.4.2-protected-header")
def test_the_header_says_which_key_and_where_it_is() -> None:
    """A2A 1.0 §8.4.2."""
    signature = Signer([key_of("2026", "EdDSA")]).sign(CARD, BASE)["signatures"][0]
    assert header(signature) == {
        "alg": "EdDSA",
        "kid": "2026",
        "typ": "JOSE",
        "jku": "https://a.example/.well-known/jwks.json",
    }
    assert set(signature) == {"protected", "signature"}
    assert "=" not in signature["protected"] + signature["signature"]


def test_several_keys_sign_side_by_side_and_the_card_stays_what_it_was() -> None:
    signed = Signer([key_of("old", "EdDSA"), key_of("new", "ES256")]).sign(CARD, BASE)
    assert [header(one)["kid"] for one in signed["signatures"]] == ["old"] * 3 + ["new"] * 3
    assert {key: value for key, value in signed.items() if key != "signatures"} == CARD


@pytest.mark.parametrize("alg", ["ES256", "ES384", "ES512", "EdDSA", "RS256", "PS512"])
def test_nothing_private_is_published(alg: SigningAlgorithm) -> None:
    (key,) = json.loads(Signer([key_of(alg=alg)]).write_jwks())["keys"]
    assert (key["kid"], key["alg"], key["use"]) == ("main", alg, "sig")
    assert set(key) - {"kid", "alg", "use", "kty"} in ({"crv", "x", "y"}, {"crv", "x"}, {"n", "e"})


@pytest.mark.parametrize("alg", ["ES256", "EdDSA", "RS256"])
def test_a_key_may_be_a_jwk(alg: SigningAlgorithm) -> None:
    key = private("RSA" if alg == "RS256" else alg)
    jwk = jwt.get_algorithm_by_name(alg).to_jwk(key)
    assert read_key("main", alg, f"\n {jwk}").public == read_key("main", alg, pem(key)).public


@pytest.mark.parametrize(
    ("alg", "text", "told"),
    [
        ("ES256", "", "is no PEM or JWK"),
        ("ES256", "{}", "is no PEM or JWK"),
        ("ES256", '{"kty": "EC", "crv": "P-256", "x": 5}', "is no PEM or JWK"),
        ("ES256", "{nonsense", "is no PEM or JWK"),
        ("EdDSA", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----", "is no PEM or JWK"),
        ("ES256", pem(private("ES384")), "that ES256 can sign with"),
        ("ES256", pem(private("EdDSA")), "that ES256 can sign with"),
        ("EdDSA", pem(private("ES256")), "that EdDSA can sign with"),
        ("RS256", pem(private("ES256")), "that RS256 can sign with"),
        ("RS256", pem(private("short")), "is too short for RS256"),
        ("ES256", public_pem(private("ES256")), "is a public key"),
        ("RS256", public_pem(private("RSA")), "is a public key"),
        ("EdDSA", public_pem(private("EdDSA")), "is a public key"),
    ],
)
def test_the_error_for_a_key_that_cannot_sign_is_in_our_words(alg: SigningAlgorithm, text: str, told: str) -> None:
    with pytest.raises(BadKey) as caught:
        read_key("main", alg, text)
    assert told in caught.value.public
