"""An agent card of any version, and the one interface of it to speak to."""

from urllib.parse import urlsplit

import msgspec

from llamon_agent.client.agent_url import AgentUrl
from llamon_agent.client.errors import NotA2A
from llamon_agent.wire.json_body import complaint_of

JSON_RPC, HTTP_JSON = "JSONRPC", "HTTP+JSON"

BINDINGS = (JSON_RPC, HTTP_JSON)
"""The bindings that we speak, the one we like better first."""


class Interface(msgspec.Struct, frozen=True, rename="camel"):
    """One way to call an agent. Source: A2A 1.0 §4.4.6 (AgentInterface); 0.3 §5.5.5, where it has a `transport`."""

    url: str
    protocol_binding: str | None = None
    protocol_version: str | None = None
    tenant: str | None = None
    transport: str | None = None

    @property
    def version(self) -> str | None:
        """The version that we would speak; one that says nothing is taken for 1.0, as the official SDK does."""
        major = (self.protocol_version or "1.0").partition(".")[0]
        return {"0": "0.3", "1": "1.0"}.get(major)

    @property
    def path(self) -> str:
        """What follows an origin: it starts with a slash, as it would become part of the host's name otherwise.

        Raises: ValueError.
        """
        url = urlsplit(self.url)
        return "/" + url.path.removeprefix("/") + (f"?{url.query}" if url.query else "")


class CardSkill(msgspec.Struct, frozen=True):
    name: str | None = None
    description: str | None = None


class Capabilities(msgspec.Struct, frozen=True):
    streaming: bool | None = None


class Card(msgspec.Struct, frozen=True, rename="camel"):
    """What a person, or this client, wants to know of a card of any version."""

    name: str
    description: str | None = None
    version: str | None = None
    capabilities: Capabilities | None = None
    skills: tuple[CardSkill, ...] | None = None
    supported_interfaces: tuple[Interface, ...] | None = None
    url: str | None = None
    preferred_transport: str | None = None
    additional_interfaces: tuple[Interface, ...] | None = None
    protocol_version: str | None = None
    security_schemes: dict[str, msgspec.Raw] | None = None

    @property
    def streams(self) -> bool:
        return self.capabilities is not None and bool(self.capabilities.streaming)

    @property
    def interfaces(self) -> tuple[Interface, ...]:
        """The ways to call the agent; 0.3's fields count where there are none of 1.0. Source: A2A 0.3 §5.5, §5.6."""
        if self.supported_interfaces or not self.url:
            return self.supported_interfaces or ()
        version = self.protocol_version or "0.2"
        others = [(one.url, one.transport) for one in self.additional_interfaces or ()]
        ways = dict.fromkeys([(self.url, self.preferred_transport or JSON_RPC), *others])
        return tuple(Interface(url, binding, version) for url, binding in ways)


class FoundCard(msgspec.Struct, frozen=True):
    """A card as it is served, and the path at which it was found."""

    body: bytes
    path: str


def read_card(body: bytes, url: str) -> Card:
    """Raises: NotA2A, which names the field where only one is wrong."""
    try:
        return msgspec.json.decode(body, type=Card)
    except msgspec.ValidationError as exc:
        complaint, field = complaint_of(exc)
        what = f"in its JSON, {complaint.rstrip('.')}" if field else "its JSON is no object"
        raise NotA2A(detail=f"What {url} answers is not an agent card: {what}") from exc
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        raise NotA2A(detail=f"What {url} answers is not an agent card; is there an A2A agent?") from exc


def decide_interface(card: Card | None, url: AgentUrl, *, found_at: str | None = None) -> Interface:
    """The one interface to speak to, at the origin that was named.

    Shape: where the URL names the path of calls, that path is called, as the card describes it; without a card, or
           where that describes nothing of the kind, with JSON-RPC 1.0. found_at is the card's path: a URL that answers
           with the card is no path of calls.
    Raises: NotA2A.
    """
    call_path = None if found_at == url.call_path else url.call_path
    try:
        known = [one for one in card.interfaces if _is_known(one)] if card else []
        if call_path is not None:
            there = [one for one in known if _is_at(one, call_path)]
            known = there or [one for one in known if one.protocol_binding == JSON_RPC]
            known = known or [Interface(call_path, JSON_RPC, "1.0")]
        best = min(known, key=_preference, default=None)
        path = call_path or (best.path if best else "")
    except ValueError as exc:
        raise NotA2A(detail=f"The card at {url.origin} has an interface whose url is none") from exc
    if best is None:
        raise NotA2A(detail=_why_none(card, url))
    return msgspec.structs.replace(best, url=url.origin + path)


def _is_known(interface: Interface) -> bool:
    return interface.protocol_binding in BINDINGS and interface.version is not None


def _is_at(interface: Interface, path: str) -> bool:
    return interface.path.rstrip("/") == path.rstrip("/")


def _preference(interface: Interface) -> tuple[int, bool]:
    return BINDINGS.index(interface.protocol_binding or ""), interface.version == "0.3"


def _why_none(card: Card | None, url: AgentUrl) -> str:
    if card is None:
        return f"{url.origin} has no agent card; give the URL that takes the agent's calls"
    return (
        f"{card.name} at {url.origin} offers no A2A 1.0 or 0.3 over JSON-RPC or HTTP+JSON, which is what llamon speaks"
    )
