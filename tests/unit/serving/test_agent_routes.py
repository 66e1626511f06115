import pytest
from starlette.datastructures import URLPath
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import BaseRoute, Match, NoMatchFound, Route
from starlette.types import Scope

from llamon_agent.serving.agent_routes import RoutesByAgent


class Counting(BaseRoute):
    """Counts how often it is tried, and never matches."""

    def __init__(self) -> None:
        self.tried = 0

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        self.tried += 1
        return Match.NONE, {}

    def url_path_for(self, name: str, /, **path_params: object) -> URLPath:
        raise NotImplementedError


async def answer(request: Request) -> PlainTextResponse:
    return PlainTextResponse(request.url.path)


def at(path: str, method: str = "GET", root: str = "", kind: str = "http") -> Scope:
    return {"type": kind, "path": root + path, "root_path": root, "method": method}


GET, POST = Route("/a2a/one/x", answer), Route("/a2a/one/x", answer, methods=["POST"])
ROUTES = RoutesByAgent("/a2a", {"one": [GET, POST]})


@pytest.mark.parametrize("root", ["", "/root"])
def test_the_route_of_the_named_agent_is_found_and_named(root: str) -> None:
    for method, route in (("GET", GET), ("POST", POST)):
        match, child = ROUTES.matches(at("/a2a/one/x", method, root))
        assert match is Match.FULL
        assert child["route"] is route
        assert child["endpoint"] is answer


def test_a_route_that_takes_other_methods_matches_in_part_and_the_first_one_does() -> None:
    match, child = ROUTES.matches(at("/a2a/one/x", "DELETE"))
    assert match is Match.PARTIAL
    assert child["route"] is GET


@pytest.mark.parametrize("path", ["/", "/a2a", "/a2a/", "/a2a/two/x", "/a2a/one", "/a2a/onex", "/x/a2a/one/x"])
def test_other_paths_are_left_to_the_routes_after_it(path: str) -> None:
    assert ROUTES.matches(at(path)) == (Match.NONE, {})


def test_agents_may_live_at_the_root() -> None:
    at_root = RoutesByAgent("/", {"one": [Route("/one/x", answer)]})
    assert at_root.matches(at("/one/x"))[0] is Match.FULL


def test_only_http_is_routed() -> None:
    assert ROUTES.matches(at("/a2a/one/x", kind="websocket")) == (Match.NONE, {})


def test_no_other_agents_route_is_tried() -> None:
    counting = {f"agent-{number}": Counting() for number in range(1000)}
    many = RoutesByAgent("/a2a", {name: [route] for name, route in counting.items()})
    many.matches(at("/a2a/agent-7/message:send", "POST"))
    many.matches(at("/a2a/nobody/message:send", "POST"))
    assert [name for name, route in counting.items() if route.tried] == ["agent-7"]


def test_no_path_has_a_name() -> None:
    with pytest.raises(NoMatchFound):
        ROUTES.url_path_for("one")
