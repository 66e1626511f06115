"""The cards over HTTP, and the keys to verify them by: public, cacheable, readable by browsers of any origin."""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import formatdate
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from llamon_agent.inbound.a2a.card import JWKS_PATH, Flavour, etag, public_base
from llamon_agent.inbound.a2a.card_site import Cards, CardSite

if TYPE_CHECKING:
    from llamon_agent.inbound.a2a.card_signing import Signer

_METHODS = ["GET", "OPTIONS"]  # and HEAD, by Starlette

_IS_10 = re.compile(r"1\.0(\.\d+)?", re.ASCII)

PREFLIGHT = {
    "access-control-allow-origin": "*",
    "access-control-allow-methods": "GET, HEAD, OPTIONS",
    "access-control-allow-headers": "A2A-Version, Authorization, Content-Type, If-None-Match",
    "access-control-max-age": "86400",
}


def card_routes(site: CardSite, *, under: str) -> list[BaseRoute]:
    """Both well-known places under a path: the card of our day, and the one of 0.2, where some still look."""
    cards = Cards(site)

    async def current(request: Request) -> Response:
        version = request.headers.get("a2a-version") or request.query_params.get("A2A-Version") or ""
        return _card(request, site, cards, "1.0" if _IS_10.fullmatch(version.strip()) else "hybrid")

    async def old(request: Request) -> Response:
        return _card(request, site, cards, "0.3")

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


def _card(request: Request, site: CardSite, cards: Cards, flavour: Flavour) -> Response:
    scheme = request.scope.get("scheme", "http")
    base_url = public_base(request.headers, configured=site.public_url, trusted=site.trusted, scheme=scheme)
    card = cards.card(base_url, flavour)
    headers = {"last-modified": formatdate(site.started_s, usegmt=True), "vary": _vary(site)}
    return _public(request, card.body, card.etag, media_type="application/json", extra=headers)


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
    if _has(tag, request.headers.get("if-none-match", "")):
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=media_type, headers=headers)


def _vary(site: CardSite) -> str:
    """Which request headers the card depends on."""
    forwarded = ", X-Forwarded-Proto, X-Forwarded-Host, X-Forwarded-Prefix" if site.trusted else ""
    return "A2A-Version, Host" + forwarded


def _has(tag: str, if_none_match: str) -> bool:
    """Whether the client has that card already; caches may have weakened the tag."""
    tags = [known.strip().removeprefix("W/") for known in if_none_match.split(",")]
    return tag in tags or "*" in tags
