"""A stranger's web site, and Chromium on its page: what the page's script learns comes back as one report."""

import asyncio
import contextlib
import json
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from tests.browser.conftest import CHROMIUM

PAGE = "/page"
REPORT = "/report"
STRANGER = "stranger.test"
"""A name of the stranger's own, which it lets lead wherever it likes."""

_ALONE = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--no-proxy-server",
    "--metrics-recording-only",
)
"""Nothing of the browser's own on the network: what it loads is what the test gives it."""


class Site:
    """A web site of one page. Shape: `behind` is where everything else that is asked of it goes, None for nowhere."""

    def __init__(self, script: str, behind: tuple[str, int] | None = None) -> None:
        self.show(script)
        self._behind = behind
        self._reports: asyncio.Queue[Any] = asyncio.Queue()

    def show(self, script: str) -> None:
        """Serve the page with this script."""
        self._page = f"<!doctype html><meta charset=utf-8><script>{script}</script>".encode()

    async def report(self) -> Any:
        """What the page's script says that it did and learnt."""
        return await self._reports.get()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError), contextlib.closing(writer):
            head = await reader.readuntil(b"\r\n\r\n")
            path = head.split(b" ", 2)[1].decode()
            if path == PAGE:
                await _respond(writer, self._page)
            elif path == REPORT:
                self._reports.put_nowait(json.loads(await _body(head, reader)))
                await _respond(writer, b"")
            elif self._behind is not None:
                await _hand_on(head, reader, writer, self._behind)


async def _respond(writer: asyncio.StreamWriter, body: bytes) -> None:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    writer.write(head.encode() + body)
    await writer.drain()


async def _body(head: bytes, reader: asyncio.StreamReader) -> bytes:
    lengths = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return await reader.readexactly(int(lengths[0]))


async def _hand_on(
    head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, behind: tuple[str, int]
) -> None:
    """The connection goes to the other place from here on, as if the name had led there."""
    there_reader, there_writer = await asyncio.open_connection(*behind)
    there_writer.write(head)
    with contextlib.closing(there_writer):
        await asyncio.gather(_pump(reader, there_writer), _pump(there_reader, writer))


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(65536):
        writer.write(piece)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


@asynccontextmanager
async def serving(site: Site, host: str, port: int = 0) -> AsyncIterator[int]:
    """The site at an address while the context lasts; its port."""
    connections: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.add(asyncio.create_task(site.answer(reader, writer)))

    server = await asyncio.start_server(accept, host, port)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for connection in connections:
            connection.cancel()
        await asyncio.gather(*connections, return_exceptions=True)


@contextmanager
def browsing(url: str, profile: Path, names: dict[str, str]) -> Iterator[None]:
    """Chromium on a page, with these names leading to these addresses and no others leading anywhere."""
    assert CHROMIUM is not None  # else nothing here is collected
    rules = [f"MAP {name} {address}" for name, address in names.items()]
    kept = [f"EXCLUDE {address}" for address in ("localhost", "127.0.0.1", *names.values())]
    resolving = ", ".join([*rules, "MAP * ~NOTFOUND", *kept])
    command = [CHROMIUM, *_ALONE, f"--user-data-dir={profile}", f"--host-resolver-rules={resolving}", url]
    with (profile.parent / f"{profile.name}.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        try:
            yield
        finally:
            process.terminate()
            process.wait(20)
