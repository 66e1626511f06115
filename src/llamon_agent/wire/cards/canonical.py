"""What a signature of a card is made over: the forms that a card takes before it becomes canonical bytes.

A2A 1.0 §8.4.1 signs a card as ProtoJSON writes it: fields that 1.0 does not know are not there, and neither are values
that say no more than their absence. Verifiers differ in how far they follow, so a card is signed in each form that one
of them computes, and a verifier takes the signature that fits:

- `whole`: the card as it is served, for verifiers that canonicalize what they got;
- `1.0`: what 1.0 knows of it, to the letter of the clause: required and explicitly set fields stay, even if empty;
- `bare`: that, without anything that is empty at any depth, which is what the official SDKs of 1.0 compute.

They are one and the same for most pure cards. The hybrid card's 0.3 fields make the difference, and a requirement
without scopes (`{"bearer": {}}`), which the official SDKs pass over.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
import rfc8785

from llamon_agent.domain.errors import LlamonError

Json = dict[str, Any]


class NotCanonical(LlamonError):
    """A card that has no canonical form. Source: RFC 8785 §3.2."""

    public = "The card cannot be put into canonical form."


def canonical(value: Json) -> bytes:
    """The one spelling of a JSON value. Raises: NotCanonical. Source: RFC 8785."""
    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, RecursionError) as exc:
        raise NotCanonical from exc


def canonical_forms(card: Json) -> tuple[Json, ...]:
    """The forms of a card, of those that are the same only one; that of the official SDKs first.

    Source: A2A 1.0 §8.4.1. 0.3 has no rule, so a card that knows nothing of 1.0 has one form, the whole.
    """
    unsigned = whole(card)
    if "supportedInterfaces" not in card:
        return (unsigned,)
    new = known_to_10(card)
    distinct = {canonical(form): form for form in (without_empty(new), new, unsigned)}
    return tuple(distinct.values())


def whole(card: Json) -> Json:
    """All of a card but its signatures."""
    return {key: value for key, value in card.items() if key != "signatures"}


def known_to_10(card: Json) -> Json:
    """What A2A 1.0 knows of a card, without its signatures and without what ProtoJSON leaves out.

    Source: A2A 1.0 §8.4.1.
    """
    known: Json = _known(card, _CARD)
    return known


def without_empty(value: Any) -> Any:
    """A value without empty texts, lists, objects and nulls at any depth; None where nothing is left."""
    if isinstance(value, dict):
        return {key: kept for key, one in value.items() if (kept := without_empty(one)) is not None} or None
    if isinstance(value, list):
        return [kept for one in value if (kept := without_empty(one)) is not None] or None
    return None if value == "" else value


def uncovered_fields(card: Json, form: Json) -> tuple[str, ...]:
    """The keys of a card of which a form says less: what may change without breaking a signature over the form."""
    said, signed = _said(whole(card)), _said(form)
    return tuple(key for key, value in said.items() if value != signed.get(key))


def _said(value: Any) -> Any:
    """A value without the fields whose absence would say the same. An empty object is none: its key may be a name."""
    if isinstance(value, dict):
        return {key: _said(one) for key, one in value.items() if one or one == {}}
    if isinstance(value, list):
        return [_said(one) for one in value if one or one == {}]
    return value


class _Shape(msgspec.Struct, frozen=True):
    """A message of 1.0.

    Shape: kept are its fields that are required or have presence, plain those that are left out at their default;
           inside says what the messages in them are, in_map the same for fields that map names to messages.
    """

    kept: tuple[str, ...] = ()
    plain: tuple[str, ...] = ()
    inside: Mapping[str, "_Shape"] = {}
    in_map: Mapping[str, "_Shape"] = {}


def _known(value: Any, shape: _Shape) -> Any:
    if isinstance(value, list):
        return [_known(one, shape) for one in value]
    if not isinstance(value, dict):
        return value
    there = {key: one for key, one in value.items() if (key in shape.kept and one is not None) or key in shape.plain}
    return {key: _field(one, key, shape) for key, one in there.items() if one or key not in shape.plain}


def _field(value: Any, key: str, shape: _Shape) -> Any:
    if key in shape.inside:
        return _known(value, shape.inside[key])
    if key in shape.in_map and isinstance(value, dict):
        return {name: _known(one, shape.in_map[key]) for name, one in value.items()}
    return value


# The messages that a card is made of. Source: A2A 1.0 §4.4, §4.5; the presence of each field is the proto's.

_REQUIREMENT = _Shape(plain=("schemes",), in_map={"schemes": _Shape(plain=("list",))})
_INTERFACE = _Shape(kept=("url", "protocolBinding", "protocolVersion"), plain=("tenant",))
_EXTENSION = _Shape(kept=("params",), plain=("uri", "description", "required"))
_CAPABILITIES = _Shape(
    kept=("streaming", "pushNotifications", "extendedAgentCard"),
    plain=("extensions",),
    inside={"extensions": _EXTENSION},
)
_SKILL = _Shape(
    kept=("id", "name", "description", "tags"),
    plain=("examples", "inputModes", "outputModes", "securityRequirements"),
    inside={"securityRequirements": _REQUIREMENT},
)
_FLOWS = _Shape(
    kept=("authorizationCode", "clientCredentials", "implicit", "password", "deviceCode"),
    inside={
        "authorizationCode": _Shape(
            kept=("authorizationUrl", "tokenUrl", "scopes"), plain=("refreshUrl", "pkceRequired")
        ),
        "clientCredentials": _Shape(kept=("tokenUrl", "scopes"), plain=("refreshUrl",)),
        "implicit": _Shape(plain=("authorizationUrl", "refreshUrl", "scopes")),
        "password": _Shape(plain=("tokenUrl", "refreshUrl", "scopes")),
        "deviceCode": _Shape(kept=("deviceAuthorizationUrl", "tokenUrl", "scopes"), plain=("refreshUrl",)),
    },
)
_SCHEMES = {
    "apiKeySecurityScheme": _Shape(kept=("location", "name"), plain=("description",)),
    "httpAuthSecurityScheme": _Shape(kept=("scheme",), plain=("description", "bearerFormat")),
    "oauth2SecurityScheme": _Shape(
        kept=("flows",), plain=("description", "oauth2MetadataUrl"), inside={"flows": _FLOWS}
    ),
    "openIdConnectSecurityScheme": _Shape(kept=("openIdConnectUrl",), plain=("description",)),
    "mtlsSecurityScheme": _Shape(plain=("description",)),
}
_CARD = _Shape(
    kept=(
        "name",
        "description",
        "supportedInterfaces",
        "provider",
        "version",
        "documentationUrl",
        "capabilities",
        "defaultInputModes",
        "defaultOutputModes",
        "skills",
        "iconUrl",
    ),
    plain=("securitySchemes", "securityRequirements"),
    inside={
        "supportedInterfaces": _INTERFACE,
        "provider": _Shape(kept=("url", "organization")),
        "capabilities": _CAPABILITIES,
        "securityRequirements": _REQUIREMENT,
        "skills": _SKILL,
    },
    in_map={"securitySchemes": _Shape(kept=tuple(_SCHEMES), inside=_SCHEMES)},
)
