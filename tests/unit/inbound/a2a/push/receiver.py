"""A webhook's receiver on a real loopback socket: bytes in, canned answers out."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from ssl import SSLContext
from typing import Any

import msgspec

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
GONE = b"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n"
BROKEN = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"
HANG_UP = b""


class Hook(msgspec.Struct):
    """A request as it arrived. Shape: header names are in lower case; raw_head is the header as it was."""

    target: str
    headers: dict[str, str]
    body: bytes
    raw_head: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Receiver:
    """Answers each request with the next of `answers`, the last one all others; SILENT keeps it waiting."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}/hook"
        self.answers: list[bytes | None] = [OK]
        self.hooks: list[Hook] = []
        self.at_once = self.most_at_once = 0
        self._more = asyncio.Condition()

    async def heard(self, count: int) -> list[Hook]:
        """Wait until that many requests have come."""
        async with asyncio.timeout(5), self._more:
            await self._more.wait_for(lambda: len(self.hooks) >= count)
        return self.hooks

    async def until(self, seen: Callable[[list[Hook]], bool]) -> list[Hook]:
        """Wait until what has come is what is waited for."""
        async with asyncio.timeout(5), self._more:
            await self._more.wait_for(lambda: seen(self.hooks))
        return self.hooks

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                hook = await _read(reader)
                answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
                async with self._more:
                    self.hooks.append(hook)
                    self._more.notify_all()
                if answer is None:
                    await reader.read()  # until the other side gives up
                else:
                    writer.write(answer)
                    await writer.drain()
        finally:
            self.at_once -= 1
            writer.close()


SILENT = None


@asynccontextmanager
async def receiving(tls: SSLContext | None = None, host: str = "127.0.0.1") -> AsyncIterator[Receiver]:
    received: list[Receiver] = []
    serving: set[asyncio.Task[None]] = set()

    def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(received[0].serve(reader, writer))
        serving.add(task)
        task.add_done_callback(serving.discard)

    server = await asyncio.start_server(take, host, 0, ssl=tls)
    received.append(Receiver(server.sockets[0].getsockname()[1]))
    try:
        yield received[0]
    finally:
        server.close()
        for task in serving:
            task.cancel()
        if serving:
            await asyncio.wait(serving)


async def _read(reader: asyncio.StreamReader) -> Hook:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("ascii").split("\r\n")[:-2]
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    body = await reader.readexactly(int(headers["content-length"]))
    return Hook(first.split(" ")[1], headers, body, head)
