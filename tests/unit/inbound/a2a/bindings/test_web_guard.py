import logging

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Message, Scope

from llamon_agent.domain.errors import PermissionDenied
from llamon_agent.inbound.a2a.bindings.health import health_routes
from llamon_agent.inbound.a2a.bindings.web_guard import WebGuard, known_hosts


async def nothing_fails() -> tuple[str, ...]:
    return ()


async def card(request: Request) -> Response:
    return PlainTextResponse("card")


class Telling:
    """An application that tells a refusal in its own way."""

    async def __call__(self, *_: object) -> None: ...

    async def refuse(self, error: PermissionDenied, scope: Scope, send: object) -> None:
        scope["told"].append((error.public, scope["path_params"]))


PUBLIC = Route("/card", card)
ROUTES = [PUBLIC, *health_routes(nothing_fails), Route("/calls/{name}", Telling())]
GUARD = WebGuard(ROUTES, public=[PUBLIC], known=known_hosts(listen="127.0.0.1", public_url=None, allowed=()))


def asking(path: str, method: str = "GET", **headers: str) -> Scope:
    named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return {"type": "http", "method": method, "path": path, "headers": [(b"host", b"localhost"), *named]}


@pytest.mark.parametrize("path", ["/health", "/calls/one", "/nothing", "/"])
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_a_page_of_another_origin_gets_nowhere(path: str, method: str) -> None:
    assert GUARD.refusal(asking(path, method, sec_fetch_site="cross-site")) is not None
    assert GUARD.refusal(asking(path, method, origin="https://evil.test")) is not None
    assert GUARD.refusal(asking(path, method, sec_fetch_site="same-origin")) is None


def test_what_is_public_is_read_from_anywhere_but_by_no_name_of_a_strangers() -> None:
    assert GUARD.refusal(asking("/card", origin="https://evil.test", sec_fetch_site="cross-site")) is None
    assert GUARD.refusal(asking("/card", "POST", origin="https://evil.test")) is not None
    assert GUARD.refusal({**asking("/card"), "headers": [(b"host", b"evil.test")]}) is not None


def test_a_refusal_is_one_line_of_the_log_however_long_its_headers(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        GUARD.refusal(asking("/health", origin="https://evil.test/\x1b[31m\n" + "x" * 5000))
    (line,) = caplog.messages
    assert line.startswith("refused: This comes from a web page of another origin")
    assert "origin 'https://evil.test/\\x1b[31m\\nxxx" in line
    assert len(line) < 500


async def test_a_refusal_has_the_shape_of_the_transport() -> None:
    told: list[object] = []

    async def send(_: Message) -> None:
        raise AssertionError("the application tells it itself")

    await GUARD.refuse(PermissionDenied("No."), {**asking("/calls/one"), "told": told}, send)
    assert told == [("No.", {"name": "one"})]


@pytest.mark.parametrize("path", ["/health", "/nothing"])
async def test_where_no_call_is_taken_a_refusal_is_plain_json(path: str) -> None:
    async def refusing(scope: Scope, receive: object, send: object) -> None:
        await GUARD.refuse(PermissionDenied('"No."'), scope, send)  # type: ignore[arg-type]

    app = Starlette()
    app.router.default = refusing
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://localhost") as http:
        response = await http.get(path)
    assert (response.status_code, response.json()) == (403, {"error": '"No."'})
