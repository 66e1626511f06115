"""0.3's agent card as its protobuf has it, of its JSON.

Source: A2A 0.3.0, `a2a.proto` (AgentCard, Security, SecurityScheme).
"""

from typing import Any

import msgspec

_NOT_IN_PROTO = ("stateTransitionHistory",)


def proto_card_03(body: bytes) -> bytes:
    """The ProtoJSON of a card. Schemes are wrapped by their kind, of which ours have one: HTTP."""
    card: dict[str, Any] = msgspec.json.decode(body)
    capabilities = {key: value for key, value in card["capabilities"].items() if key not in _NOT_IN_PROTO}
    changed: dict[str, Any] = {"capabilities": capabilities}
    if "securitySchemes" in card:
        changed["securitySchemes"] = {
            name: {"httpAuthSecurityScheme": {"scheme": scheme["scheme"]}}
            for name, scheme in card["securitySchemes"].items()
        }
    if "security" in card:
        changed["security"] = [
            {"schemes": {name: {"list": scopes} for name, scopes in way.items()}} for way in card["security"]
        ]
    return msgspec.json.encode(card | changed)
