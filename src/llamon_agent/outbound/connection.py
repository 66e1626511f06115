"""One connection to a remote agent: its card, the official client that fits it, and what its failures mean.

A connection is made for one call and closed behind it. So an agent that many share holds nothing that must be closed,
belongs to no event loop, and can still cancel when the call that made it is being cancelled.
"""

import functools
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from functools import partial

import httpx
import msgspec
from a2a.client import (
    A2ACardResolver,
    A2AClientTimeoutError,
    AgentCardResolutionError,
    Client,
    ClientConfig,
    ClientFactory,
)
from a2a.client.errors import A2AClientError
from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import A2AError, TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError
from google.protobuf.json_format import ParseError

from llamon_agent.outbound.address import BINDINGS, Address, decide_interface
from llamon_agent.outbound.errors import (
    Busy,
    NobodyThere,
    NoSuchTask,
    NotA2A,
    NotAllowed,
    Refused,
    RemoteError,
    TaskEnded,
    TimedOut,
    TooMuch,
    Unreached,
)
from llamon_agent.outbound.reply_bounds import ACCEPT_ENCODING, MAX_REPLY_BYTES, TooLarge, Unpackable, bounded

_CONNECT_S = 10.0

_ACCIDENTS = (ParseError, ValueError, TypeError, LookupError, AttributeError, RecursionError)
"""What reading something that is no reply may raise."""

_FAILURES = (A2AError, httpx.HTTPError, TimeoutError, *_ACCIDENTS)
"""What the SDK raises: its own, its transport's, and accidents; and our limit of time."""

_BUSY = -32000
"""The code that an edge refuses a message with where its context's queue is full. Source: docs/protocol.md."""


class _Error(msgspec.Struct):
    code: int
    message: str = ""


class _Refusal(msgspec.Struct):
    """A JSON-RPC response that is an error, as far as we look at it."""

    error: _Error


@asynccontextmanager
async def open_http(
    address: Address, token: str | None, *, timeout_s: float, max_reply_bytes: int = MAX_REPLY_BYTES
) -> AsyncIterator[httpx.AsyncClient]:
    """Redirects are not followed, so that a token stays where it was sent. A proxy is no way to one's own machine."""
    headers = {"User-Agent": "llamon", "Accept-Encoding": ACCEPT_ENCODING}
    headers |= {"Authorization": f"Bearer {token}"} if token else {}
    async with httpx.AsyncClient(
        headers=headers,
        timeout=httpx.Timeout(_CONNECT_S, read=timeout_s),
        trust_env=not address.is_loopback,
        verify=_tls(),
        event_hooks={"response": [partial(_bound, max_bytes=max_reply_bytes), _raise_busy]},
    ) as http:
        yield http


async def fetch_card(http: httpx.AsyncClient, address: Address) -> pb.AgentCard:
    """The agent's card, with the one interface in it that we shall use. Raises: Unreached, NotAllowed, NotA2A."""
    for path in address.card_paths:
        try:
            with remote_errors():
                card = await A2ACardResolver(http, address.origin, path).get_agent_card()
        except _NoCard:
            continue
        with remote_errors():
            interface = decide_interface(card, address.origin)
        if interface is None:
            raise NotA2A("The remote agent's card offers no interface that we can speak to.")
        del card.supported_interfaces[:]
        card.supported_interfaces.append(interface)
        return card
    raise NotA2A("There is no agent card at the remote agent's address.")


def client_of(http: httpx.AsyncClient, card: pb.AgentCard) -> Client:
    """The official client for a fetched card."""
    config = ClientConfig(httpx_client=http, supported_protocol_bindings=list(BINDINGS))
    return ClientFactory(config).create(card)


@contextmanager
def remote_errors() -> Iterator[None]:
    """Whatever the SDK raises inside comes out as ours, its cause chained."""
    try:
        yield
    except _FAILURES as exc:
        raise _error_of(exc) from exc


class _NoCard(NotA2A):
    """Nothing is at this path; there may be something at another."""


def _error_of(exc: Exception) -> RemoteError:
    cause = exc if isinstance(exc, httpx.HTTPError) else exc.__cause__
    match exc, cause:
        case _, (httpx.ConnectError() | httpx.ConnectTimeout()):
            return NobodyThere()
        case (A2AClientTimeoutError() | TimeoutError(), _) | (_, httpx.TimeoutException()):
            return TimedOut()
        case _, httpx.HTTPStatusError():
            return _error_of_status(cause.response.status_code, exc)
        case _, httpx.HTTPError():
            return Unreached()
        case TaskNotFoundError(), _:
            return NoSuchTask(said=exc.message)
        case ((TaskNotCancelableError() | UnsupportedOperationError()), _):
            return TaskEnded(said=exc.message)
        case (AgentCardResolutionError(), _) | (A2AClientError(), ValueError()):
            return NotA2A()
        case A2AError(), _:
            return Refused(said=str(exc.message))  # in 0.3 it comes unread
    return NotA2A()


def _error_of_status(status: int, exc: Exception) -> RemoteError:
    """What an HTTP status says that came instead of an answer."""
    if status in (401, 403):
        return NotAllowed()
    if isinstance(exc, AgentCardResolutionError) and status == 404:
        return _NoCard()
    if isinstance(exc, A2AError) and not isinstance(exc, A2AClientError):
        return Refused(said=exc.message)
    return Unreached() if status >= 500 or status == 429 else NotA2A()


class _BoundedStream(httpx.AsyncByteStream):
    """A response's body, of which no piece is too large."""

    def __init__(self, response: httpx.Response, max_bytes: int) -> None:
        assert isinstance(response.stream, httpx.AsyncByteStream)
        self._stream = response.stream
        self._headers = response.headers.copy()
        self._max_bytes = max_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Raises: TooMuch, NotA2A; and what the connection raises."""
        pieces = bounded(self._stream, self._headers, max_bytes=self._max_bytes)
        try:
            async with aclosing(pieces):
                async for piece in pieces:
                    yield piece
        except TooLarge as exc:
            raise TooMuch from exc
        except Unpackable as exc:
            raise NotA2A("The remote agent's answer is packed in a way that we cannot read.") from exc

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _bound(response: httpx.Response, *, max_bytes: int) -> None:
    """Have the body read through our bounds, before the client unpacks or collects any of it."""
    response.stream = _BoundedStream(response, max_bytes)
    response.headers.pop("Content-Encoding", None)
    response.encoding = "utf-8"  # all of A2A is; a charset could name one that unpacks, such as bz2


async def _raise_busy(response: httpx.Response) -> None:
    """Tell that the agent is busy here, as the SDK has no error for the code, and drops it in 0.3. Raises: Busy."""
    if not response.headers.get("Content-Type", "").startswith("application/json"):
        return
    try:
        error = msgspec.json.decode(await response.aread(), type=_Refusal).error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # no error, or one that the SDK is to judge
        return
    if error.code == _BUSY:
        raise Busy(said=error.message)


@functools.cache
def _tls() -> ssl.SSLContext:
    """Made once, as reading the certificates takes longer than many a call."""
    return httpx.create_ssl_context()
