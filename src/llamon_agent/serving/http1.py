"""HTTP/1.1 as uvicorn reads it, without upgrades, and with limits on what comes before a request.

Java's HTTP client, for one, offers HTTP/2 with its first request on every plain connection. A server may ignore that
(RFC 9110 §7.8), but the parser stops reading where an upgrade is asked for, and the request's body would be lost. So
the header's name is replaced before the parser sees it. A JSON body cannot hold such a line, because its strings have
no raw line breaks. Another body may, so the replacement has the same length: if the body grew, its end would be read as
the next request, which after a proxy is another caller's (request smuggling, RFC 9112 §11.2).

Neither the parser nor uvicorn limits the bytes before a complete head, or of a body after its request was answered, nor
the time that a reader leaves an answer unread. Anyone who reaches the port can do that, with or without a token.

A request says once whom it is for. Of two hosts a proxy in front of us may have believed the other one.

uvicorn lets only the last request of a connection know that its caller has hung up. Here those before it know it, too:
one may be a stream, which would go on without a reader, or an answer, which would fail with an error in the log.
"""

import asyncio
import re

import httptools
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

MAX_HEAD_BYTES = 64 * 1024
"""How many bytes may come before the end of a request's head, of a chunk's head or of the trailers."""

MAX_UNREAD_BYTES = 32 * 1024 * 1024
"""How much of a body is skipped after its answer, so that a caller that sends all before it reads still gets it."""

HEAD_WITHIN_S = 30.0
"""How long a connection may be open with neither a complete head nor an answer in progress."""

WRITE_WITHIN_S = 60.0
"""How long a reader may take less than `MIN_READ_BYTES` of what waits for it. Then its connection is dropped."""

MIN_READ_BYTES = 16 * 1024
"""How much a reader has to take in that time, or all there is."""

_UPGRADE = re.compile(rb"(?<=\r\n)upgrade(?=[ \t]*:)", re.IGNORECASE)
_REPLACEMENT = b"x-grade"

_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-type: text/plain; charset=utf-8\r\ncontent-length: 32\r\nconnection: close\r\n\r\n"
    b"The request's head is too large."
)

_HOST = re.compile(rb"([A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*(:\d*)?|\[[0-9A-Za-z:._~-]+\](:\d*)?")
"""Source: RFC 3986 §3.2.2, §3.2.3; it may be empty (RFC 9112 §3.2)."""

_ONE_HOST = b"The request must have one Host header, which names a host."


async def _refuse_host(_scope: Scope, _receive: Receive, send: Send) -> None:
    """An ASGI application, so that its answer comes after those of earlier requests."""
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", b"%d" % len(_ONE_HOST)),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": 400, "headers": headers})
    await send({"type": "http.response.body", "body": _ONE_HOST})


class BoundedHttp(HttpToolsProtocol):
    """uvicorn's protocol without Upgrade, and with the limits above."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._made_progress = False  # whether these bytes ended a head or a message, or belong to a body that is read
        self._pending_bytes = 0
        self._in_head = True
        self._in_body = False
        self._head_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._unread_bytes = 0
        self._unanswered: list[RequestResponseCycle] = []
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        if self._write_timer is not None:
            self._write_timer.cancel()
        for cycle in self._unanswered:
            if not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if b"pgrade" in data or b"PGRADE" in data:  # cheap, as nearly no request has one
            data = _UPGRADE.sub(_REPLACEMENT, data)
        self._made_progress = False
        super().data_received(data)
        self._pending_bytes = 0 if self._made_progress else self._pending_bytes + len(data)
        if self._pending_bytes > (MAX_UNREAD_BYTES if self._is_answered_early else MAX_HEAD_BYTES):
            self._disconnect()
        elif self._is_answered:
            self._wait_for_head()

    def on_message_begin(self) -> None:
        self._in_head = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header of a head. Trailers are left out: a proxy in front of us may not have checked them, and we would
        believe a token or an address in them (RFC 9110 §6.5.1).
        """
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._made_progress = True
        self._in_head, self._in_body = False, True
        self._stop_waiting()
        self._take_host_of_target()
        app = self.app
        self.app = app if self._names_one_host() else _refuse_host
        try:
            super().on_headers_complete()
        finally:
            self.app = app
        self._unanswered = [*(cycle for cycle in self._unanswered if not cycle.response_complete), self.cycle]

    def on_body(self, body: bytes) -> None:
        self._made_progress = self._made_progress or not self.cycle.response_complete
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._made_progress, self._in_body = True, False
        super().on_message_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._wait_for_reader()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._unread_bytes = 0  # its reader has taken something

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.get_write_buffer_size():
            self._wait_for_reader()

    def shutdown(self) -> None:
        """The server stops: close connections whose request is incomplete, as it may stay so. Others are answered."""
        if (cycle := self._last) is not None and cycle.more_body and not cycle.response_complete:
            self.transport.close()
        super().shutdown()

    def _take_host_of_target(self) -> None:
        """A target with a host of its own counts, and not the header. Source: RFC 9112 §3.2.2."""
        if self.url.startswith(b"/"):
            return
        target = httptools.parse_url(self.url)
        if target.host:
            self.headers[:] = [header for header in self.headers if header[0] != b"host"]
            port = b":%d" % target.port if target.port else b""
            host = b"[%b]" % target.host if b":" in target.host else target.host
            self.headers.append((b"host", host + port))

    def _names_one_host(self) -> bool:
        """Source: RFC 9112 §3.2: else it must be answered with 400; HTTP/1.0 has no such header."""
        hosts = [value for name, value in self.headers if name == b"host"]
        if not hosts:
            return self.parser.get_http_version() == "1.0"
        return len(hosts) == 1 and _HOST.fullmatch(hosts[0]) is not None

    @property
    def _last(self) -> RequestResponseCycle | None:
        """The last request; None before the first, although the attribute's type does not say so."""
        return self.cycle

    @property
    def _is_answered(self) -> bool:
        """Whether no answer is in progress."""
        return (cycle := self._last) is None or cycle.response_complete

    @property
    def _is_answered_early(self) -> bool:
        """Whether a request was answered before its body was complete."""
        return self._in_body and self._is_answered

    def _disconnect(self) -> None:
        if not self.transport.is_closing() and self._is_answered and not self._is_answered_early:
            self.transport.write(_TOO_LARGE)
        self.transport.close()

    def _wait_for_reader(self) -> None:
        if self._write_timer is None:
            self._unread_bytes = self.transport.get_write_buffer_size()
            self._write_timer = self.loop.call_later(WRITE_WITHIN_S, self._drop_idle_reader)

    def _drop_idle_reader(self) -> None:
        """Drop the connection if too little was read in a whole interval; else wait for another one, if need be."""
        self._write_timer = None
        unread_bytes = self.transport.get_write_buffer_size()
        if self._unread_bytes and unread_bytes > max(0, self._unread_bytes - MIN_READ_BYTES):
            self.transport.abort()
        elif unread_bytes:
            self._wait_for_reader()

    def _wait_for_head(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(HEAD_WITHIN_S, self.timeout_keep_alive_handler)

    def _stop_waiting(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
