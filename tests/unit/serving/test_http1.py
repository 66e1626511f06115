"""What comes over a connection before and behind requests is bounded, and one request never becomes two."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.server import ServerState

from llamon_agent.serving import http1
from llamon_agent.serving.http1 import BoundedHttp

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

LARGE_BYTES = 32 * 1024 * 1024
"""More than the buffers of a connection take."""


class Watched(BoundedHttp):
    """Says when it is closed."""

    lost = asyncio.Event()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.lost.set()


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the request's path and, but for /early, the length of its body; /named adds the names of its
    headers, and /host the values of Host. /never is not answered, /large with many bytes.
    """
    if scope["path"] == "/never":
        await asyncio.Event().wait()
    size_bytes, more = 0, scope["path"] != "/early"
    while more:
        message = await receive()
        size_bytes, more = size_bytes + len(message.get("body", b"")), message.get("more_body", False)
    body = f"{scope['path']} {size_bytes}\n".encode()
    if scope["path"] == "/large":
        body = bytes(LARGE_BYTES)
    if scope["path"] == "/host":
        body += b" ".join(value for name, value in scope["headers"] if name == b"host")
    if scope["path"] == "/named":
        body += b" ".join(name for name, _ in scope["headers"])
    headers = [(b"content-length", b"%d" % len(body)), (b"content-type", b"text/plain")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class Waits:
    """Reads the body of a first request, and answers too late, once its caller has hung up; answers others at once."""

    def __init__(self) -> None:
        self.waiting, self.has_answered = asyncio.Event(), asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] != "/waits":
            await app(scope, receive, send)
            return
        while (await receive())["type"] != "http.disconnect":
            self.waiting.set()
        await app({**scope, "path": "/early"}, receive, send)
        self.has_answered.set()


@asynccontextmanager
async def connected(application: ASGIApp = app) -> AsyncIterator[Streams]:
    """A connection to a server of our protocol."""
    config = uvicorn.Config(
        application, ws="none", lifespan="off", log_config=None, server_header=False, date_header=False
    )
    config.load()
    state = ServerState()
    loop = asyncio.get_running_loop()
    Watched.lost = asyncio.Event()
    server = await loop.create_server(lambda: Watched(config, state, {}), "127.0.0.1", 0)
    async with asyncio.timeout(5), server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        try:
            yield reader, writer
        finally:
            writer.close()


async def sent(writer: asyncio.StreamWriter, piece: bytes, *, at_most: int) -> None:
    """Send a piece again and again until the other side closes, or `at_most` times."""
    try:
        for _ in range(at_most):
            writer.write(piece)
            await writer.drain()
    except OSError:
        return
    raise AssertionError("the server took it all")


def request(path: str, body: bytes = b"", *headers: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: x", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


@pytest.mark.parametrize("name", [b"Upgrade", b"upgrade", b"UPGRADE"])
async def test_a_body_with_lines_that_look_like_an_upgrade_stays_one_request(name: bytes) -> None:
    smuggled = b"POST /smuggled HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
    body = (b"\r\n" + name + b":") * len(smuggled) + smuggled

    async with connected() as (reader, writer):
        writer.write(request("/one", body) + request("/two", b"", "Connection: close"))
        answers = await reader.read()

    assert re.findall(rb"/\w+ \d+", answers) == [b"/one %d" % len(body), b"/two 0"]


async def test_an_offer_to_upgrade_is_passed_over() -> None:
    async with connected() as (reader, writer):
        writer.write(request("/one", b"{}", "Connection: Upgrade, close", "Upgrade: h2c"))

        assert b"/one 2" in await reader.read()


@pytest.mark.parametrize(
    "head", [b"GET /", b"GET / HTTP/1.1\r\nX: ", b"GET / HTTP/1.1\r\n" + b"X: y\r\n", b"\r\n"], ids=repr
)
async def test_a_head_without_an_end_is_broken_off(head: bytes) -> None:
    piece = head if head.endswith(b"\n") else b"x"
    async with connected() as (_, writer):
        writer.write(head)
        await sent(writer, piece * (16 * 1024 // len(piece)), at_most=2_000)


async def test_a_head_that_is_too_large_is_reported() -> None:
    async with connected() as (reader, writer):
        writer.write(b"GET / HTTP/1.1\r\nX: " + b"x" * (http1.MAX_HEAD_BYTES + 1))

        assert (await reader.readline()).startswith(b"HTTP/1.1 431 ")


async def test_trailers_without_an_end_are_broken_off() -> None:
    async with connected() as (_, writer):
        writer.write(b"POST /one HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ")
        await sent(writer, b"x" * 16 * 1024, at_most=2_000)


async def test_a_chunk_without_an_end_of_its_head_is_broken_off() -> None:
    async with connected() as (_, writer):
        writer.write(b"POST /one HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        writer.write(b"1;" + b"x" * http1.MAX_HEAD_BYTES)
        await sent(writer, b"x" * 16 * 1024, at_most=2_000)


async def test_of_a_body_that_is_answered_already_only_so_much_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http1, "MAX_UNREAD_BYTES", 256 * 1024)
    async with connected() as (reader, writer):
        writer.write(b"POST /early HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999999\r\n\r\n")
        assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")

        await sent(writer, b"x" * 64 * 1024, at_most=2_000)


async def test_a_head_after_a_body_that_was_answered_early_has_the_usual_limit() -> None:
    async with connected() as (reader, writer):
        writer.write(request("/early", b"{}")[:-1])
        await reader.readuntil(b"/early 0\n")
        writer.write(b"}GET / HTTP/1.1\r\nX: ")
        writer.write(b"x" * 8 * http1.MAX_HEAD_BYTES)

        assert (await reader.readline()).startswith(b"HTTP/1.1 431 ")


async def test_a_caller_with_a_large_unread_body_gets_its_answer_and_the_next_one() -> None:
    body = b"x" * (4 * http1.MAX_HEAD_BYTES)
    async with connected() as (reader, writer):
        writer.write(request("/early", body))
        await writer.drain()
        writer.write(request("/two", b"", "Connection: close"))

        assert re.findall(rb"/\w+ \d+", await reader.read()) == [b"/early 0", b"/two 0"]


@pytest.mark.parametrize("begun", [b"", b"GET / HTTP/1.1\r\nHost"])
async def test_a_caller_without_a_complete_head_is_disconnected(monkeypatch: pytest.MonkeyPatch, begun: bytes) -> None:
    monkeypatch.setattr(http1, "HEAD_WITHIN_S", 0.02)
    async with connected() as (reader, writer):
        writer.write(begun)
        await reader.read()  # until the server closes


@pytest.mark.parametrize("begun", [b"\r\n", b"GET / HTTP/1.1\r\nHost"])
async def test_a_caller_without_a_complete_head_after_an_answer_is_disconnected(
    monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    monkeypatch.setattr(http1, "HEAD_WITHIN_S", 0.2)
    async with connected() as (reader, writer):
        writer.write(request("/one"))
        await reader.readuntil(b"/one 0\n")
        writer.write(begun)
        await reader.read()


async def test_a_slow_body_has_no_time_limit_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http1, "HEAD_WITHIN_S", 0.02)
    passed = asyncio.Event()
    async with connected() as (reader, writer):
        writer.write(request("/one", b"{}", "Connection: close")[:-1])
        asyncio.get_running_loop().call_later(0.06, passed.set)
        await passed.wait()
        writer.write(b"}")

        assert b"/one 2" in await reader.read()


async def test_a_head_that_is_too_large_before_the_answer_to_the_last_request_is_disconnected() -> None:
    async with connected() as (_, writer):
        writer.write(request("/never") + b"GET /")
        await sent(writer, b"x" * 16 * 1024, at_most=2_000)


async def test_trailers_are_no_headers() -> None:
    chunked = b"POST /named HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    async with connected() as (reader, writer):
        writer.write(chunked + b"0\r\nAuthorization: Bearer s3cret\r\nX-Forwarded-Host: evil.example\r\n\r\n")
        answer = await reader.read()

    assert answer.endswith(b"/named 0\nhost transfer-encoding connection")


async def test_a_request_after_trailers_has_its_own_headers() -> None:
    first = b"POST /one HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Late: 1\r\n\r\n"
    async with connected() as (reader, writer):
        writer.write(first + request("/named", b"", "X-Own: 1", "Connection: close"))
        answers = await reader.read()

    assert answers.endswith(b"/named 0\nhost content-length x-own connection")


@pytest.mark.parametrize("more", ["", "Connection: close"])
async def test_a_reader_that_takes_nothing_is_dropped(more: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http1, "WRITE_WITHIN_S", 0.05)
    async with connected() as (reader, writer):
        writer.write(request("/large", b"", *([more] if more else [])))
        await Watched.lost.wait()
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await reader.readexactly(LARGE_BYTES)


async def test_a_reader_that_takes_its_time_gets_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http1, "WRITE_WITHIN_S", 0.01)
    looks, looked_thrice = iter(range(3)), asyncio.Event()

    def look(protocol: BoundedHttp) -> None:
        """As if the reader had taken enough since the last look."""
        protocol._unread_bytes = protocol.transport.get_write_buffer_size() + http1.MIN_READ_BYTES
        decide(protocol)
        if next(looks, None) is None:
            looked_thrice.set()

    decide = BoundedHttp._drop_idle_reader
    monkeypatch.setattr(BoundedHttp, "_drop_idle_reader", look)
    async with connected() as (reader, writer):
        writer.write(request("/large", b"", "Connection: close"))
        await looked_thrice.wait()
        assert len(await reader.read()) > LARGE_BYTES


@pytest.mark.parametrize(
    "hosts",
    [
        *([], ["a", "b"], ["a", "a"], ["a b"], ["a, b"], ["a/b"], ["user@a"], ["a:b"], ["a:80:80"], ["[::1"], ["::1"]),
        *(["a%2"], ["\xe9"], ["a", ""]),
    ],
    ids=repr,
)
async def test_a_request_without_one_valid_host_is_refused_and_nothing_after_it_is_read(hosts: list[str]) -> None:
    lines = ["POST /host HTTP/1.1", *(f"Host: {host}" for host in hosts), "Content-Length: 0", "", ""]
    async with connected() as (reader, writer):
        writer.write("\r\n".join(lines).encode("latin-1") + request("/smuggled"))
        answer = await reader.read()
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"connection: close" in answer
    assert answer.endswith(b"\r\n\r\nThe request must have one Host header, which names a host.")


@pytest.mark.parametrize("host", ["", "a", "a.example:8000", "127.0.0.1:80", "[::1]", "[::1]:80", "under_score", "a:"])
async def test_every_host_that_may_be_is_taken(host: str) -> None:
    async with connected() as (reader, writer):
        writer.write(f"POST /host HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
        assert (await reader.read()).endswith(f"/host 0\n{host}".encode())


async def test_http_1_0_needs_no_host() -> None:
    async with connected() as (reader, writer):
        writer.write(b"POST /host HTTP/1.0\r\nContent-Length: 0\r\n\r\n")
        assert (await reader.read()).endswith(b"/host 0\n")


@pytest.mark.parametrize("target", ["a.example", "a.example:8000", "[::1]:80"])
async def test_the_host_of_a_target_counts_and_not_the_header(target: str) -> None:
    async with connected() as (reader, writer):
        writer.write(f"POST http://{target}/host HTTP/1.1\r\nHost: b\r\nConnection: close\r\n\r\n".encode())
        assert (await reader.read()).endswith(f"/host 0\n{target}".encode())


async def test_a_refusal_waits_for_the_answers_before_it() -> None:
    async with connected() as (reader, writer):
        writer.write(request("/one") + b"POST /two HTTP/1.1\r\n\r\n")
        answers = await reader.read()
    assert re.findall(rb"HTTP/1.1 (\d+)", answers) == [b"200", b"400"]


@pytest.mark.parametrize("how", ["close", "abort"])
async def test_every_request_of_a_connection_learns_that_its_caller_has_hung_up(
    caplog: pytest.LogCaptureFixture, how: str
) -> None:
    waits = Waits()
    async with connected(waits) as (_, writer):
        writer.write(request("/waits") + request("/one", b"{}") + request("/two")[:-4])
        await waits.waiting.wait()
        writer.close() if how == "close" else writer.transport.abort()
        await waits.has_answered.wait()
    assert [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")] == []
