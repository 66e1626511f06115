"""What supervisors and balancers ask over HTTP: whether the process lives, and whether it is to be sent work.

Public: no token is asked for, and an answer names what is wrong by a word of ours and says nothing else.
"""

from collections.abc import Awaitable, Callable, Sequence

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route

_ALIVE_PATHS = ("/livez", "/healthz", "/health")
_READY_PATH = "/readyz"
_FRESH = {"cache-control": "no-store"}


def health_routes(failing: Callable[[], Awaitable[Sequence[str]]]) -> list[BaseRoute]:
    """One set for all agents. Shape: failing gives the names of what keeps the process from being ready."""

    async def ready(_request: Request) -> JSONResponse:
        found = await failing()
        if not found:
            return JSONResponse({"status": "ok"}, headers=_FRESH)
        return JSONResponse({"status": "unavailable", "failing": list(found)}, status_code=503, headers=_FRESH)

    return [*(Route(path, _alive) for path in _ALIVE_PATHS), Route(_READY_PATH, ready)]


async def _alive(_request: Request) -> JSONResponse:
    """The process answers, so its loop turns; nothing else is asked, or a store that is away would have it killed."""
    return JSONResponse({"status": "ok"}, headers=_FRESH)
