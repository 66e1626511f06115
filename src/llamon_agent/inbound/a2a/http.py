"""HTTP in front of the endpoint: JSON-RPC over POST, streams as server-sent events.

The POST route is a bare ASGI application, because it is the hot path and because it must see a hang-up itself. Its
order is its security: who calls, then what kind of body, then how large, and only then is anything parsed.

Every JSON-RPC response, error or not, is HTTP 200. The other codes say that there was no call: 401, 405, 408, 413.
"""

import asyncio
import logging
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from llamon_agent.domain.errors import BadRequest, ContentTypeNotSupported, Unauthenticated
from llamon_agent.domain.profile import Profile
from llamon_agent.inbound.a2a.auth import Auth
from llamon_agent.inbound.a2a.card_http import CardSite, card_routes
from llamon_agent.inbound.a2a.endpoint import Answer, Caller, Endpoint
from llamon_agent.inbound.a2a.streaming import Frames

logger = logging.getLogger(__name__)

MAX_BODY_BYTES = 10 * 1024 * 1024

BODY_WITHIN_S = 30.0
"""How long a body may take: a caller that stops in the middle of one must not be waited for for ever."""

_JSON = b"application/json"
_STREAM_START = {
    "type": "http.response.start",
    "status": 200,
    "headers": [
        (b"content-type", b"text/event-stream"),
        (b"cache-control", b"no-cache, no-transform"),
        (b"x-accel-buffering", b"no"),  # nginx collects a response before it passes it on, unless told not to
    ],
}
_USE_POST = b"This is an A2A endpoint. POST a JSON-RPC 2.0 request here; the agent card says what it can do.\n"


def routes(
    endpoint: Endpoint,
    auth: Auth,
    profile: Profile,
    *,
    path: str,
    started_s: float,
    public_url: str | None = None,
    trusted: bool = False,
    max_body_bytes: int = MAX_BODY_BYTES,
    at_root: bool = True,
) -> list[BaseRoute]:
    """The routes of one agent: its endpoint at `path`, with and without a slash at the end, and its cards.

    Shape: public_url is the address that callers use, None to go by the Host header; trusted says that a proxy of ours
           sets X-Forwarded-*; at_root puts the cards under the host's own /.well-known too, for one agent of the host.
    Units: started_s is seconds since 1970 UTC, what the cards say as Last-Modified.
    """
    path = path.rstrip("/")
    site = CardSite(profile=profile, path=path or "/", public_url=public_url, trusted=trusted, started_s=started_s)
    places = [path, ""] if at_root and path else [path]
    cards = [route for place in places for route in card_routes(site, under=place)]
    return [*rpc_routes(endpoint, auth, path=path, max_body_bytes=max_body_bytes), *cards]


def rpc_routes(endpoint: Endpoint, auth: Auth, *, path: str, max_body_bytes: int = MAX_BODY_BYTES) -> list[BaseRoute]:
    """The endpoint alone, at `path` with and without a slash at the end."""
    rpc = RpcApp(endpoint, auth, max_body_bytes=max_body_bytes)
    path = path.rstrip("/")
    return [Route(rpc_path, rpc) for rpc_path in (path, path + "/") if rpc_path]


def health_route() -> BaseRoute:
    """Says that the process answers; one for all agents."""
    return Route("/health", _health)


async def _health(_request: Request) -> JSONResponse:
    return JSONResponse({"status": "ok"})


class RpcApp:
    """The JSON-RPC route of one agent, an ASGI application."""

    def __init__(
        self,
        endpoint: Endpoint,
        auth: Auth,
        *,
        max_body_bytes: int = MAX_BODY_BYTES,
        body_within_s: float = BODY_WITHIN_S,
    ) -> None:
        self._endpoint = endpoint
        self._auth = auth
        self._max_body_bytes = max_body_bytes
        self._body_within_s = body_within_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            await _respond(send, 405, _USE_POST, b"text/plain; charset=utf-8", (b"allow", b"POST"))
            return
        headers = _headers(scope)
        try:
            principal = self._auth.principal(headers.get(b"authorization"))
        except Unauthenticated as exc:
            body = b'{"error":"%b"}' % exc.public.encode()
            await _respond(send, 401, body, _JSON, (b"www-authenticate", b"Bearer"))
            return
        caller = Caller(
            principal=principal,
            version=_version(headers, scope),
            last_event_id=headers.get(b"last-event-id", b"").decode("latin-1") or None,
        )
        if not _is_json(headers.get(b"content-type", b"")):
            await _respond(send, 200, self._endpoint.refuse(ContentTypeNotSupported(), caller).body, _JSON)
            return
        await self._answer(headers, caller, receive, send)

    async def _answer(self, headers: dict[bytes, bytes], caller: Caller, receive: Receive, send: Send) -> None:
        try:
            body = await self._read_body(headers, receive)
        except BadRequest as exc:
            await _respond(send, 413, self._endpoint.refuse(exc, caller).body, _JSON)
            return
        except TimeoutError:
            late = BadRequest(f"The body did not come within {self._body_within_s:g} seconds.")
            await _respond(send, 408, self._endpoint.refuse(late, caller).body, _JSON, (b"connection", b"close"))
            return
        except ClientDisconnect:
            return
        reply = await self._endpoint.answer(body, caller)
        if isinstance(reply, Answer):
            await _respond(send, 200, reply.body, _JSON)
        elif isinstance(reply, Frames):
            await _stream(reply, receive, send)
        else:
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body"})

    async def _read_body(self, headers: dict[bytes, bytes], receive: Receive) -> bytes:
        """The whole body.

        Raises: BadRequest: it is too large, known as soon as can be; TimeoutError: it is too slow; ClientDisconnect.
        """
        announced = headers.get(b"content-length", b"")
        if announced.isdigit():
            self._check_size(int(announced[:20]))
        size_bytes = 0
        pieces: list[bytes] = []
        more = True
        async with asyncio.timeout(self._body_within_s):
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientDisconnect
                pieces.append(message.get("body", b""))
                size_bytes += len(pieces[-1])
                self._check_size(size_bytes)
                more = message.get("more_body", False)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _check_size(self, size_bytes: int) -> None:
        if size_bytes > self._max_body_bytes:
            raise BadRequest(f"The body is larger than {self._max_body_bytes} bytes.")


async def _stream(frames: Frames, receive: Receive, send: Send) -> None:
    """Send a stream until it ends or its reader hangs up, which ends the subscription and nothing else."""

    async def write(chunk: bytes) -> None:
        await send({"type": "http.response.body", "body": chunk, "more_body": True})

    try:
        await send(_STREAM_START)
        async with asyncio.TaskGroup() as group:
            watch = group.create_task(_raise_at_hang_up(receive))
            await frames.deliver(write)
            watch.cancel()
        await send({"type": "http.response.body"})
    except* (ClientDisconnect, OSError):  # a server may say it by an OSError from send, ASGI 2.4
        logger.debug("the reader of a stream hung up")
    finally:
        frames.close()


async def _raise_at_hang_up(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    raise ClientDisconnect


async def _respond(send: Send, status: int, body: bytes, content_type: bytes, *extra: tuple[bytes, bytes]) -> None:
    headers = [(b"content-type", content_type), (b"content-length", b"%d" % len(body)), *extra]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _headers(scope: Scope) -> dict[bytes, bytes]:
    """The headers; those of one name are one, joined, so that nobody in front of us can have read another of them.

    Source: RFC 9110 §5.2.
    """
    headers: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        headers[name] = headers[name] + b", " + value if name in headers else value
    return headers


def _version(headers: dict[bytes, bytes], scope: Scope) -> str | None:
    """The A2A version that is asked for: by header, or else by query parameter. Source: A2A 1.0 §3.6.1."""
    if header := headers.get(b"a2a-version"):
        return header.decode("latin-1")
    query = scope.get("query_string")
    if not query:
        return None
    return next((value for name, value in parse_qsl(query.decode("latin-1")) if name.lower() == "a2a-version"), None)


def _is_json(content_type: bytes) -> bool:
    """Whether it may be JSON; hand-written clients leave the header out, and some name a JSON dialect of their own."""
    media_type = content_type.partition(b";")[0].strip().lower()
    return not media_type or media_type.startswith(_JSON) or media_type.endswith(b"+json")
