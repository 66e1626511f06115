"""A load generator that costs little, so that what is measured is the server: raw HTTP/1.1 over loopback.

Each connection keeps one request under way. Everything is bounded: by the number of calls and by a limit of time.
"""

import asyncio
import json
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

LIMIT_S = 120.0
COMPLETED = b"TASK_STATE_COMPLETED"
"""What is in the answer to a call that was carried out."""

_HEADERS_END = b"\r\n\r\n"


@dataclass(frozen=True)
class Measured:
    """What a load showed. Units: calls, events, and chunks of answers, per second of wall time."""

    calls_per_s: float
    events_per_s: float
    chunks_per_s: float
    in_time: bool
    """Whether all calls were answered; else the figures are those of the time there was."""


def message(text: str) -> dict[str, Any]:
    """The parameters of a call that sends a message."""
    return {"message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": text}]}}


def request_bytes(port: int, method: str, params: dict[str, Any], *, path: str = "/a2a") -> bytes:
    """One 1.0 JSON-RPC call as it goes over the wire."""
    return post_bytes(port, path, {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


def post_bytes(port: int, path: str, value: dict[str, Any]) -> bytes:
    """A POST of some JSON for 1.0, as it goes over the wire."""
    body = json.dumps(value).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nA2A-Version: 1.0\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def get_bytes(port: int, path: str) -> bytes:
    """A GET as it goes over the wire."""
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()


class _Connection(asyncio.Protocol):
    """Sends a request, reads its response to the end, counts what is in it, and goes on while any request is left."""

    def __init__(self, load: "_Load") -> None:
        self.load = load
        self.buffer = bytearray()
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._next()

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        if self._is_whole():
            self._check()
            self.load.count(self.buffer)
            self.buffer.clear()
            self.load.answered()
            self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        self.load.lost(exc)

    def _next(self) -> None:
        assert self.transport is not None
        if self.load.take():
            self.transport.write(self.load.request)
        else:
            self.transport.close()

    def _is_whole(self) -> bool:
        head_end = self.buffer.find(_HEADERS_END)
        if head_end < 0:
            return False
        head = bytes(self.buffer[:head_end]).lower()
        if b"transfer-encoding: chunked" in head:
            return self.buffer.endswith(b"\r\n0\r\n\r\n")
        length = int(head.split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
        return len(self.buffer) >= head_end + len(_HEADERS_END) + length

    def _check(self) -> None:
        if not self.buffer.startswith(b"HTTP/1.1 200") or self.load.expected not in self.buffer:
            self.load.fail(AssertionError(bytes(self.buffer[:400]).decode(errors="replace")))


class _Load:
    def __init__(self, request: bytes, expected: bytes, calls: int) -> None:
        self.request = request
        self.expected = expected
        self.calls = calls
        self.left = calls
        self.answers = 0
        self.events = 0
        self.chunks = 0
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def take(self) -> bool:
        self.left -= 1
        return self.left >= 0

    def count(self, response: bytearray) -> None:
        self.events += response.count(b"data:")
        self.chunks += response.count(b'"artifactUpdate"')

    def answered(self) -> None:
        self.answers += 1
        if self.answers == self.calls and not self.done.done():
            self.done.set_result(None)

    def lost(self, exc: Exception | None) -> None:
        if self.answers < self.calls and self.left >= 0:
            self.fail(exc or ConnectionError("the server closed a connection"))

    def fail(self, exc: Exception) -> None:
        if not self.done.done():
            self.done.set_exception(exc)


async def drive(
    port: int, method: str, text: str, *, calls: int, connections: int, at_most_s: float | None = None
) -> Measured:
    """Make `calls` calls over `connections` connections and time them; of what takes longer than `at_most_s`, the part
    that came. Raises: AssertionError on any wrong answer, TimeoutError where no such limit is given.
    """
    request = request_bytes(port, method, message(text))
    return await drive_request(port, request, COMPLETED, calls=calls, connections=connections, at_most_s=at_most_s)


async def drive_request(
    port: int, request: bytes, expected: bytes, *, calls: int, connections: int, at_most_s: float | None = None
) -> Measured:
    """Make `calls` calls of one kind, as `drive` does, whose answers have `expected` in them."""
    load = _Load(request, expected, calls)
    loop = asyncio.get_running_loop()
    begin_s = time.perf_counter()
    opened = [
        (await loop.create_connection(lambda: _Connection(load), "127.0.0.1", port))[1] for _ in range(connections)
    ]
    with suppress(*([TimeoutError] if at_most_s else [])):
        async with asyncio.timeout(at_most_s or LIMIT_S):
            await load.done
    took_s = time.perf_counter() - begin_s
    if load.answers < calls:
        _break_off(load, opened)
    return Measured(
        calls_per_s=load.answers / took_s,
        events_per_s=load.events / took_s,
        chunks_per_s=load.chunks / took_s,
        in_time=load.answers == calls,
    )


def _break_off(load: _Load, opened: list[_Connection]) -> None:
    """Count what has come of the answers that are under way."""
    for connection in opened:
        assert connection.transport is not None
        load.count(connection.buffer)
        connection.transport.abort()
