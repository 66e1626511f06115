"""The agent card: a profile and the agent's addresses in, a card out, in one of several flavours.

The hybrid card is a 1.0 card with 0.3's fields added, so that one document serves every client. Two keys need care:

- `securitySchemes` is in both versions, with another shape: 1.0 wraps a scheme under the name of its kind, 0.3 has it
  flat with a `type`. Each ignores what it does not know, so the hybrid card has both in one object. The official SDK's
  parser folds the flat half into a wrapper of its own and finds the scheme there; 0.3's union needs `type`: without it
  the wrapped half alone is taken for mutual TLS.
- `supportedInterfaces` lists 1.0 first, because official clients take the first entry of their version, and the first
  of all where none is theirs. Copilot Studio refuses a card that mentions 1.0 at all, so there is a pure 0.3 card.

Each version's own conformance suite refuses the other's keys, which is why there is a pure 1.0 card.

A 1.0 card holds no value that ProtoJSON would leave out, so that it is what a signature is made over as it stands.
"""

import hashlib
import re
from collections.abc import Mapping
from ipaddress import IPv6Address
from typing import Any, Literal

import msgspec

from llamon_agent.domain.profile import Extension, Profile, Scheme, Skill

Flavour = Literal["hybrid", "1.0", "only-1.0", "0.3"]
"""Both versions in one; 1.0's, which lists the interfaces of 0.3, too; 1.0's without them; and 0.3's."""

Json = dict[str, Any]


_BOTH_VERSIONS = ("1.0", "0.3")
_BEARER = "bearer"
_JSON_RPC, _REST, _GRPC = "JSONRPC", "HTTP+JSON", "GRPC"


class Interfaces(msgspec.Struct, frozen=True, kw_only=True):
    """Where an agent is called.

    Shape: url takes JSON-RPC, and is what HTTP+JSON's paths begin with; grpc is host:port, None for a card without it;
           grpc_scheme is what 0.3's card puts before that, if anything; grpc_tenant is what a call on that port names
           to mean this agent, None for the default one.
    """

    url: str
    grpc: str | None = None
    grpc_scheme: Scheme | None = None
    grpc_tenant: str | None = None


def card_of(profile: Profile, interfaces: Interfaces, flavour: Flavour) -> Json:
    """The card of an agent, not signed. Source: A2A 1.0 §4.4.1; 0.3 §5.5."""
    match flavour:
        case "1.0":
            return _of_both(profile) | _of_10(profile, interfaces, _BOTH_VERSIONS)
        case "only-1.0":
            return _of_both(profile) | _of_10(profile, interfaces, ("1.0",))
        case "0.3":
            return _of_both(profile) | _of_03(profile, interfaces)
        case "hybrid":
            new, old = _of_10(profile, interfaces, _BOTH_VERSIONS), _of_03(profile, interfaces)
            both = {"capabilities": old["capabilities"] | new["capabilities"]}
            if profile.bearer:
                both["securitySchemes"] = {_BEARER: _SCHEME_10 | _SCHEME_03}
            return _of_both(profile) | new | old | both


def write_card(card: Json) -> bytes:
    """A card's bytes."""
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
        "defaultInputModes": list(profile.input_modes),
        "defaultOutputModes": list(profile.output_modes),
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
        "tags": list(skill.tags or (skill.id,)),
    }
    if skill.examples:
        wire["examples"] = list(skill.examples)
    return wire


def _of_10(profile: Profile, interfaces: Interfaces, versions: tuple[str, ...]) -> Json:
    """What only 1.0 says, or says in its own shape. Source: A2A 1.0 §4.4.6; the version is Major.Minor (§3.6)."""
    ways = [way for version in versions for way in _ways_10(interfaces, version)]
    card: Json = {
        "supportedInterfaces": ways,
        "capabilities": _capabilities(profile) | {"extendedAgentCard": profile.extended_fields is not None},
    }
    return card | _REQUIRED_10 | {"securitySchemes": {_BEARER: _SCHEME_10}} if profile.bearer else card


def _ways_10(interfaces: Interfaces, version: str) -> list[Json]:
    """The interfaces that speak one version, the preferred one first (§8.3.1).

    gRPC's address has no scheme, as the specification says since 1.0.1. 0.3 has no tenant, so an agent that needs one
    on that port cannot be reached there by 0.3.
    """
    ways: list[Json] = [
        {"url": interfaces.url, "protocolBinding": _JSON_RPC},
        {"url": _rest_url(interfaces), "protocolBinding": _REST},
    ]
    if interfaces.grpc and interfaces.grpc_tenant is None:
        ways.append({"url": interfaces.grpc, "protocolBinding": _GRPC})
    elif interfaces.grpc and version != "0.3":
        ways.append({"url": interfaces.grpc, "protocolBinding": _GRPC, "tenant": interfaces.grpc_tenant})
    return [{**way, "protocolVersion": version} for way in ways]


def _of_03(profile: Profile, interfaces: Interfaces) -> Json:
    """What only 0.x says, or says in its own shape. Source: A2A 0.3 §5.5, §5.6.2 (the main URL is listed again)."""
    card: Json = {
        "protocolVersion": "0.3.0",
        "url": interfaces.url,
        "preferredTransport": _JSON_RPC,
        "additionalInterfaces": _ways_03(interfaces),
        "supportsAuthenticatedExtendedCard": profile.extended_fields is not None,
        "capabilities": _capabilities(profile) | {"stateTransitionHistory": False},
    }
    return card | _REQUIRED_03 | {"securitySchemes": {_BEARER: _SCHEME_03}} if profile.bearer else card


def _ways_03(interfaces: Interfaces) -> list[Json]:
    """All transports. Source: A2A 0.3 §5.5.5 (AgentInterface).

    It calls each address a URL, and its suite takes nothing else. But its official clients hand gRPC's to gRPC as it
    stands, which knows no scheme of HTTP.
    """
    ways = [
        {"url": interfaces.url, "transport": _JSON_RPC},
        {"url": _rest_url(interfaces), "transport": _REST},
    ]
    if interfaces.grpc and interfaces.grpc_tenant is None:
        scheme = f"{interfaces.grpc_scheme}://" if interfaces.grpc_scheme else ""
        ways.append({"url": scheme + interfaces.grpc, "transport": _GRPC})
    return ways


def _rest_url(interfaces: Interfaces) -> str:
    """Clients append a path that begins with a slash."""
    return interfaces.url.rstrip("/")


def _capabilities(profile: Profile) -> Json:
    """Source: A2A 1.0 §4.4.3; 0.3 §5.5.2."""
    capabilities: Json = {"streaming": profile.streaming, "pushNotifications": profile.push}
    if profile.extensions:
        capabilities["extensions"] = [_extension(extension) for extension in profile.extensions]
    return capabilities


def _extension(extension: Extension) -> Json:
    """Source: A2A 1.0 §4.4.4; 0.3 §5.5.2.1."""
    wire: Json = {"uri": extension.uri}
    if extension.description:
        wire["description"] = extension.description
    if extension.required:
        wire["required"] = True
    if extension.params:
        wire["params"] = dict(extension.params)
    return wire


_SCHEME_10: Json = {"httpAuthSecurityScheme": {"scheme": "Bearer"}}
_SCHEME_03: Json = {"type": "http", "scheme": "Bearer"}
_REQUIRED_10: Json = {"securityRequirements": [{"schemes": {_BEARER: {}}}]}
_REQUIRED_03: Json = {"security": [{_BEARER: []}]}
"""How callers sign in, per version. Source: A2A 1.0 §4.5; 0.3 §5.5.3."""


# Where the agent is.

_HOST = re.compile(
    r"(?P<name>[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.?|\[(?P<ipv6>[A-Fa-f0-9:.]+)\])(?::(?P<port>\d{1,5}))?", re.ASCII
)
_PREFIX = re.compile(r"(?:/(?!\.{1,2}(?:/|$))[A-Za-z0-9._~-]+)+", re.ASCII)
_MAX_HOST_CHARS = 255
_UNKNOWN_HOST = "localhost"


def public_base(headers: Mapping[str, str], *, configured: str | None, trusted: int, scheme: str = "http") -> str:
    """The address that a caller knows this server by, without a slash at its end.

    Shape: headers by lower-case names; scheme is the connection's. `configured` wins. Else the Host header names the
           host, and X-Forwarded-Proto, -Host and -Prefix count only where proxies in front are trusted: `trusted` is
           how many there are. A value that could be more than a host, a scheme or a path is passed over: nothing of a
           caller's making gets into a card. Headers that came several times are joined, in their order.
    """
    if configured:
        return configured.rstrip("/")
    host = _host(headers.get("host")) or _UNKNOWN_HOST
    if not trusted:
        return f"{scheme}://{host}"
    host = _host(forwarded(headers.get("x-forwarded-host"), trusted)) or host
    proto = (forwarded(headers.get("x-forwarded-proto"), trusted) or "").lower()
    prefix = (forwarded(headers.get("x-forwarded-prefix"), trusted) or "").rstrip("/")
    way = proto if proto in ("http", "https") else scheme
    return f"{way}://{host}{prefix if _PREFIX.fullmatch(prefix) else ''}"


def forwarded(value: str | None, trusted: int) -> str | None:
    """What the first of our proxies wrote, of a list to which each of them appends; none of it is the caller's.

    Shape: trusted is how many there are. Proxies that pass a list on do not make it longer, so the first value counts
           where there are fewer.
    """
    return None if value is None else value.split(",")[-trusted:][0].strip()


def _host(value: str | None) -> str | None:
    """A value that is a host, with or without a port, and can be part of any URL; else None."""
    found = _HOST.fullmatch(value) if value and len(value) <= _MAX_HOST_CHARS else None
    if found is None or int(found["port"] or 1) not in range(1, 65536):
        return None
    try:
        if found["ipv6"]:
            IPv6Address(found["ipv6"])
    except ValueError:
        return None
    return value
