"""The routes of all agents of an edge as one route, which looks up the agent by the first segment of the path.

A router tries its routes one after the other. With the routes of every agent in that list, a call over HTTP+JSON and a
card would cost the more, the more agents there are.
"""

from collections.abc import Mapping, Sequence

from starlette.datastructures import URLPath
from starlette.routing import BaseRoute, Match, NoMatchFound
from starlette.types import Receive, Scope, Send

from llamon_agent.inbound.a2a.bindings.asgi import root_of

_ROUTE = "route"
"""Where the scope names the route that was found; Starlette's own router uses this key, too."""


class RoutesByAgent(BaseRoute):
    """The routes of agents, by the names that follow `path` in a URL. Shape: each agent's in the order of trying."""

    def __init__(self, path: str, by_name: Mapping[str, Sequence[BaseRoute]]) -> None:
        self._above = path.rstrip("/") + "/"
        self._by_name = by_name

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """The best match of the agent's routes, as a router finds it; the route itself is in the scope it returns."""
        best: tuple[Match, Scope] = (Match.NONE, {})
        for route in self._routes_at(scope):
            match, child = route.matches(scope)
            if match is Match.FULL:
                return match, {**child, _ROUTE: route}
            if match is Match.PARTIAL and best[0] is Match.NONE:
                best = match, {**child, _ROUTE: route}
        return best

    def _routes_at(self, scope: Scope) -> Sequence[BaseRoute]:
        if scope["type"] != "http":
            return ()
        begin = len(root_of(scope))
        path: str = scope["path"]
        if not path.startswith(self._above, begin):
            return ()
        name, _, _ = path[begin + len(self._above) :].partition("/")
        return self._by_name.get(name, ())

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await scope[_ROUTE].handle(scope, receive, send)

    def url_path_for(self, name: str, /, **path_params: object) -> URLPath:
        """No path here has a name."""
        raise NoMatchFound(name, path_params)
