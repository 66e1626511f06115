"""Sends to webhooks: to addresses that the guard has judged, and only so much at once: for an owner to one host, for an
owner, and in all. So one caller's slow receivers, under however many names, do not keep the others' webhooks waiting.

A POST has one of three results: the receiver has accepted it, declined it for good, or it may be tried again.
"""

import asyncio
from asyncio import Semaphore
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from ssl import SSLContext
from typing import Any
from weakref import WeakValueDictionary

import httpcore2
import httpx2
import msgspec

from llamon_agent.domain.task import PushConfig, TaskPushConfig
from llamon_agent.inbound.a2a.push.guard import AddressGuard, ForbiddenAddress
from llamon_agent.inbound.a2a.push.webhook_url import WebhookUrl, read_webhook_url

MAX_RETRY_AFTER_S = 60.0
"""How long a receiver may put us off at most."""

_TRY_LATER = frozenset({408, 425, 429})
"""Refusals that say of themselves that they pass. Source: RFC 9110 §15.5.9; RFC 8470 §5.2; RFC 6585 §4."""


class Accepted(msgspec.Struct, frozen=True):
    """The webhook has it."""


class TryLater(msgspec.Struct, frozen=True):
    """It was not taken, and may be when it is tried again. Units: after_s is how long the receiver asks to wait."""

    why: str
    after_s: float = 0.0


class Declined(msgspec.Struct, frozen=True):
    """It will not be taken, however often it is tried."""

    why: str


PostResult = Accepted | TryLater | Declined


def post_result(status: int, retry_after: str | None, now: datetime) -> PostResult:
    """What an answer means. A redirect is a refusal: it could lead anywhere, and with the credentials.

    Source: A2A 1.0 §4.3.3 (2xx acknowledges); RFC 9110 §10.2.3 (Retry-After).
    """
    if 200 <= status < 300:
        return Accepted()
    if status >= 500 or status in _TRY_LATER:
        return TryLater(f"HTTP {status}", min(_seconds(retry_after, now), MAX_RETRY_AFTER_S))
    return Declined(f"HTTP {status}")


def _seconds(retry_after: str | None, now: datetime) -> float:
    """How long a Retry-After header asks to wait: seconds, or a date; 0 where it says neither."""
    text = (retry_after or "").strip()
    if text.isascii() and text.isdecimal():
        return float(text[:9])
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, OverflowError):  # no date, or one of numbers that no date has
        return 0.0
    return max(0.0, ((at if at.tzinfo else at.replace(tzinfo=UTC)) - now).total_seconds())


_AT_ONCE = 64
_MAX_ANSWER_BYTES = 64 * 1024
_AT_ONCE_OF_OWNER = 32
_AT_ONCE_AT_HOST = 8
"""To one host for one owner, so that a slow receiver, whose requests take all the time they may, leaves room."""


class Sender:
    """Posts to webhooks. Every request has a connection of its own, so that what was judged is what is called.

    Units: timeout_s is how long an attempt may take from the name's resolution to the answer's status.
    """

    def __init__(self, guard: AddressGuard, *, timeout_s: float, tls: SSLContext | None = None) -> None:
        self._timeout_s = timeout_s
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=tls or httpx2.create_ssl_context(),
            max_connections=None,
            max_keepalive_connections=0,
            network_backend=_GuardedNetwork(guard),
        )
        self._room = Semaphore(_AT_ONCE)
        self._rooms: WeakValueDictionary[tuple[str, str], Semaphore] = WeakValueDictionary()

    async def post(self, push: TaskPushConfig, media_type: str, write: Callable[[], Awaitable[bytes]]) -> PostResult:
        """Post to a webhook, once; its body is written when there is room. Raises: what `write` raises."""
        config, address = push.config, read_webhook_url(push.config.url)
        at_host = self._rooms.setdefault((push.owner, address.host.removesuffix(".")), Semaphore(_AT_ONCE_AT_HOST))
        of_owner = self._rooms.setdefault((push.owner, ""), Semaphore(_AT_ONCE_OF_OWNER))
        async with at_host, of_owner, self._room:
            body = await write()
            try:
                async with asyncio.timeout(self._timeout_s):
                    return await self._post(address, headers_of(address, config, media_type), body)
            except ForbiddenAddress:
                return Declined("its address is not allowed")
            except TimeoutError:
                return TryLater("no answer in time")
            except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException):
                return TryLater("no connection, or none that lasted")

    async def aclose(self) -> None:
        await self._pool.aclose()

    async def _post(self, address: WebhookUrl, headers: list[tuple[bytes, bytes]], body: bytes) -> PostResult:
        url = httpcore2.URL(
            scheme=address.scheme.encode(), host=address.host.encode(), port=address.port, target=address.target
        )
        limits = {"timeout": {"connect": self._timeout_s / 3}}  # leaves time to try a second address
        async with self._pool.stream("POST", url, headers=headers, content=body, extensions=limits) as response:
            answered = {name.lower(): value for name, value in response.headers}
            retry_after = answered.get(b"retry-after", b"").decode("latin-1")
            return post_result(response.status, retry_after, datetime.now(UTC))


def headers_of(address: WebhookUrl, config: PushConfig, media_type: str) -> list[tuple[bytes, bytes]]:
    """The header of a request to a webhook. What the caller gave was checked for letters that would end a line.

    Source: A2A 1.0 §4.3.3 (Authorization); 0.3 §9.5 (X-A2A-Notification-Token).
    """
    headers = {
        "Host": _host(address),
        "User-Agent": "llamon",
        "Content-Type": media_type,
    }
    if config.schemes and config.credentials:
        headers["Authorization"] = f"{config.schemes[0]} {config.credentials}"
    if config.token:
        headers["X-A2A-Notification-Token"] = config.token
    return [(name.encode("ascii"), value.encode("ascii")) for name, value in headers.items()]


def _host(address: WebhookUrl) -> str:
    """Source: RFC 9110 §7.2."""
    host = f"[{address.host}]" if ":" in address.host else address.host
    return host if address.port == {"http": 80, "https": 443}[address.scheme] else f"{host}:{address.port}"


class _Bounded(httpcore2.AsyncNetworkStream):
    """A connection that says only so much: of an answer nothing is read but its status and its header."""

    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self._stream = stream
        self._left_bytes = _MAX_ANSWER_BYTES

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        """Raises: httpcore2.ReadError: it was too much; and what the connection raises."""
        data = await self._stream.read(max_bytes, timeout)
        self._left_bytes -= len(data)
        if self._left_bytes < 0:
            raise httpcore2.ReadError
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> httpcore2.AsyncNetworkStream:
        return _Bounded(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class _GuardedNetwork(httpcore2.AsyncNetworkBackend):
    """Opens connections to judged addresses only. TLS still asks for the name, and so does the Host header."""

    def __init__(self, guard: AddressGuard) -> None:
        self._guard = guard
        self._network = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the library calls it by these names
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Raises: ForbiddenAddress; httpcore2.ConnectError, httpcore2.ConnectTimeout."""
        try:
            addresses = await self._guard.open_to(host, port)
        except OSError as exc:
            raise httpcore2.ConnectError from exc
        *others, last = addresses
        for address in others:
            try:
                return await self._open(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue  # another address of the same name may answer
        return await self._open(last, port, timeout, local_address, socket_options)

    async def _open(self, *args: Any) -> httpcore2.AsyncNetworkStream:
        return _Bounded(await self._network.connect_tcp(*args))
