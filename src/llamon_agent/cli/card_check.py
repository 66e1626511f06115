"""Whether an agent's card is the one that was signed: gets the keys, and reports the outcome of each signature.

Rule: keys come from where the person says, or else from the origin that the person named. A card that brings its own
keys from another place proves nothing: a forger of the card could name their own keys.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from llamon_agent.cli.exits import Usage
from llamon_agent.cli.screen import one_line
from llamon_agent.client.errors import NotA2A
from llamon_agent.client.rpc import fetch
from llamon_agent.wire.cards.verification import Finding, Signature, SignatureCheck, read_signatures, verify

Jwk = Mapping[str, Any]

_PORTS = {"http": 80, "https": 443}


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the signatures of one key.

    Shape: reason says why they were not checked, empty if they were, and is `told` in JSON; open_keys are the keys of
           the card that they do not cover.
    """

    kid: str
    alg: str
    jku: str
    finding: Finding
    reason: str = msgspec.field(default="", name="told")
    open_keys: tuple[str, ...] = ()


class _Keys(msgspec.Struct, frozen=True):
    """Keys, where they are from, and why there are none."""

    jwks: Sequence[Jwk] = ()
    where: str = ""
    problem: str = ""


async def check(card: bytes, url: str, jwks: str | None) -> list[Checked]:
    """What became of a card's signatures, key by key. Raises: Usage, ConfigError, RemoteError."""
    wire = msgspec.json.decode(card, type=dict[str, Any])
    signatures = read_signatures(wire)
    given = await _given(jwks) if jwks else None
    known = {jku: given or await _own(jku, url) for jku in dict.fromkeys(one.jku for one in signatures)}
    found: dict[tuple[str, str, str], list[Checked]] = {}
    for one in signatures:
        keys = known[one.jku]
        found.setdefault((one.kid, one.alg, one.jku), []).append(_checked(one, verify(wire, one, keys.jwks), keys))
    return [_worst(group) for group in found.values()]


def is_signed(checked: Sequence[Checked]) -> bool:
    """Whether a signature holds, and none is of another card."""
    findings = {one.finding for one in checked}
    return Finding.HOLDS in findings and Finding.BROKEN not in findings


def check_line(checked: Checked) -> str:
    """One key's signatures, for people. Shape: one line, whatever the card says: its text must not look like ours."""
    match checked.finding:
        case Finding.HOLDS if checked.open_keys:
            text = f"holds, but leaves open {', '.join(checked.open_keys)}"
        case Finding.HOLDS:
            text = "holds"
        case Finding.BROKEN:
            text = "does not hold: this is not the card that was signed, or not the key that signed it"
        case _:
            text = f"not checked: {checked.reason}"
    key = f"{checked.kid or 'a signature'}{f' ({checked.alg})' if checked.alg else ''}"
    return f"{one_line(key)}  {one_line(text)}"


def _checked(signature: Signature, verdict: SignatureCheck, keys: _Keys) -> Checked:
    reason = ""
    if verdict.finding is Finding.UNREADABLE:
        reason = "it names no key, or no algorithm with a public key"
    elif verdict.finding is Finding.UNKNOWN_KEY:
        reason = keys.problem or f"its key is not in {keys.where}"
    return Checked(
        kid=signature.kid,
        alg=signature.alg,
        jku=signature.jku,
        finding=verdict.finding,
        reason=reason,
        open_keys=verdict.uncovered,
    )


def _worst(group: Sequence[Checked]) -> Checked:
    """The signature to report of one key's: a broken one if there is one, else the one that covers the most."""
    return min(group, key=lambda one: (one.finding is not Finding.BROKEN, len(one.open_keys)))


async def _given(jwks: str) -> _Keys:
    """The keys that the person names. Raises: Usage, ConfigError, RemoteError."""
    keys = _read_jwks(await fetch(jwks) if jwks.startswith(("http://", "https://")) else _read_file(jwks))
    if keys is None:
        raise Usage(f'{jwks} is not a JWK set, such as {{"keys": [...]}}')
    return _Keys(keys, jwks)


def _read_file(path: str) -> bytes:
    """Raises: Usage."""
    try:
        return Path(path).read_bytes()
    except OSError as exc:
        raise Usage(f"{path} cannot be read; --jwks takes a file or a URL") from exc


async def _own(jku: str, url: str) -> _Keys:
    """The keys that the card names, if they are its own origin's. Raises: ConfigError, RemoteError."""
    if not jku:
        return _Keys(problem="it does not say where its key is; name the keys with --jwks")
    if _origin(jku) is None or _origin(jku) != _origin(url):
        return _Keys(problem=f"its key is at another origin; if you trust that one, say --jwks {jku}")
    keys = _read_jwks(await fetch(jku))
    if keys is None:
        raise NotA2A(detail=f"What {jku} answers is not a JWK set")
    return _Keys(keys, jku)


def _origin(url: str) -> tuple[str, str | None, int | None] | None:
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None


def _read_jwks(body: bytes) -> list[Jwk] | None:
    """Source: RFC 7517 §5."""
    try:
        read = msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        return None
    keys = read.get("keys")
    return [key for key in keys if isinstance(key, dict)] if isinstance(keys, list) else None
