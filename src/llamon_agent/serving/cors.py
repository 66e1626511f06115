"""Calls from web pages of the origins that `a2a.cors_origins` lists.

Cards and the list of agents are not concerned: they answer pages of all origins by themselves.

Source: Fetch §3.3 (the CORS protocol).
"""

from collections.abc import Collection

from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from llamon_agent.config.edge import A2aConfig

_METHODS = ("GET", "POST", "DELETE")
_REQUEST_HEADERS = (
    "A2A-Extensions",
    "A2A-Version",
    "Accept",
    "Authorization",
    "Content-Type",
    "Idempotency-Key",
    "Last-Event-ID",
    "X-A2A-Extensions",
)
_RESPONSE_HEADERS = ("A2A-Extensions", "WWW-Authenticate", "X-A2A-Extensions")
_MAX_AGE_S = 86_400


class Cors:
    """Answers preflights, and lets listed origins read the responses of an application."""

    def __init__(self, app: ASGIApp, a2a: A2aConfig, public: Collection[BaseRoute]) -> None:
        self._public_paths = frozenset(route.path for route in public if isinstance(route, Route))
        self._app = CORSMiddleware(
            app,
            allow_origins=a2a.cors_origins,
            allow_methods=_METHODS,
            allow_headers=(*_REQUEST_HEADERS, *a2a.caller_headers),
            expose_headers=_RESPONSE_HEADERS,
            max_age=_MAX_AGE_S,
        )

    def concerns(self, scope: Scope) -> bool:
        """Whether the request is for something else than what all origins may read."""
        return scope["path"] not in self._public_paths or scope["method"] == "POST"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)
