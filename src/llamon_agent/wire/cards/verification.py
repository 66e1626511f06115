"""Verifies a card's signatures, by any signer.

Rule: a signature says as much as what it was made over. One over the 1.0 fields alone leaves the others open, and that
is said, as a client of 0.3 would go by just those.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

import jwt
import msgspec
from jwt.utils import base64url_decode, base64url_encode

from llamon_agent.wire.cards.canonical import (
    Json,
    NotCanonical,
    canonical,
    canonical_forms,
    uncovered_fields,
    whole,
    without_empty,
)
from llamon_agent.wire.cards.signing import ALGORITHMS, JWS


class Finding(StrEnum):
    """What became of a signature."""

    HOLDS = "holds"
    BROKEN = "broken"
    UNKNOWN_KEY = "unknown key"
    UNREADABLE = "unreadable"


class Signature(msgspec.Struct, frozen=True, kw_only=True):
    """A signature as a card bears it. Source: A2A 1.0 §4.4.7 (AgentCardSignature).

    Shape: kid, alg and jku are of the protected header, empty where that cannot be read or has none.
    """

    protected: str
    signature: str
    kid: str = ""
    alg: str = ""
    jku: str = ""


class SignatureCheck(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a signature holds, and if so, which keys of the card it leaves open."""

    finding: Finding
    uncovered: tuple[str, ...] = ()


def read_signatures(card: Json) -> list[Signature]:
    """The signatures of a card; what is none of them is passed over."""
    found = card.get("signatures")
    return [_signature(one) for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def verify(card: Json, signature: Signature, keys: Iterable[Mapping[str, Any]]) -> SignatureCheck:
    """Whether one signature holds. Shape: keys are JWKs, of which those by the signature's name are tried.

    Source: A2A 1.0 §8.4.3; RFC 7515 §5.2.
    """
    if not signature.kid or signature.alg not in ALGORITHMS:
        return SignatureCheck(finding=Finding.UNREADABLE)
    named = [key for key in keys if key.get("kid") == signature.kid]
    if not named:
        return SignatureCheck(finding=Finding.UNKNOWN_KEY)
    try:
        return _over_any_form(card, signature, named)
    except (NotCanonical, RecursionError):  # a card that nests deeper than can be followed
        return SignatureCheck(finding=Finding.BROKEN)


def _over_any_form(card: Json, signature: Signature, keys: Sequence[Mapping[str, Any]]) -> SignatureCheck:
    for form in (whole(card), *reversed(canonical_forms(card)), without_empty(whole(card)) or {}):
        payload = canonical(form)
        if any(_is_by(key, signature, payload) for key in keys):
            return SignatureCheck(finding=Finding.HOLDS, uncovered=uncovered_fields(card, form))
    return SignatureCheck(finding=Finding.BROKEN)


def _is_by(key: Mapping[str, Any], signature: Signature, payload: bytes) -> bool:
    """A key is for one algorithm and for signatures, if it says so. Source: RFC 7517 §4.2, §4.4."""
    if key.get("alg", signature.alg) != signature.alg or key.get("use", "sig") != "sig":
        return False
    token = b".".join([signature.protected.encode(), base64url_encode(payload), signature.signature.encode()])
    try:
        JWS.decode(token, jwt.PyJWK(dict(key), algorithm=signature.alg), algorithms=[signature.alg])
    except (jwt.PyJWTError, ValueError, TypeError, KeyError):
        return False
    return True


def _signature(wire: Json) -> Signature:
    protected, signature = (_text(wire.get(name)) for name in ("protected", "signature"))
    try:
        header = msgspec.json.decode(base64url_decode(protected), type=dict[str, Any])
    except (ValueError, msgspec.DecodeError, RecursionError):
        header = {}
    named = {name: _text(header.get(name)) for name in ("kid", "alg", "jku")}
    return Signature(protected=protected, signature=signature, **named)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
