"""Where an agent is: from the URL that a person typed to its card, and from the card to the URL that takes calls.

One rule above all: calls, and the token with them, go to the origin that the person named and to no other, whatever a
card says. A card tells the path. (An edge behind a proxy names its public URL in the card, also when asked privately.)
"""

from ipaddress import ip_address
from urllib.parse import urlsplit

import msgspec

from llamon_agent.cli.exits import NotA2A, Usage

CARD_PATHS = ("/.well-known/agent-card.json", "/.well-known/agent.json")
"""Where a card is looked for, newest convention first. Source: A2A 1.0 §8.2; 0.2.6 §5.3."""


class Address(msgspec.Struct, frozen=True):
    """What the person typed.

    Shape: rpc_path is the path for calls where the URL had one; card_paths are where the card may be: below that path,
           as a server of several agents has it, or at the root.
    """

    origin: str
    rpc_path: str | None
    card_paths: tuple[str, ...]


class Interface(msgspec.Struct, frozen=True, rename="camel"):
    """One way to call an agent. Source: A2A 1.0 §4.4.6 (AgentInterface)."""

    url: str
    protocol_binding: str = ""
    protocol_version: str = ""


class CardSkill(msgspec.Struct, frozen=True):
    name: str = ""
    description: str = ""


class Capabilities(msgspec.Struct, frozen=True):
    streaming: bool | None = None


class Card(msgspec.Struct, frozen=True, rename="camel"):
    """What a person, or this client, wants to know of a card of any version."""

    name: str
    description: str = ""
    version: str = ""
    capabilities: Capabilities = Capabilities()
    skills: tuple[CardSkill, ...] = ()
    supported_interfaces: tuple[Interface, ...] = ()
    url: str | None = None
    protocol_version: str | None = None
    security_schemes: dict[str, msgspec.Raw] | None = None


def read_address(text: str) -> Address:
    """Raises: Usage, with what a URL looks like."""
    try:
        url = urlsplit(text)
        fits = url.scheme in ("http", "https") and url.hostname and url.port != 0
    except ValueError as exc:
        raise Usage(f"{text!r} is not a URL; give one such as http://127.0.0.1:8000") from exc
    if not fits:
        raise Usage(f"{text!r} is not a URL; give one such as http://127.0.0.1:8000")
    if "@" in url.netloc:
        raise Usage("a URL must not hold a user or password; give a token with --token or LLAMON_TOKEN")
    origin = f"{url.scheme}://{url.netloc}"
    path = url.path + (f"?{url.query}" if url.query else "")
    if "/.well-known/" in path or url.path.endswith(".json"):
        return Address(origin, None, (path,))
    if url.path in ("", "/"):
        return Address(origin, None, CARD_PATHS)
    return Address(origin, path, tuple(url.path.rstrip("/") + card for card in CARD_PATHS) + CARD_PATHS)


def read_card(body: bytes, url: str) -> Card:
    """Raises: NotA2A."""
    try:
        return msgspec.json.decode(body, type=Card)
    except (msgspec.DecodeError, RecursionError) as exc:
        raise NotA2A(f"What {url} answers is not an agent card; is there an A2A agent?") from exc


def rpc_url(address: Address, card: Card | None) -> str:
    """Where calls go: the path typed, else the path of the card's JSON-RPC 1.0 interface. Raises: NotA2A."""
    if address.rpc_path is not None:
        return address.origin + address.rpc_path
    if card is None:
        raise NotA2A(f"{address.origin} has no agent card; give the URL that takes the agent's calls")
    found = next((one for one in card.supported_interfaces if _is_json_rpc_1(one)), None)
    if found is None:
        raise NotA2A(f"{card.name} at {address.origin} offers no A2A 1.0 over JSON-RPC, which is what llamon speaks")
    url = urlsplit(found.url)
    return address.origin + (url.path or "/") + (f"?{url.query}" if url.query else "")


def _is_json_rpc_1(interface: Interface) -> bool:
    return interface.protocol_binding == "JSONRPC" and interface.protocol_version.partition(".")[0] == "1"


def is_loopback(host: str) -> bool:
    """Whether a host is this very machine, going by its name."""
    try:
        return host == "localhost" or ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
