"""The agent card: a profile and an address in, the bytes of a card out, in one of three flavours.

The hybrid card is a 1.0 card with 0.3's fields beside it, so that one document serves every client. Two keys need care:

- `securitySchemes` is in both versions, with another shape: 1.0 wraps a scheme under the name of its kind, 0.3 has it
  flat with a `type`. Each ignores what it does not know, so the hybrid card has both in one object. The official SDK's
  parser folds the flat half into a wrapper of its own and finds the scheme there; 0.3's union needs `type`: without it
  the wrapped half alone is taken for mutual TLS.
- `supportedInterfaces` lists 1.0 first, because official clients take the first entry of their version, and the first
  of all where none is theirs. Copilot Studio refuses a card that mentions 1.0 at all, so there is a pure 0.3 card.

Each version's own conformance suite refuses the other's keys, which is why there is a pure 1.0 card.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from llamon_agent.domain.profile import Profile, Skill

Flavour = Literal["hybrid", "1.0", "0.3"]

Json = dict[str, Any]

_BEARER = "bearer"


def write_card(profile: Profile, *, base_url: str, path: str, flavour: Flavour) -> bytes:
    """The card of an agent whose JSON-RPC endpoint is at `base_url` + `path`.

    Shape: base_url has no slash at its end, path has one in front.
    Source: A2A 1.0 §4.4.1; 0.3 §5.5.
    """
    url = base_url + path
    match flavour:
        case "1.0":
            card = _of_both(profile) | _of_10(url, ("1.0",)) | _security_10(profile)
        case "0.3":
            card = _of_both(profile) | _of_03(url) | _security_03(profile)
        case "hybrid":
            card = _of_both(profile) | _of_03(url) | _of_10(url, ("1.0", "0.3")) | _security_hybrid(profile)
    card["capabilities"] = _capabilities(flavour)
    return msgspec.json.encode(card)


def etag(card: bytes) -> str:
    """A strong ETag: the same bytes, the same tag. Source: RFC 9110 §8.8.3; A2A 1.0 §8.6.1."""
    return f'"{hashlib.sha256(card).hexdigest()[:32]}"'


# What a card says.


def _of_both(profile: Profile) -> Json:
    """What both versions say alike."""
    card: Json = {
        "name": profile.name,
        "description": profile.description,
        "version": profile.version,
        "defaultInputModes": profile.input_modes,
        "defaultOutputModes": profile.output_modes,
        "skills": [_skill(skill) for skill in profile.skills or (_default_skill(profile),)],
    }
    if profile.provider is not None:
        card["provider"] = {"organization": profile.provider.organization, "url": profile.provider.url}
    if profile.documentation_url is not None:
        card["documentationUrl"] = profile.documentation_url
    if profile.icon_url is not None:
        card["iconUrl"] = profile.icon_url
    return card


def _default_skill(profile: Profile) -> Skill:
    """What an agent can do that lists no skills: what its description says. Source: A2A 1.0 §5.7 (at least one)."""
    return Skill(id="default", name=profile.name, description=profile.description)


def _skill(skill: Skill) -> Json:
    """A skill; `tags` is required (§5.7: with at least one element), so a skill without any is tagged by its id."""
    wire: Json = {
        "id": skill.id,
        "name": skill.name,
        "description": skill.description,
        "tags": skill.tags or (skill.id,),
    }
    if skill.examples:
        wire["examples"] = skill.examples
    return wire


def _of_10(url: str, versions: tuple[str, ...]) -> Json:
    """Where 1.0 looks for the endpoint. Source: A2A 1.0 §4.4.6; the version is Major.Minor (§3.6)."""
    return {
        "supportedInterfaces": [
            {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": version} for version in versions
        ]
    }


def _of_03(url: str) -> Json:
    """Where 0.x looks for the endpoint. Source: A2A 0.3 §5.5, §5.6.2 (the main URL is listed again)."""
    return {
        "protocolVersion": "0.3.0",
        "url": url,
        "preferredTransport": "JSONRPC",
        "additionalInterfaces": [{"url": url, "transport": "JSONRPC"}],
        "supportsAuthenticatedExtendedCard": False,
    }


def _capabilities(flavour: Flavour) -> Json:
    """Source: A2A 1.0 §4.4.3; 0.3 §5.5.2."""
    capabilities: Json = {"streaming": True, "pushNotifications": False}
    if flavour != "0.3":
        capabilities["extendedAgentCard"] = False
    if flavour != "1.0":
        capabilities["stateTransitionHistory"] = False
    return capabilities


_SCHEME_10: Json = {"httpAuthSecurityScheme": {"scheme": "Bearer"}}
_SCHEME_03: Json = {"type": "http", "scheme": "Bearer"}
_REQUIRED_10: Json = {"securityRequirements": [{"schemes": {_BEARER: {"list": []}}}]}
_REQUIRED_03: Json = {"security": [{_BEARER: []}]}


def _security_10(profile: Profile) -> Json:
    """Source: A2A 1.0 §4.5."""
    return {"securitySchemes": {_BEARER: _SCHEME_10}, **_REQUIRED_10} if profile.bearer else {}


def _security_03(profile: Profile) -> Json:
    """Source: A2A 0.3 §5.5.3."""
    return {"securitySchemes": {_BEARER: _SCHEME_03}, **_REQUIRED_03} if profile.bearer else {}


def _security_hybrid(profile: Profile) -> Json:
    """Both at once; see the top of this module."""
    if not profile.bearer:
        return {}
    return {"securitySchemes": {_BEARER: _SCHEME_10 | _SCHEME_03}, **_REQUIRED_10, **_REQUIRED_03}


# Where the agent is.

_HOST = re.compile(r"(?:[A-Za-z0-9.-]{1,255}|\[[A-Fa-f0-9:.]{2,45}\])(?::\d{1,5})?", re.ASCII)
_PREFIX = re.compile(r"(?:/[A-Za-z0-9._~-]+)+", re.ASCII)
_UNKNOWN_HOST = "localhost"


def public_base(headers: Mapping[str, str], *, configured: str | None, trusted: bool, scheme: str = "http") -> str:
    """The address that a caller knows this server by, without a slash at its end.

    Shape: headers by lower-case names; scheme is the connection's. `configured` wins. Else the Host header names the
           host, and X-Forwarded-Proto, -Host and -Prefix count only where the proxy in front is `trusted`. A value that
           could be more than a host, a scheme or a path is passed over: nothing of a caller's making gets into a card.
    """
    if configured:
        return configured.rstrip("/")
    host = _matching(_HOST, headers.get("host")) or _UNKNOWN_HOST
    if not trusted:
        return f"{scheme}://{host}"
    host = _matching(_HOST, _forwarded(headers, "x-forwarded-host")) or host
    proto = (_forwarded(headers, "x-forwarded-proto") or "").lower()
    prefix = _matching(_PREFIX, (_forwarded(headers, "x-forwarded-prefix") or "").rstrip("/")) or ""
    return f"{proto if proto in ('http', 'https') else scheme}://{host}{prefix}"


def _forwarded(headers: Mapping[str, str], name: str) -> str | None:
    """The last value of a list: the one that the proxy next to us wrote, and no caller could."""
    value = headers.get(name)
    return None if value is None else value.rsplit(",", 1)[-1].strip()


def _matching(pattern: re.Pattern[str], value: str | None) -> str | None:
    return value if value is not None and pattern.fullmatch(value) else None
