"""Signs cards, and publishes the keys to verify them by: JWS over the canonical forms of a card.

Source: A2A 1.0 §8.4.2; RFC 7515 (JWS), RFC 7517 (JWK), RFC 8785 (canonical JSON).
"""

from collections.abc import Sequence
from typing import Any, get_args

import jwt
import msgspec
from cryptography.exceptions import UnsupportedAlgorithm
from jwt.algorithms import Algorithm

from llamon_agent.domain.errors import LlamonError
from llamon_agent.domain.profile import SigningAlgorithm
from llamon_agent.wire.cards.canonical import Json, canonical, canonical_forms

ALGORITHMS: tuple[str, ...] = get_args(SigningAlgorithm)

JWS = jwt.PyJWS(options={"enforce_minimum_key_length": True})

_PUBLIC = ("kty", "crv", "x", "y", "n", "e")
"""What a public key is made of, of any kind. Source: RFC 7518 §6; RFC 8037 §2."""


class BadKey(LlamonError):
    """A key that cannot sign; the text goes on from its name."""

    public = "is no key that can sign"


class SigningKey(msgspec.Struct, frozen=True, kw_only=True):
    """A private key by its name, as the library takes it, and its public half as a JWK."""

    kid: str
    alg: SigningAlgorithm
    private: Any
    public: Json


class Signer:
    """Signs with each of its keys. Shape: kids are unique, which is what verifiers go by."""

    def __init__(self, keys: Sequence[SigningKey]) -> None:
        self._keys = tuple(keys)

    def sign(self, card: Json, base_url: str) -> Json:
        """The card with a signature of each key over each of its forms.

        Raises: NotCanonical.
        Source: A2A 1.0 §8.4.2 (`alg` and `kid` are required, `typ` should be JOSE, `jku` says where the keys are).
        """
        payloads = [canonical(form) for form in canonical_forms(card)]
        signatures = [_signature(key, payload, base_url + JWKS_PATH) for key in self._keys for payload in payloads]
        return {**card, "signatures": signatures}

    def write_jwks(self) -> bytes:
        """The public keys. Source: RFC 7517 §5."""
        return msgspec.json.encode({"keys": [key.public for key in self._keys]})


def read_key(kid: str, alg: SigningAlgorithm, text: str) -> SigningKey:
    """A private key out of PEM or a JWK. Raises: BadKey."""
    algorithm = jwt.get_algorithm_by_name(alg)
    try:
        private = algorithm.prepare_key(algorithm.from_jwk(text) if text.lstrip().startswith("{") else text)
        whole = _jwk(algorithm, private)
    except (ValueError, TypeError, KeyError, UnsupportedAlgorithm, jwt.PyJWTError) as exc:
        raise BadKey(f"is no PEM or JWK of a private key, without a password, that {alg} can sign with") from exc
    if algorithm.check_key_length(private):
        raise BadKey(f"is too short for {alg}; an RSA key has at least 2048 bits")
    if "d" not in whole:
        raise BadKey("is a public key; signing needs the private one")
    public = {name: whole[name] for name in _PUBLIC if name in whole}
    return SigningKey(kid=kid, alg=alg, private=private, public={"kid": kid, "alg": alg, "use": "sig", **public})


def _jwk(algorithm: Algorithm, key: Any) -> Json:
    jwk: Json = algorithm.to_jwk(key, as_dict=True)
    return jwk


def _signature(key: SigningKey, payload: bytes, jku: str) -> Json:
    """Source: RFC 7515 §7.2.2, without the payload, which is the card itself (A2A 1.0 §8.4.2)."""
    headers = {"alg": key.alg, "kid": key.kid, "typ": "JOSE", "jku": jku}
    protected, _, signature = JWS.encode(payload, key.private, algorithm=key.alg, headers=headers).split(".")
    return {"protected": protected, "signature": signature}


JWKS_PATH = "/.well-known/jwks.json"
"""Where the public keys are that verify a card."""
