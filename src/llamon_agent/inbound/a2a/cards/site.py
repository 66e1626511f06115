"""An agent's cards, each written once: a card that is asked for again is neither built nor signed again.

A signature of most algorithms differs each time it is made, so without that a card would have another ETag every time.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

import msgspec

from llamon_agent.domain.profile import Profile, Scheme, extended
from llamon_agent.inbound.a2a.cards.card import Flavour, Interfaces, card_of, etag, write_card

if TYPE_CHECKING:
    from llamon_agent.wire.cards.signing import Signer

_KEPT = 64
"""How many cards of an agent are kept. A caller may ask by as many names as it likes; few ask by more than two."""


class GrpcPort(msgspec.Struct, frozen=True, kw_only=True):
    """Where an agent takes gRPC calls, for a card that says so.

    Shape: its host is the base URL's; scheme is what 0.3's card puts before the address, if anything; tenant is what
           means this agent there, None for the default one.
    """

    port: int
    scheme: Scheme | None = None
    tenant: str | None = None


class Written(msgspec.Struct, frozen=True):
    """A card's bytes and their ETag."""

    body: bytes
    etag: str


class CardSite(msgspec.Struct, frozen=True, kw_only=True):
    """Whose cards they are and where the agent is.

    Shape: path takes the agent's JSON-RPC calls, and begins its paths of HTTP+JSON; public_url is the address that
           callers use, None to go by the Host header; trusted is how many proxies of ours set X-Forwarded-*; grpc is
           None for cards without it, signer for cards that are not signed; plain is the card at the well-known
           place for clients that ask for no version.
    Units: started_s is seconds since 1970 UTC, what the cards say as Last-Modified.
    """

    profile: Profile
    path: str
    started_s: float
    public_url: str | None = None
    trusted: int = 0
    grpc: GrpcPort | None = None
    signer: Signer | None = None
    plain: Flavour = "hybrid"

    @property
    def new(self) -> Flavour:
        """The card for clients that ask for 1.0; some of them look there for 0.3's interfaces, too."""
        return "1.0" if self.plain == "hybrid" else self.plain


class Cards:
    """The cards of one site. Shape: a base_url has no slash at its end."""

    def __init__(self, site: CardSite) -> None:
        self.site = site
        self._written = lru_cache(maxsize=_KEPT)(self._write)

    def card(self, base_url: str, flavour: Flavour) -> Written:
        """The public card."""
        return self._written(base_url, flavour, False)

    def extended_card(self, base_url: str, version: Literal["1.0", "0.3"]) -> bytes:
        """The card for authenticated callers, in their version's shape. Source: A2A 1.0 §3.1.11; 0.3 §7.10."""
        return self._written(base_url, self.site.new if version == "1.0" else version, True).body

    def _write(self, base_url: str, flavour: Flavour, is_extended: bool) -> Written:
        site = self.site
        profile = extended(site.profile) if is_extended else site.profile
        card = card_of(profile, interfaces(site, base_url), flavour)
        body = write_card(site.signer.sign(card, base_url) if site.signer else card)
        return Written(body, etag(body))


def interfaces(site: CardSite, base_url: str) -> Interfaces:
    """Where clients that know this server as `base_url` call the agent."""
    here = Interfaces(url=base_url + site.path)
    if site.grpc is None:
        return here
    host = urlsplit(base_url).hostname or ""
    return msgspec.structs.replace(
        here,
        grpc=f"[{host}]:{site.grpc.port}" if ":" in host else f"{host}:{site.grpc.port}",
        grpc_scheme=site.grpc.scheme,
        grpc_tenant=site.grpc.tenant,
    )
