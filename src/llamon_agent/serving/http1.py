"""HTTP/1.1 as uvicorn reads it, without upgrades, and within bounds before there is a request.

Java's HTTP client, for one, offers HTTP/2 with its first request on every plain connection. A server may ignore that
(RFC 9110 §7.8), but the parser stops reading where an upgrade is asked for, and the request's body would be lost. So
the parser is not shown the header by its name. A line of that name cannot occur in a JSON body, whose strings hold no
raw line breaks; in another body it may, so that what takes its place is as long: of a body that grew, the end would be
read as the next request, and behind a proxy that one is somebody else's (request smuggling, RFC 9112 §11.2).

Neither the parser nor uvicorn bounds what comes before a request is one, or of a body that nobody reads any more. Both
are for everybody who reaches the port, with a token or not.
"""

import asyncio
import re

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

MAX_HEAD_BYTES = 64 * 1024
"""How much may come without an end of a request's head, of a chunk's or of the trailers."""

MAX_UNREAD_BYTES = 32 * 1024 * 1024
"""How much of a body is passed over that is answered already: who sends first and then reads still gets the answer."""

HEAD_WITHIN_S = 30.0
"""How long a connection may be open without a whole head of a request, and without an answer that is under way."""

_UPGRADE = re.compile(rb"(?<=\r\n)upgrade(?=[ \t]*:)", re.IGNORECASE)
_PASSED_OVER = b"x-grade"

_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-type: text/plain; charset=utf-8\r\ncontent-length: 32\r\nconnection: close\r\n\r\n"
    b"The request's head is too large."
)


class BoundedHttp(HttpToolsProtocol):
    """uvicorn's protocol, deaf to Upgrade, and with little patience for what is no request."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._came_on = False  # whether the bytes at hand have ended a head or a message, or are of a body that is read
        self._pending_bytes = 0
        self._in_head = True
        self._in_body = False
        self._head_timer: asyncio.TimerHandle | None = None
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if b"pgrade" in data or b"PGRADE" in data:  # cheap, as nearly no request has one
            data = _UPGRADE.sub(_PASSED_OVER, data)
        self._came_on = False
        super().data_received(data)
        self._pending_bytes = 0 if self._came_on else self._pending_bytes + len(data)
        if self._pending_bytes > (MAX_UNREAD_BYTES if self._is_answered_early else MAX_HEAD_BYTES):
            self._break_off()
        elif self._is_answered:
            self._wait_for_head()

    def on_message_begin(self) -> None:
        self._in_head = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header of a head. What stands behind a body, trailers, is left out, lest a proxy in front of us has passed
        over there what we would believe: a token, an address (RFC 9110 §6.5.1).
        """
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._came_on = True
        self._in_head, self._in_body = False, True
        self._stop_waiting()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._came_on = self._came_on or not self.cycle.response_complete
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._came_on, self._in_body = True, False
        super().on_message_complete()

    def shutdown(self) -> None:
        """The server stops: let go of a caller whose request is not whole, as it may never be. Others are answered."""
        if (cycle := self._last) is not None and cycle.more_body and not cycle.response_complete:
            self.transport.close()
        super().shutdown()

    @property
    def _last(self) -> RequestResponseCycle | None:
        """The last request that has come: None before the first, whatever the attribute's type says."""
        return self.cycle

    @property
    def _is_answered(self) -> bool:
        """Whether no answer is under way."""
        return (cycle := self._last) is None or cycle.response_complete

    @property
    def _is_answered_early(self) -> bool:
        """Whether there is an answer already to a request whose body still comes."""
        return self._in_body and self._is_answered

    def _break_off(self) -> None:
        if not self.transport.is_closing() and self._is_answered and not self._is_answered_early:
            self.transport.write(_TOO_LARGE)
        self.transport.close()

    def _wait_for_head(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(HEAD_WITHIN_S, self.timeout_keep_alive_handler)

    def _stop_waiting(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
