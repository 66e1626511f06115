"""What stands before all routes of an edge without a token, and refuses what may come from somebody else's web page.

Before the routes, so that none of them can forget to ask. How a refusal is told is still the affair of the transport.
"""

import logging
from collections.abc import Collection, Sequence
from typing import Protocol, runtime_checkable

import msgspec
from starlette.routing import BaseRoute, Match
from starlette.types import Scope, Send

from llamon_agent.domain.errors import PermissionDenied
from llamon_agent.inbound.a2a.admission import read_headers, respond
from llamon_agent.inbound.a2a.web_pages import Asked, KnownHosts, decide_refusal, read_asked

logger = logging.getLogger(__name__)

_MAX_LOGGED_CHARS = 100


@runtime_checkable
class Refusing(Protocol):
    """An application that tells in the shape of its transport that a request is refused."""

    async def refuse(self, error: PermissionDenied, scope: Scope, send: Send) -> None: ...


class WebGuard:
    """Decides on requests for these routes. Shape: public are those that pages of any origin may read."""

    def __init__(
        self, routes: Sequence[BaseRoute], *, public: Collection[BaseRoute], known: KnownHosts, trusted: bool = False
    ) -> None:
        self._routes = routes
        self._public = public
        self._known = known
        self._trusted = trusted

    def refusal(self, scope: Scope) -> PermissionDenied | None:
        """Why a request is refused, which is logged; None if it is not."""
        asked = read_asked(read_headers(scope), scheme=scope.get("scheme", "http"), trusted=self._trusted)
        refusal = decide_refusal(asked, self._known)
        if refusal is not None and self._route(scope)[0] in self._public:
            refusal = decide_refusal(asked, self._known, is_public=True)
        if refusal is not None:
            log_refusal(refusal, asked)
        return refusal

    async def refuse(self, error: PermissionDenied, scope: Scope, send: Send) -> None:
        """Tell it in the shape of the transport, or as plain JSON where the path is no call's."""
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
                return route, child
        return None, {}


def log_refusal(refusal: PermissionDenied, asked: Asked) -> None:
    """One line for whoever runs the edge; a page that is refused is told to nobody else."""
    said = {"host": ", ".join(asked.hosts), "origin": asked.origin, "sec-fetch-site": asked.site}
    heard = ", ".join(f"{name} {value[:_MAX_LOGGED_CHARS]!r}" for name, value in said.items() if value)
    logger.warning("refused: %s (%s)", refusal.public, heard)
