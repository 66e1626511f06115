"""One connection to a remote agent: its card, its calls and streams, and what goes wrong with them.

A connection is made for one call, or for one command. So an agent that many share holds nothing that must be closed,
belongs to no event loop, and can still cancel when the call that made it is being cancelled. No text of a library is
shown: an error is one of ours, and what caused it is chained.
"""

import functools
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from typing import Any
from uuid import uuid4

import httpx2
import msgspec

from llamon_agent.client.agent_url import AgentUrl
from llamon_agent.client.bindings import Binding, Call, Operation, binding_of
from llamon_agent.client.card import HTTP_JSON, Card, FoundCard, Interface, decide_interface, read_card
from llamon_agent.client.errors import NobodyThere, NotA2A, NotAllowed, RemoteError, TimedOut, TooMuch, Unreached
from llamon_agent.client.reply_bounds import (
    ACCEPT_ENCODING,
    EVENT_STREAM,
    MAX_REPLY_BYTES,
    TooLarge,
    Unpackable,
    bounded,
)
from llamon_agent.domain.errors import BadParams, ConfigError
from llamon_agent.domain.events import Snapshot
from llamon_agent.domain.message import Message, Metadata, Part, Role
from llamon_agent.wire import sse
from llamon_agent.wire.replies import BadReply, ClientCodec, TaskEvent

_CONNECT_S = 10.0
_NO_HEADERS: Mapping[str, str] = {}
_NO_CARD = (404, 405)  # the latter from a server for which all below its agent's path are calls


class Reply(msgspec.Struct, frozen=True):
    """A reply, or one event of a stream: what it means, and how it was written."""

    event: TaskEvent
    raw: bytes


def new_message(
    parts: Sequence[Part], *, context_id: str | None, task_id: str | None, metadata: Metadata | None = None
) -> Message:
    """A new message of the user's."""
    return Message(
        message_id=uuid4().hex,
        role=Role.USER,
        parts=tuple(parts),
        context_id=context_id,
        task_id=task_id,
        metadata=metadata,
    )


class Http(msgspec.Struct, frozen=True):
    """An HTTP client, and how much it takes in one piece."""

    client: httpx2.AsyncClient
    max_reply_bytes: int


class Connection:
    """One agent at one interface. Shape: headers are added to each request, as `request_headers` reads them."""

    def __init__(
        self, http: Http, interface: Interface, card: Card | None, headers: Mapping[str, str] = _NO_HEADERS
    ) -> None:
        self.card = card
        self.version = interface.version or ""
        self._http = http
        self._binding = binding_of(interface)
        self._codec = _codec_of(interface)
        self._url = interface.url
        self._added = {name: value.encode("latin-1") for name, value in headers.items()}

    @property
    def streams(self) -> bool:
        """Whether the agent streams, as far as is known."""
        return self.card is None or self.card.streams

    async def send(self, message: Message, *, stream: bool, blocking: bool = True) -> AsyncGenerator[Reply]:
        """Send a message; every event as it comes, or the one reply. Raises: RemoteError."""
        written = self._codec.write_send(message, blocking=blocking)
        call = self._binding.call(Operation.STREAM if stream else Operation.SEND, message=written)
        if not stream:
            yield self._reply(await self._result(call))
            return
        async with aclosing(self._stream(call)) as replies:
            async for reply in replies:
                yield reply

    async def subscribe(self, task_id: str) -> AsyncGenerator[Reply]:
        """Follow a task. Raises: RemoteError."""
        call = self._binding.call(Operation.SUBSCRIBE, task_id=task_id)
        try:
            async with aclosing(self._stream(call)) as replies:
                async for reply in replies:
                    yield reply
            return
        except NotA2A as exc:
            if call.content is not None or status_of(exc) != 405:
                raise
        # A GET by the annotations of both proto files, a POST by the prose of both texts.
        async with aclosing(self._stream(msgspec.structs.replace(call, method="GET"))) as replies:
            async for reply in replies:
                yield reply

    async def get(self, task_id: str) -> Reply:
        """A task as it is now. Raises: RemoteError."""
        return await self._task(Operation.GET, task_id)

    async def cancel(self, task_id: str) -> Reply:
        """Cancel a task, and wait for it. Raises: RemoteError."""
        return await self._task(Operation.CANCEL, task_id)

    async def _task(self, operation: Operation, task_id: str) -> Reply:
        body = await self._result(self._binding.call(operation, task_id=task_id))
        try:
            task = self._codec.read_task(body)
        except BadReply as exc:
            raise self._unreadable(exc) from exc
        return Reply(TaskEvent(event=Snapshot(task=task), task_id=task.id, context_id=task.context_id or None), body)

    def _reply(self, result: bytes) -> Reply:
        try:
            return Reply(self._codec.read_event(result), result)
        except BadReply as exc:
            raise self._unreadable(exc) from exc

    def _unreadable(self, error: BadReply) -> NotA2A:
        why = error.__cause__.public if isinstance(error.__cause__, BadParams) else error.public
        return NotA2A(
            "The remote agent's answer cannot be read.",
            detail=f"What {self._url} answers is not A2A {self.version}: {why}",
        )

    async def _result(self, call: Call) -> bytes:
        async with self._exchange(call, "application/json", waits=call.method == "POST") as response:
            return self._binding.result(await _read(response, self._http))

    async def _stream(self, call: Call) -> AsyncGenerator[Reply]:
        """A stream's replies. An error before the first event comes as plain JSON. Source: A2A 1.0 §9.4.2."""
        async with self._exchange(call, EVENT_STREAM, waits=True) as response:
            if _media_type(response) != EVENT_STREAM:
                yield self._reply(self._binding.result(await _read(response, self._http)))
                return
            async with aclosing(_events(response, self._http)) as events:
                async for event in events:
                    yield self._reply(self._binding.result(event.data, is_error=event.name == "error"))

    def _exchange(self, call: Call, accept: str, *, waits: bool) -> AbstractAsyncContextManager[httpx2.Response]:
        """How long a call may take that has the agent do something is for its caller to say."""
        content = {"Content-Type": "application/json"} if call.content is not None else {}
        headers = {**self._added, "A2A-Version": self.version, "Accept": accept, **content}
        timeout = httpx2.Timeout(_CONNECT_S, read=None) if waits else self._http.client.timeout
        return _exchange(self._http, call, self._binding, headers=headers, timeout=timeout)


@asynccontextmanager
async def open_http(
    url: AgentUrl, token: str | None, *, read_s: float = _CONNECT_S, max_reply_bytes: int | None = None
) -> AsyncIterator[Http]:
    """Redirects are not followed, so that a token stays where it was sent. A proxy is no way to one's own machine.

    Units:  read_s is how long to wait for what an agent need not think about: its card, and a task as it is;
            max_reply_bytes is how large an event or a body may be, unpacked.
    Raises: ConfigError.
    """
    check_token(token)
    auth = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        httpx2.URL(url.origin)
        client = httpx2.AsyncClient(
            headers={"User-Agent": "llamon", "Accept-Encoding": ACCEPT_ENCODING, **auth},
            timeout=httpx2.Timeout(_CONNECT_S, read=read_s),
            trust_env=not url.is_loopback,
            verify=_tls(url),
        )
    except (httpx2.InvalidURL, ValueError) as exc:
        raise ConfigError(f"{url.origin} is not an address that can be called; check its host and port.") from exc
    async with client:
        yield Http(client, max_reply_bytes or MAX_REPLY_BYTES)


def check_token(token: str | None) -> None:
    """Raises: ConfigError."""
    if token is not None and not (token.isascii() and token.isprintable()):
        raise ConfigError("The token for the agent holds characters that no HTTP header can carry.")


@asynccontextmanager
async def connect(url: AgentUrl, token: str | None) -> AsyncIterator[Connection]:
    """A connection to the agent at a URL, for as long as its caller waits. Raises: ConfigError, RemoteError."""
    async with open_http(url, token) as http:
        found = await find_card(http, url)
        card = None if found is None else read_card(found.body, url.origin)
        yield Connection(http, decide_interface(card, url, found_at=found.path if found else None), card)


async def find_card(http: Http, url: AgentUrl) -> FoundCard | None:
    """The card as it is served; None where there is none. Raises: RemoteError."""
    for path in url.card_paths:
        try:
            return FoundCard(await _get_card(http, url.origin + path), path)
        except NotA2A as exc:
            if status_of(exc) not in _NO_CARD:
                raise
    return None if url.own_path is None else await _own_card(http, url.origin, url.own_path)


async def _own_card(http: Http, origin: str, path: str) -> FoundCard | None:
    """The card, if it is what the URL itself answers with. Most take calls, and answer a GET with anything else."""
    try:
        body = await _get_card(http, origin + path)
        read_card(body, origin)
    except (NotA2A, NotAllowed):
        return None
    return FoundCard(body, path)


async def _get_card(http: Http, url: str) -> bytes:
    """What is at a URL, as JSON. Raises: RemoteError."""
    async with _exchange(http, Call("GET", url)) as response:
        return await _read_card(response, http)


async def _read_card(response: httpx2.Response, http: Http) -> bytes:
    if "json" not in _media_type(response):
        detail = f"{response.url} answers with something else than an agent card; is there an A2A agent?"
        raise NotA2A(detail=detail)
    return await _read(response, http)


async def fetch(url: str) -> bytes:
    """What is at a URL, asked for without a token. Raises: ConfigError, RemoteError."""
    async with open_http(AgentUrl(url), None) as http, _exchange(http, Call("GET", url)) as response:
        return await _read(response, http)


def status_of(error: RemoteError) -> int | None:
    """HTTP's status, where that is what went wrong."""
    cause = error.__cause__
    return cause.response.status_code if isinstance(cause, httpx2.HTTPStatusError) else None


@asynccontextmanager
async def _exchange(
    http: Http, call: Call, binding: Binding | None = None, **options: Any
) -> AsyncIterator[httpx2.Response]:
    """A request and its response, a success, not yet read. Raises: RemoteError."""
    try:
        async with http.client.stream(call.method, call.url, content=call.content, **options) as response:
            try:
                response.raise_for_status()
            except httpx2.HTTPStatusError as exc:
                raise await _refusal(response, http, binding) from exc
            yield response
    except (httpx2.HTTPError, httpx2.InvalidURL) as exc:
        raise _failure(exc) from exc


async def _refusal(response: httpx2.Response, http: Http, binding: Binding | None) -> RemoteError:
    """What a response says that is no success."""
    status = response.status_code
    if status in (401, 403):
        return NotAllowed()
    if binding is not None and "json" in _media_type(response):
        error = binding.error(await _read(response, http), status)
        if error is not None:
            return error
    return Unreached() if status >= 500 or status == 429 else NotA2A()


def _failure(exc: Exception) -> RemoteError:
    match exc:
        case httpx2.ConnectError() | httpx2.ConnectTimeout():
            return NobodyThere()
        case httpx2.TimeoutException():
            return TimedOut()
        case httpx2.HTTPError():
            return Unreached()
    return NotA2A()


async def _read(response: httpx2.Response, http: Http) -> bytes:
    """All of a body. Raises: as `_pieces`."""
    async with aclosing(_pieces(response, http)) as pieces:
        return b"".join([piece async for piece in pieces])


async def _events(response: httpx2.Response, http: Http) -> AsyncGenerator[sse.Event]:
    """The events of a stream. Raises: as `_pieces`."""
    reader = sse.Reader()
    async with aclosing(_pieces(response, http)) as pieces:
        async for piece in pieces:
            for event in reader.feed(piece):
                yield event


async def _pieces(response: httpx2.Response, http: Http) -> AsyncGenerator[bytes]:
    """A body as it comes, unpacked. Raises: TooMuch, NotA2A."""
    try:
        async with aclosing(bounded(response.aiter_raw(), response.headers, max_bytes=http.max_reply_bytes)) as pieces:
            async for piece in pieces:
                yield piece
    except TooLarge as exc:
        most = f"{http.max_reply_bytes >> 20} MiB at once, which is more than is taken"
        raise TooMuch(detail=f"{response.url} sends more than {most}; the connection is closed.") from exc
    except Unpackable as exc:
        detail = f"What {response.url} answers is packed in a way that was not asked for."
        raise NotA2A("The remote agent's answer is packed in a way that we cannot read.", detail=detail) from exc


def _media_type(response: httpx2.Response) -> str:
    media_type: str = response.headers.get("Content-Type", "")
    return media_type.partition(";")[0].strip().lower()


def _codec_of(interface: Interface) -> ClientCodec:
    """Loaded when it is needed, as the command line speaks one version at a time."""
    if interface.version != "0.3":
        from llamon_agent.wire.v10.codec import Client10

        return Client10(interface.tenant or None)
    if interface.protocol_binding == HTTP_JSON:
        from llamon_agent.wire.v03_proto.codec import Client03Proto

        return Client03Proto()
    from llamon_agent.wire.v03.codec import Client03

    return Client03()


def _tls(url: AgentUrl) -> ssl.SSLContext:
    """What is trusted: nothing where no TLS can be, as reading the certificates takes longer than many a call."""
    is_plain = url.is_loopback and url.origin.startswith("http:")
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if is_plain else _certificates()


@functools.cache
def _certificates() -> ssl.SSLContext:
    return httpx2.create_ssl_context()
