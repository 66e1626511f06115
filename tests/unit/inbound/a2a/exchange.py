"""One HTTP exchange with a route, driven over the ASGI interface by hand."""

import asyncio
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Scope

JSON = (b"content-type", b"application/json")


class Exchange:
    """A caller: its body comes in pieces, and it stays until it hangs up.

    Shape: `breaks_off` hangs up after the pieces, though more were to come, and `stalls` sends nothing more; `sent` is
           what the application said.
    """

    def __init__(
        self,
        app: ASGIApp,
        *pieces: bytes,
        path: str = "/a2a",
        headers: tuple[tuple[bytes, bytes], ...] = (JSON,),
        breaks_off: bool = False,
        stalls: bool = False,
        on_send: Callable[[Message], None] = lambda _message: None,
    ) -> None:
        self._app = app
        self._path = path
        self._pieces = list(pieces)
        self._headers = list(headers)
        self._breaks_off = breaks_off
        self._stalls = stalls
        self._on_send = on_send
        self._hung_up = asyncio.Event()
        self._first_body = asyncio.Event()
        self.sent: list[Message] = []
        self.reads = 0

    async def run(self) -> None:
        scope: Scope = {"type": "http", "method": "POST", "path": self._path, "query_string": b""}
        scope["headers"] = self._headers
        await self._app(scope, self._receive, self._send)

    def hang_up(self) -> None:
        self._hung_up.set()

    async def first_body(self) -> None:
        await self._first_body.wait()

    async def _receive(self) -> Message:
        self.reads += 1
        if self._pieces:
            piece = self._pieces.pop(0)
            return {
                "type": "http.request",
                "body": piece,
                "more_body": bool(self._pieces) or self._breaks_off or self._stalls,
            }
        if not self._breaks_off:
            await self._hung_up.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        self.sent.append(message)
        self._on_send(message)
        if message["type"] == "http.response.body":
            self._first_body.set()

    @property
    def status(self) -> int:
        status: int = self.sent[0]["status"]
        return status

    @property
    def headers(self) -> dict[bytes, bytes]:
        return dict(self.sent[0]["headers"])

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent[1:])


async def exchange(app: ASGIApp, *pieces: bytes, headers: tuple[tuple[bytes, bytes], ...] = (JSON,)) -> Exchange:
    made = Exchange(app, *pieces, headers=headers)
    async with asyncio.timeout(5):
        await made.run()
    return made
