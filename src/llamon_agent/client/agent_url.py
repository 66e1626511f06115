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


class AgentUrl:
    """What stands in front of an agent's `/.well-known/`, or its card's own URL.

    Shape: with `takes_calls`, a path is the one that takes the calls, and the card may be below it or at the root.
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
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        prefix = parts.path.rstrip("/")
        is_card = "/.well-known/" in path or parts.path.endswith(".json")
        below = tuple(prefix + card for card in CARD_PATHS)
        self.call_path = path if takes_calls and prefix and not is_card else None
        self.card_paths = (path,) if is_card else below + (CARD_PATHS if self.call_path else ())


def is_loopback(host: str) -> bool:
    """Whether a host is this very machine, going by its name."""
    try:
        return host == "localhost" or ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
