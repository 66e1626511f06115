"""An A2A client of its own: one agent, A2A 1.0 over JSON-RPC, answers as the bytes of each `result`.

Every way in which an address can be wrong comes out as one sentence with a remedy, and no text of a library is shown.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from typing import Any

import httpx2
import msgspec

from llamon_agent.cli.address import Address, Card, is_loopback, read_address, read_card, rpc_url
from llamon_agent.cli.exits import NotA2A, Refused, Unreached, Usage
from llamon_agent.cli.failure_text import failure, refusal
from llamon_agent.domain.events import Snapshot
from llamon_agent.outbound.reply_bounds import (
    ACCEPT_ENCODING,
    EVENT_STREAM,
    MAX_REPLY_BYTES,
    TooLarge,
    Unpackable,
    bounded,
)
from llamon_agent.wire import sse
from llamon_agent.wire.v10.client_codec import (
    BadReply,
    Heard,
    read_event,
    read_task,
    write_cancel_params,
    write_get_params,
)

_PATIENCE_S = 10.0
_TIMEOUT = httpx2.Timeout(_PATIENCE_S, read=None)  # how long to wait for an answer is the command's to say
_HEADERS = {"A2A-Version": "1.0", "User-Agent": "llamon", "Accept-Encoding": ACCEPT_ENCODING}
_NO_CARD = (404, 405)  # the latter from a server for which all below its agent's path are calls


class _Fault(msgspec.Struct, frozen=True):
    code: int
    message: str = ""


class _Response(msgspec.Struct, frozen=True):
    """Source: JSON-RPC 2.0 §5."""

    result: msgspec.Raw = msgspec.Raw()
    error: _Fault | None = None


class Told(msgspec.Struct, frozen=True):
    """One thing that the agent told: what it means, and how it was written."""

    heard: Heard
    raw: bytes


class Client:
    """One agent at one address."""

    def __init__(self, http: httpx2.AsyncClient, url: str, card: Card | None) -> None:
        self._http = http
        self.url = url
        self.card = card

    @property
    def streams(self) -> bool:
        """Whether the agent streams, as far as is known."""
        return self.card is None or self.card.capabilities.streaming is not False

    async def ask(self, params: bytes, *, stream: bool) -> AsyncGenerator[Told]:
        """Send a message; every event as it comes, or the one reply.

        Raises: Unreached, Refused, NotA2A.
        """
        if not stream:
            yield self._told(await self.call("SendMessage", params))
            return
        async with aclosing(self._stream("SendStreamingMessage", params)) as results:
            async for result in results:
                yield self._told(result)

    async def get(self, task_id: str) -> Told:
        """A task as it is now. Raises: as `ask`."""
        result = await self.call("GetTask", write_get_params(task_id), timeout=_PATIENCE_S)
        try:
            task = read_task(result)
        except BadReply as exc:
            raise self._not_a2a() from exc
        return Told(Heard(event=Snapshot(task=task), task_id=task.id, context_id=task.context_id or None), result)

    async def cancel(self, task_id: str) -> None:
        """Cancel a task. Raises: as `ask`."""
        await self.call("CancelTask", write_cancel_params(task_id))

    def _told(self, result: bytes) -> Told:
        """A SendMessage result has the shape of a stream's event. Source: A2A 1.0 §3.2.3."""
        try:
            return Told(read_event(result), result)
        except BadReply as exc:
            raise self._not_a2a() from exc

    def _not_a2a(self) -> NotA2A:
        return NotA2A(f"What {self.url} answers is not A2A 1.0")

    async def call(self, method: str, params: bytes, **request: Any) -> bytes:
        """The result of one call. Raises: as `ask`."""
        async with self._post(method, params, accept="application/json", **request) as response:
            return _result(await response.aread(), self.url)

    async def _stream(self, method: str, params: bytes) -> AsyncGenerator[bytes]:
        """A stream's results. An error before the first event comes as plain JSON. Source: A2A 1.0 §9.4.2."""
        async with self._post(method, params, accept=EVENT_STREAM) as response:
            if _media_type(response) != EVENT_STREAM:
                yield _result(await response.aread(), self.url)
                return
            reader = sse.Reader()
            async for piece in response.aiter_bytes():
                for event in reader.feed(piece):
                    yield _result(event.data, self.url)

    def _post(
        self, method: str, params: bytes, *, accept: str, **request: Any
    ) -> AbstractAsyncContextManager[httpx2.Response]:
        call = {"jsonrpc": "2.0", "id": "1", "method": method, "params": msgspec.Raw(params)}
        headers = {"Content-Type": "application/json", "Accept": accept}
        return _exchange(self._http, "POST", self.url, content=msgspec.json.encode(call), headers=headers, **request)


@asynccontextmanager
async def connect(url: str, token: str | None) -> AsyncIterator[Client]:
    """A client of the agent at `url`, which may be its origin, its card's URL or the URL that takes calls.

    Raises: Usage, Unreached, NotA2A.
    """
    address = read_address(url)
    async with _http(address, token) as http:
        found = await _find_card(http, address)
        card = read_card(found, url) if found is not None else None
        yield Client(http, rpc_url(address, card), card)


async def fetch_card(url: str, token: str | None) -> bytes:
    """The card of the agent at `url`, as it is served. Raises: Usage, Unreached, NotA2A."""
    address = read_address(url)
    async with _http(address, token) as http:
        found = await _find_card(http, address)
    if found is None:
        raise NotA2A(f"There is no agent card at {address.origin}{' or '.join(address.card_paths)}")
    read_card(found, url)
    return found


async def fetch_public(url: str) -> bytes:
    """What is at a URL, asked for without a token. Raises: Usage, Unreached."""
    async with _http(read_address(url), None) as http, _exchange(http, "GET", url, timeout=_PATIENCE_S) as response:
        return await response.aread()


def _http(address: Address, token: str | None) -> httpx2.AsyncClient:
    """Redirects are not followed, so that a token stays where it was sent. A proxy is no way to one's own machine."""
    if token is not None and not (token.isascii() and token.isprintable()):
        raise Usage("The token holds characters that no HTTP header can carry; check --token or LLAMON_TOKEN.")
    auth = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        return httpx2.AsyncClient(
            headers={**_HEADERS, **auth},
            timeout=_TIMEOUT,
            trust_env=not is_loopback(httpx2.URL(address.origin).host),
            event_hooks={"response": [_bound]},
        )
    except (httpx2.InvalidURL, ValueError) as exc:
        raise Usage(f"{address.origin} is not an address that can be called; check its host and port.") from exc


class _BoundedStream(httpx2.AsyncByteStream):
    """A response's body, of which no piece is too large."""

    def __init__(self, response: httpx2.Response) -> None:
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        self._stream = response.stream
        self._headers = response.headers.copy()
        self._url = response.url

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Raises: NotA2A; and what the connection raises."""
        pieces = bounded(self._stream, self._headers, max_bytes=MAX_REPLY_BYTES)
        try:
            async with aclosing(pieces):
                async for piece in pieces:
                    yield piece
        except TooLarge as exc:
            raise NotA2A(
                f"{self._url} sends more than {MAX_REPLY_BYTES >> 20} MiB at once, which is more than is taken; "
                "the connection is closed."
            ) from exc
        except Unpackable as exc:
            raise NotA2A(f"What {self._url} answers is packed in a way that was not asked for.") from exc

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _bound(response: httpx2.Response) -> None:
    """Have the body read through our bounds, before the client unpacks or collects any of it."""
    response.stream = _BoundedStream(response)
    response.headers.pop("Content-Encoding", None)


async def _find_card(http: httpx2.AsyncClient, address: Address) -> bytes | None:
    """The card where there is one. Raises: Unreached, NotA2A."""
    for path in address.card_paths:
        async with _exchange(http, "GET", address.origin + path, allowed=_NO_CARD, timeout=_PATIENCE_S) as response:
            if response.status_code in _NO_CARD:
                continue
            if "json" not in _media_type(response):
                raise NotA2A(f"{response.url} answers with something else than an agent card; is there an A2A agent?")
            return await response.aread()
    return None


@asynccontextmanager
async def _exchange(
    http: httpx2.AsyncClient, method: str, url: str, *, allowed: tuple[int, ...] = (), **request: Any
) -> AsyncIterator[httpx2.Response]:
    """A request and its response, not yet read. Raises: Unreached for everything but success."""
    try:
        async with http.stream(method, url, **request) as response:
            if not response.is_success and response.status_code not in allowed:
                raise Unreached(refusal(response))
            yield response
    except httpx2.HTTPError as exc:
        raise Unreached(failure(exc, url)) from exc


def _media_type(response: httpx2.Response) -> str:
    media_type: str = response.headers.get("Content-Type", "")
    return media_type.partition(";")[0].strip().lower()


def _result(body: bytes, url: str) -> bytes:
    """The result in a JSON-RPC response. Raises: Refused, NotA2A."""
    try:
        response = msgspec.json.decode(body, type=_Response)
    except (msgspec.DecodeError, RecursionError) as exc:
        raise NotA2A(f"What {url} answers is not JSON-RPC; is there an A2A agent?") from exc
    if response.error is not None:
        raise Refused(f"The agent refused the call: {response.error.message} (error {response.error.code})")
    if not bytes(response.result):
        raise NotA2A(f"What {url} answers is neither a result nor an error; is there an A2A agent?")
    return bytes(response.result)
