"""Where a remote agent is, and how to speak to it: from its URL to its card, and from the card to one interface.

One rule above all: calls, and the token with them, go to the origin that the URL names and to no other, whatever a card
says. A card tells the path. (An agent behind a proxy names its public URL in the card, also when asked privately.)
"""

from ipaddress import ip_address
from urllib.parse import urlsplit

from a2a.types import a2a_pb2 as pb
from a2a.utils.constants import TransportProtocol

from llamon_agent.domain.errors import ConfigError
from llamon_agent.outbound.history import Dialect

CARD_PATHS = ("/.well-known/agent-card.json", "/.well-known/agent.json")
"""Where a card is looked for, newest convention first. Source: A2A 1.0 §8.2; 0.2.6 §5.3."""

BINDINGS = (TransportProtocol.JSONRPC.value, TransportProtocol.HTTP_JSON.value)
"""The bindings that we speak, the one we like better first."""


class Address:
    """A remote agent's URL: what stands in front of `/.well-known/`, or the card's own URL.

    Raises: ConfigError if it is none.
    """

    def __init__(self, url: str) -> None:
        try:
            parts = urlsplit(url)
            fits = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and "@" not in parts.netloc
        except ValueError:
            fits = None
        if not fits:
            raise ConfigError(f"{url!r} is not the URL of an agent; give one such as http://127.0.0.1:8000")
        self.origin = f"{parts.scheme}://{parts.netloc}"
        path = parts.path.rstrip("/")
        self.card_paths = (path,) if path.endswith(".json") else tuple(path + well_known for well_known in CARD_PATHS)
        self.is_loopback = _is_loopback(parts.hostname or "")


def decide_interface(card: pb.AgentCard, origin: str) -> pb.AgentInterface | None:
    """The one interface of a card to speak to, at the origin; None if there is none that we can speak to."""
    known = [one for one in card.supported_interfaces if one.protocol_binding in BINDINGS]
    if not known:
        return None
    best = min(known, key=lambda one: (BINDINGS.index(one.protocol_binding), dialect_of(one) is Dialect.V03))
    at = urlsplit(best.url)
    best.url = origin + (at.path or "/") + (f"?{at.query}" if at.query else "")
    return best


def dialect_of(interface: pb.AgentInterface) -> Dialect:
    """Source: A2A 1.0 §4.4.6; an interface without a version is taken for 1.0, as the official SDK does."""
    return Dialect.V03 if interface.protocol_version.startswith("0.") else Dialect.V10


def _is_loopback(host: str) -> bool:
    """Whether a host is this very machine, going by its name."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
