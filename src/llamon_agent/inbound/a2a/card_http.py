"""The cards over HTTP: public, cacheable, readable by browsers of any origin."""

import re
from email.utils import formatdate

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from llamon_agent.domain.profile import Profile
from llamon_agent.inbound.a2a.card import Flavour, etag, public_base, write_card

_IS_10 = re.compile(r"1\.0(\.\d+)?", re.ASCII)

PREFLIGHT = {
    "access-control-allow-origin": "*",
    "access-control-allow-methods": "GET, HEAD, OPTIONS",
    "access-control-allow-headers": "A2A-Version, Authorization, Content-Type, If-None-Match",
    "access-control-max-age": "86400",
}


class CardSite(msgspec.Struct, frozen=True, kw_only=True):
    """Whose card it is and where its agent is; the fields are those of `http.routes`."""

    profile: Profile
    path: str
    public_url: str | None
    trusted: bool
    started_s: float


def card_routes(site: CardSite, *, under: str) -> list[BaseRoute]:
    """Both well-known places under a path: the card of our day, and the one of 0.2, where some still look."""

    async def current(request: Request) -> Response:
        version = request.headers.get("a2a-version") or request.query_params.get("A2A-Version") or ""
        return _card(site, request, "1.0" if _IS_10.fullmatch(version.strip()) else "hybrid")

    async def old(request: Request) -> Response:
        return _card(site, request, "0.3")

    methods = ["GET", "OPTIONS"]  # and HEAD, by Starlette
    return [
        Route(f"{under}/.well-known/agent-card.json", current, methods=methods),
        Route(f"{under}/.well-known/agent.json", old, methods=methods),
    ]


def _card(site: CardSite, request: Request, flavour: Flavour) -> Response:
    """Source: A2A 1.0 §8.6.1 (caching); RFC 9110 §13.1.2 (If-None-Match)."""
    if request.method == "OPTIONS":
        return Response(status_code=204, headers=PREFLIGHT)
    base_url = public_base(
        request.headers, configured=site.public_url, trusted=site.trusted, scheme=request.scope.get("scheme", "http")
    )
    card = write_card(site.profile, base_url=base_url, path=site.path, flavour=flavour)
    tag = etag(card)
    headers = {
        "access-control-allow-origin": "*",
        "access-control-expose-headers": "ETag, Last-Modified",
        "cache-control": "public, max-age=300",
        "etag": tag,
        "last-modified": formatdate(site.started_s, usegmt=True),
        "vary": _vary(site),
    }
    if _has(tag, request.headers.get("if-none-match", "")):
        return Response(status_code=304, headers=headers)
    return Response(card, media_type="application/json", headers=headers)


def _vary(site: CardSite) -> str:
    """Which request headers the card depends on."""
    forwarded = ", X-Forwarded-Proto, X-Forwarded-Host, X-Forwarded-Prefix" if site.trusted else ""
    return "A2A-Version, Host" + forwarded


def _has(tag: str, if_none_match: str) -> bool:
    """Whether the client has that card already; caches may have weakened the tag."""
    tags = [known.strip().removeprefix("W/") for known in if_none_match.split(",")]
    return tag in tags or "*" in tags
