"""A remote agent's URL, as a person or a host gives it.

One rule above all: calls, and the token with them, go to the origin that the URL names and to no other, whatever a card
says. A card gives the path. (An agent with a proxy in front names its public URL in the card, also when asked
privately.)
"""

from ipaddress import ip_address
from urllib.parse import urlsplit

from llamon_agent.domain.errors import ConfigError

CARD_PATHS = ("/.well-known/agent-card.json", "/.well-known/agent.json")
"""Where a card is looked for, newest convention first. Source: A2A 1.0 §8.2; 0.2.6 §5.3."""

_CARD_ENDS = (".json", "/v1/card", "/extendedAgentCard")
"""How paths end that take no calls but answer with a card. Source: A2A 0.3 §7.10; 1.0 §11.3.5."""


class AgentUrl:
    """What stands in front of an agent's `/.well-known/`, or its card's own URL.

    Shape: with `takes_calls`, a path is the one that takes the calls, and the card may be below it or at the root.
           own_path is where the URL itself leads, which may be the card; None where that is looked at anyway.
    Raises: ConfigError if it is none.
    """

    def __init__(self, url: str, *, takes_calls: bool = False) -> None:
        try:
            parts = urlsplit(url)
            fits = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:
            fits = None
        if not fits:
            raise ConfigError(f"{url!r} is not a URL; give one such as http://127.0.0.1:8000")
        if "@" in parts.netloc:
            raise ConfigError("A URL must not hold a user or a password; give a token instead.")
        self.origin = f"{parts.scheme}://{parts.netloc}"
        self.is_loopback = is_loopback(parts.hostname or "")
        query = f"?{parts.query}" if parts.query else ""
        path = parts.path + query
        prefix = parts.path.rstrip("/")
        is_card = "/.well-known/" in path or parts.path.endswith(_CARD_ENDS)
        self.own_path = path if prefix and not is_card else None
        self.call_path = self.own_path if takes_calls else None
        places = (prefix, "") if self.call_path else (prefix,)
        self.card_paths = (path,) if is_card else tuple(place + card + query for place in places for card in CARD_PATHS)


def is_loopback(host: str) -> bool:
    """Whether a host is this very machine, going by its name."""
    try:
        return host == "localhost" or ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
