"""HTTP around a call, the same for every binding on it: the caller, the body, the response.

The order is its security: the caller, then the kind of body, then its size, and only then is anything parsed. Bare
ASGI, because it is the hot path and because a stream must see a hang-up itself.
"""

import asyncio
import hmac
import logging
from collections.abc import Mapping
from hashlib import sha256
from typing import Protocol
from urllib.parse import parse_qsl

import msgspec
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from llamon_agent.domain.caller import Caller, Private
from llamon_agent.domain.errors import BadRequest, PermissionDenied, Unauthenticated
from llamon_agent.inbound.a2a.bindings.refusals import log_refused_caller
from llamon_agent.inbound.a2a.bindings.streaming import Frames
from llamon_agent.inbound.a2a.cards.card import public_base
from llamon_agent.inbound.a2a.endpoint import RequestHead

logger = logging.getLogger(__name__)

MAX_BODY_BYTES = 10 * 1024 * 1024

BODY_WITHIN_S = 30.0
"""How long a body may take: a caller that stops in the middle of one must not be waited for for ever."""

Headers = dict[bytes, bytes]
Header = tuple[bytes, bytes]

_STREAM_HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),  # nginx collects a response before it passes it on, unless this header forbids it
]

_EXTENSIONS = (b"a2a-extensions", b"x-a2a-extensions")
"""Both spellings, 1.0's and 0.3's; an answer uses the caller's."""


_OPEN = Caller()


class Authenticator(Protocol):
    """An authentication of the agents' own."""

    async def authenticate(self, scope: Scope, headers: Headers) -> Caller:
        """The caller. Raises: Unauthenticated, PermissionDenied."""
        ...


class Auth:
    """The callers that are accepted: those with a bearer token, then those that the agents' own authentication accepts.

    Shape: tokens by principal id; without tokens and without an authentication of the agents' own the edge is open, and
           every caller is the default principal.
    Raises: ValueError: a token is empty.
    """

    def __init__(self, tokens: Mapping[str, str], own: Authenticator | None = None) -> None:
        if not all(tokens.values()):
            raise ValueError("a bearer token must not be empty")
        self._own = own
        self._digests = [
            (Caller(principal=name, is_authenticated=True), _digest(token.encode())) for name, token in tokens.items()
        ]

    @property
    def is_open(self) -> bool:
        return not self._digests and self._own is None

    async def authenticate(self, scope: Scope, headers: Headers) -> Caller:
        """The caller of a request.

        The principal of a token is nobody else: an identity of the agents' own that has its name is refused.

        Raises: Unauthenticated, PermissionDenied.
        """
        authorization = headers.get(b"authorization")
        if self._own is None:
            return self.caller(authorization)
        if known := self._with_token(authorization):
            return known
        caller = await self._own.authenticate(scope, headers)
        if any(caller.principal == each.principal for each, _ in self._digests):
            logger.warning("an identity has the name of a principal of a2a.bearer_token; its call is refused")
            raise Unauthenticated
        return caller

    def caller(self, authorization: bytes | None) -> Caller:
        """The caller, by its token alone. Raises: Unauthenticated."""
        if self.is_open:
            return _OPEN
        if (known := self._with_token(authorization)) is None:
            raise Unauthenticated
        return known

    def _with_token(self, authorization: bytes | None) -> Caller | None:
        """The caller that has a token; None for any other.

        Compares digests, all of them, each in constant time: how long it takes shows neither a token, nor its length,
        nor whose it nearly was.

        Source: RFC 6750 §2.1; RFC 9110 §11.1 (the scheme is case-insensitive).
        """
        scheme, _, token = (authorization or b"").strip().partition(b" ")
        given = _digest(token.strip())
        known = [caller for caller, digest in self._digests if hmac.compare_digest(digest, given)]
        return known[0] if scheme.lower() == b"bearer" and known else None


def _digest(token: bytes) -> bytes:
    return sha256(token).digest()


class Admission(msgspec.Struct, frozen=True, kw_only=True):
    """What a request must pass before an agent's HTTP routes.

    Shape: public_url and trusted are as in `site.CardSite`; caller_headers are those that agents get, in lower case.
    """

    auth: Auth
    public_url: str | None = None
    trusted: int = 0
    caller_headers: tuple[bytes, ...] = ()
    max_body_bytes: int = MAX_BODY_BYTES
    body_within_s: float = BODY_WITHIN_S

    async def read_head(self, scope: Scope, headers: Headers, *, agent: str) -> RequestHead:
        """The caller, and what the headers and the query say; a refusal is logged, as of a call of this agent.

        Raises: Unauthenticated, PermissionDenied.
        """
        key = headers.get(b"idempotency-key")
        return RequestHead(
            caller=self._with_headers(await self._authenticated(scope, headers, agent), headers),
            version=version_of(scope, headers),
            last_event_id=headers.get(b"last-event-id", b"").decode("latin-1") or None,
            idempotency_key=None if key is None else key.decode("latin-1"),
            extensions=_extensions(headers),
            base_url=lambda: self._base_url(scope, headers),
        )

    async def _authenticated(self, scope: Scope, headers: Headers, agent: str) -> Caller:
        try:
            return await self.auth.authenticate(scope, headers)
        except (Unauthenticated, PermissionDenied) as exc:
            log_refused_caller(exc, scope, headers, agent=agent, trusted=self.trusted)
            raise

    def _with_headers(self, caller: Caller, headers: Headers) -> Caller:
        """The caller, with the headers that agents get."""
        sent = {name.decode(): headers[name].decode("latin-1") for name in self.caller_headers if name in headers}
        return msgspec.structs.replace(caller, headers=Private(sent)) if sent else caller

    async def read_body(self, headers: Headers, receive: Receive) -> bytes:
        """The whole body.

        Raises: BadRequest: it is too large, known as soon as can be; TimeoutError: it is too slow; ClientDisconnect.
        """
        announced = headers.get(b"content-length", b"")
        if announced.isdigit():
            self._check_size(int(announced[:20]))
        size_bytes = 0
        pieces: list[bytes] = []
        more = True
        async with asyncio.timeout(self.body_within_s):
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientDisconnect
                pieces.append(message.get("body", b""))
                size_bytes += len(pieces[-1])
                self._check_size(size_bytes)
                more = message.get("more_body", False)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    @property
    def late(self) -> BadRequest:
        """The error of a body that was too slow."""
        return BadRequest(f"The body did not come within {self.body_within_s:g} seconds.")

    def _check_size(self, size_bytes: int) -> None:
        if size_bytes > self.max_body_bytes:
            raise BadRequest(f"The body is larger than {self.max_body_bytes} bytes.")

    def _base_url(self, scope: Scope, headers: Headers) -> str:
        return base_url_of(scope, headers, configured=self.public_url, trusted=self.trusted)


def base_url_of(scope: Scope, headers: Headers, *, configured: str | None, trusted: int) -> str:
    """The address that a caller knows this server by, without a slash at its end; see `card.public_base`."""
    texts = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers.items()}
    return public_base(texts, configured=configured, trusted=trusted, scheme=scope.get("scheme", "http"))


def base_url_headers(*, trusted: int) -> tuple[str, ...]:
    """The headers that this address depends on, for a cache to know."""
    return ("Host", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Forwarded-Prefix") if trusted else ("Host",)


def root_of(scope: Scope) -> str:
    """What of the path stands above the application, as a server or a mount says."""
    root: str = scope.get("root_path", "")
    return root if scope["path"].startswith(root) else ""


def read_headers(scope: Scope) -> Headers:
    """The headers; those of one name are one, joined, so that a proxy in front of us cannot have read another of them.

    Source: RFC 9110 §5.2.
    """
    headers: Headers = {}
    again: dict[bytes, list[bytes]] = {}  # joined at the end, as a caller may send very many of one name
    for name, value in scope["headers"]:
        if name in headers:
            again.setdefault(name, [headers[name]]).append(value)
        else:
            headers[name] = value
    for name, values in again.items():
        headers[name] = b", ".join(values)
    return headers


def version_of(scope: Scope, headers: Headers) -> str | None:
    """The A2A version that is asked for: by header, or else by query parameter. Source: A2A 1.0 §3.6.1."""
    if header := headers.get(b"a2a-version"):
        return header.decode("latin-1")
    query = scope.get("query_string")
    if not query:
        return None
    return next((value for name, value in parse_qsl(query.decode("latin-1")) if name.lower() == "a2a-version"), None)


def _extensions(headers: Headers) -> frozenset[str]:
    """The URIs that the caller supports, by either spelling. Source: A2A 1.0 §3.2.6 (comma-separated)."""
    named = [headers[name] for name in _EXTENSIONS if name in headers]
    if not named:
        return frozenset()
    return frozenset(uri for uri in map(str.strip, b",".join(named).decode("latin-1").split(",")) if uri)


def extension_headers(headers: Headers, activated: tuple[str, ...]) -> tuple[Header, ...]:
    """The header that names the activated extensions, spelled as the caller spells it; none where none are."""
    if not activated:
        return ()
    spelled = next((name for name in _EXTENSIONS if name in headers), _EXTENSIONS[0])
    return ((spelled, ", ".join(activated).encode("latin-1")),)


def is_json(content_type: bytes) -> bool:
    """Whether it may be JSON; hand-written clients leave the header out, and some name a JSON dialect of their own."""
    media_type = content_type.partition(b";")[0].strip().lower()
    return not media_type or media_type.startswith(b"application/json") or media_type.endswith(b"+json")


async def respond(send: Send, status: int, body: bytes, content_type: bytes, *extra: Header) -> None:
    """Send a whole response."""
    headers = [(b"content-type", content_type), (b"content-length", b"%d" % len(body)), *extra]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def respond_stream(frames: Frames, receive: Receive, send: Send, *extra: Header) -> None:
    """Send a stream until it ends or its reader hangs up, which ends the subscription and nothing else.

    Delivery has a task of its own: in the request's task, every event would wake all that the request has come through.
    """

    async def write(chunk: bytes) -> None:
        await send({"type": "http.response.body", "body": chunk, "more_body": True})

    try:
        await send({"type": "http.response.start", "status": 200, "headers": [*_STREAM_HEADERS, *extra]})
        async with asyncio.TaskGroup() as group:
            watch = group.create_task(_raise_at_hang_up(receive))
            group.create_task(frames.deliver(write)).add_done_callback(lambda _done: watch.cancel())
        await send({"type": "http.response.body"})
    except* (ClientDisconnect, OSError):  # a server may say it by an OSError from send, ASGI 2.4
        logger.debug("the reader of a stream hung up")
    finally:
        frames.close()


async def _raise_at_hang_up(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    raise ClientDisconnect
