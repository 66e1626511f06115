"""The cards over HTTP, and the keys to verify them by: public, cacheable, readable by browsers of any origin."""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import formatdate
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from llamon_agent.inbound.a2a.bindings.asgi import base_url_headers, base_url_of, read_headers, version_of
from llamon_agent.inbound.a2a.cards.card import Flavour, etag
from llamon_agent.inbound.a2a.cards.site import Cards, CardSite
from llamon_agent.wire.cards.signing import JWKS_PATH

if TYPE_CHECKING:
    from llamon_agent.wire.cards.signing import Signer

_METHODS = ["GET", "OPTIONS"]  # and HEAD, by Starlette

_IS_10 = re.compile(r"1\.0(\.\d+)?", re.ASCII)

PREFLIGHT = {
    "access-control-allow-origin": "*",
    "access-control-allow-methods": "GET, HEAD, OPTIONS",
    "access-control-allow-headers": "A2A-Version, Authorization, Content-Type, If-None-Match",
    "access-control-max-age": "86400",
}


def card_routes(cards: Cards, *, under: str) -> list[BaseRoute]:
    """Both well-known places under a path: the card of our day, and the one of 0.2, where some still look."""

    async def current(request: Request) -> Response:
        version = version_of(request.scope, read_headers(request.scope)) or ""
        return _card(request, cards, cards.site.new if _IS_10.fullmatch(version.strip()) else cards.site.plain)

    async def old(request: Request) -> Response:
        return _card(request, cards, "0.3")

    return [
        Route(f"{under}/.well-known/agent-card.json", current, methods=_METHODS),
        Route(f"{under}/.well-known/agent.json", old, methods=_METHODS),
    ]


def jwks_route(signer: Signer) -> BaseRoute:
    """The public keys, one place for all agents. Source: A2A 1.0 §8.4.2 (`jku`); RFC 7517 §8.5.1 (the type)."""
    body = signer.write_jwks()
    tag = etag(body)

    async def keys(request: Request) -> Response:
        return _public(request, body, tag, media_type="application/jwk-set+json")

    return Route(JWKS_PATH, keys, methods=_METHODS)


def _card(request: Request, cards: Cards, flavour: Flavour) -> Response:
    site = cards.site
    headers = read_headers(request.scope)
    base_url = base_url_of(request.scope, headers, configured=site.public_url, trusted=site.trusted)
    card = cards.card(base_url, flavour)
    extra = {"last-modified": formatdate(site.started_s, usegmt=True), "vary": _vary(site)}
    return _public(request, card.body, card.etag, media_type="application/json", extra=extra)


def _public(request: Request, body: bytes, tag: str, *, media_type: str, extra: Mapping[str, str] = {}) -> Response:
    """Source: A2A 1.0 §8.6.1 (caching); RFC 9110 §13.1.2 (If-None-Match)."""
    if request.method == "OPTIONS":
        return Response(status_code=204, headers=PREFLIGHT)
    headers = {
        "access-control-allow-origin": "*",
        "access-control-expose-headers": "ETag, Last-Modified",
        "cache-control": "public, max-age=300",
        "etag": tag,
        **extra,
    }
    if _has(tag, read_headers(request.scope).get(b"if-none-match", b"").decode("latin-1")):
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=media_type, headers=headers)


def _vary(site: CardSite) -> str:
    """Which request headers the card depends on."""
    return f"A2A-Version, {', '.join(base_url_headers(trusted=site.trusted))}"


def _has(tag: str, if_none_match: str) -> bool:
    """Whether the client has that card already; caches may have weakened the tag."""
    tags = [known.strip().removeprefix("W/") for known in if_none_match.split(",")]
    return tag in tags or "*" in tags
