"""Refuses requests that may come from another site's web page, before all routes of an edge without a token.

Before the routes, so that none of them can forget it. Each transport still words a refusal in its own shape.

Theory. A page that a person opens may send requests from that person's machine, also to what listens only there. A
token keeps pages out, as they have none. Without one, the guard goes by what browsers say of a request and pages cannot
forge:

- `Origin` and `Sec-Fetch-Site` show that a page of another origin sends it. Every POST has the first; the second is
  there where the edge is at a loopback address or uses TLS.
- `Host` shows by what name the edge is called. A page may have its own name lead to the edge's address, and is then of
  one origin with it. It cannot do so to an address, to `localhost`, or to a name that another site holds.

Programs that are not browsers send neither of the first two, and only need to call the edge by a known name.

Source: Fetch §3.2 (`Origin`); Fetch Metadata §2.3 (`Sec-Fetch-Site`); RFC 6761 §6.3 (`localhost`).
"""

import logging
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from ipaddress import IPv6Address, ip_address
from typing import Protocol, runtime_checkable
from urllib.parse import urlsplit

import msgspec
from starlette.routing import BaseRoute, Match
from starlette.types import Scope, Send

from llamon_agent.domain.errors import MAX_ECHO_CHARS, PermissionDenied
from llamon_agent.inbound.a2a.bindings.asgi import read_headers, respond
from llamon_agent.inbound.a2a.cards.card import forwarded

_AUTHORITY = re.compile(
    r"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::\d{1,5})?",
    re.ASCII,
)
_PORTS = {"http": 80, "https": 443}
_OWN_SITES = frozenset({"same-origin", "none"})
"""What a browser says of the edge's own pages, and of what a person has typed."""


_A_TOKEN = "set a2a.bearer_token on the edge, and send the token"


class KnownHosts(msgspec.Struct, frozen=True, kw_only=True):
    """The host names by which an edge may be called, besides any address and `localhost`.

    Shape: names are lower case, without a port; public_url is the address that callers use, if one is configured;
           origins are those whose pages may call the edge.
    """

    names: frozenset[str] = frozenset()
    public_url: str | None = None
    origins: frozenset[str] = frozenset()


class BrowserHeaders(msgspec.Struct, frozen=True, kw_only=True):
    """The headers by which a page's request differs from others.

    Shape: hosts are all names that the request came to, with their ports, as the client and a trusted proxy say;
           schemes likewise. None is an absent header.
    """

    hosts: tuple[str, ...] = ()
    schemes: tuple[str, ...] = ("http",)
    origin: str | None = None
    site: str | None = None


def known_hosts(
    *, listen: str, public_url: str | None, allowed: Iterable[str], origins: Iterable[str] = ()
) -> KnownHosts:
    """The host names by which an edge may be called. Shape: listen is a host without a port."""
    public = urlsplit(public_url or "").hostname or ""
    names = frozenset(_plain(name) for name in (listen, public, *allowed) if name)
    return KnownHosts(names=names, public_url=public_url, origins=frozenset(origins))


def read_browser_headers(headers: Mapping[bytes, bytes], *, scheme: str, trusted: int) -> BrowserHeaders:
    """What the headers say. Shape: by lower-case names, repeated ones joined; trusted as in `cards.site.CardSite`.

    A proxy's headers count in addition to the client's, not instead of them: a page can send them, too.
    """
    texts = {name: value.decode("latin-1").strip() for name, value in headers.items()}
    of_proxies = (b"x-forwarded-host", b"x-forwarded-proto") if trusted else ()
    said = {name: forwarded(texts.get(name), trusted) for name in of_proxies}
    hosts = (texts.get(b"host"), said.get(b"x-forwarded-host"))
    schemes = (scheme, said.get(b"x-forwarded-proto"))
    return BrowserHeaders(
        hosts=tuple(host for host in hosts if host),
        schemes=tuple(one.lower() for one in schemes if one),
        origin=texts.get(b"origin"),
        site=texts.get(b"sec-fetch-site"),
    )


def decide_refusal(seen: BrowserHeaders, known: KnownHosts, *, is_public: bool = False) -> PermissionDenied | None:
    """Why the request is refused, None if it is not. What is public any page may read, but by known names only."""
    for host in seen.hosts:
        if not _is_known(host, known):
            return PermissionDenied(
                f"This edge has no token and does not know the name {host[:MAX_ECHO_CHARS]!r} by which it is called."
                f" If it is right, set a2a.public_url or a2a.allowed_hosts to it; or {_A_TOKEN}."
            )
    if is_public or not _is_foreign(seen, known):
        return None
    return PermissionDenied(
        "This comes from a web page of another origin, and this edge has no token that would keep such pages out."
        f" If it is right, {_A_TOKEN}."
    )


def _is_known(host: str, known: KnownHosts) -> bool:
    """Whether no page of another site can have this host."""
    found = _AUTHORITY.fullmatch(host)
    if found is None:
        return False
    if found["v6"]:
        return _is_address(found["v6"], IPv6Address)
    name = _plain(found["name"])
    return name == "localhost" or name.endswith(".localhost") or name in known.names or _is_address(name)


def _is_foreign(seen: BrowserHeaders, known: KnownHosts) -> bool:
    """Whether a page sends it that is not of the edge's own origin, nor of one that may call it."""
    if seen.origin in known.origins:
        return False
    if seen.site is not None and seen.site not in _OWN_SITES:
        return True
    if seen.origin is None:
        return False
    own = [f"{scheme}://{host}" for scheme in seen.schemes for host in seen.hosts]
    return _origin_of(seen.origin) not in {_origin_of(url) for url in (*own, known.public_url or "")} - {None}


def _origin_of(url: str) -> tuple[str, str, int] | None:
    """Scheme, host and port; None for what has none, such as the `null` of a page in a sandbox."""
    try:
        split = urlsplit(url)
        port = split.port or _PORTS[split.scheme]
    except (ValueError, KeyError):
        return None
    return split.scheme, _plain(split.hostname or ""), port


def _is_address(text: str, kind: type[IPv6Address] | None = None) -> bool:
    try:
        (kind or ip_address)(text)
    except ValueError:
        return False
    return True


def _plain(name: str) -> str:
    """Names are compared without case, and without the dot of the root at their end."""
    return name.lower().removesuffix(".")


logger = logging.getLogger(__name__)

_MAX_LOGGED_CHARS = 100


@runtime_checkable
class Refusing(Protocol):
    """An application that refuses a request in the shape of its transport."""

    async def refuse(self, error: PermissionDenied, scope: Scope, send: Send) -> None: ...


class WebGuard:
    """Decides on requests for these routes. Shape: public are those that pages of any origin may read."""

    def __init__(
        self, routes: Sequence[BaseRoute], *, public: Collection[BaseRoute], known: KnownHosts, trusted: int = 0
    ) -> None:
        self._routes = routes
        self._public = {id(route): route for route in public}  # routes are compared slowly, and have no hash
        self._known = known
        self._trusted = trusted

    def refusal(self, scope: Scope) -> PermissionDenied | None:
        """Why a request is refused, which is logged; None if it is not."""
        seen = read_browser_headers(read_headers(scope), scheme=scope.get("scheme", "http"), trusted=self._trusted)
        refusal = decide_refusal(seen, self._known)
        if refusal is not None and id(self._route(scope)[0]) in self._public:
            refusal = decide_refusal(seen, self._known, is_public=True)
        if refusal is not None:
            log_refusal(refusal, seen)
        return refusal

    async def refuse(self, error: PermissionDenied, scope: Scope, send: Send) -> None:
        """Answer in the shape of the transport, or as plain JSON where no transport has the path."""
        route, child = self._route(scope)
        app = getattr(route, "app", None)
        if isinstance(app, Refusing):
            await app.refuse(error, {**scope, **child}, send)
        else:
            await respond(send, 403, msgspec.json.encode({"error": error.public}), b"application/json")

    def _route(self, scope: Scope) -> tuple[BaseRoute | None, Scope]:
        """The route that would take the request, and what it adds to the scope."""
        for route in self._routes:
            match, child = route.matches(scope)
            if match is Match.FULL:
                return child.get("route", route), child  # a route that holds others names the one that it found
        return None, {}


def log_refusal(refusal: PermissionDenied, seen: BrowserHeaders) -> None:
    """One line for the edge's operator; the caller does not learn more than the refusal says."""
    said = {"host": ", ".join(seen.hosts), "origin": seen.origin, "sec-fetch-site": seen.site}
    values = ", ".join(f"{name} {value[:_MAX_LOGGED_CHARS]!r}" for name, value in said.items() if value)
    logger.warning("refused: %s (%s)", refusal.public, values)
