"""How much a client takes from a server in one piece: one event of a stream, or a whole body.

Theory. A client collects bytes until an event or a body is whole, so a server that never ends one can fill its memory.
Therefore all bytes pass a gauge before anything collects them. They are unpacked before they reach it, a little at a
time, as a few packed bytes can become any number. Headers are no concern here: h11 bounds them.

Rules. Of a stream, what counts is what came since the last empty line, whatever it is. Only gzip is unpacked: it is all
that we accept, and packed twice is not that.

Source: WHATWG HTML §9.2.5 (a line ends with CR, LF or CRLF); RFC 9110 §8.4 (Content-Encoding).
"""

import re
import zlib
from collections.abc import AsyncGenerator, AsyncIterable, Iterator, Mapping

MAX_REPLY_BYTES = 32 << 20
"""The default for the size of a reply: three times what an edge takes as a message by default."""

ACCEPT_ENCODING = "gzip"

EVENT_STREAM = "text/event-stream"

_EMPTY_LINE = re.compile(rb"(?<=\n)[\n\r]|(?<=\r)\r")
"""Where a line ends right after another, however lines end."""

_STEP_BYTES = 1 << 16
_GZIP = zlib.MAX_WBITS | 16


class TooLarge(Exception):
    """The server sent more in one piece than is taken."""


class Unpackable(Exception):
    """The body is packed in a way that we did not accept, or wrongly."""


class Gauge:
    """Counts a response as it comes. Units: max_bytes is for one event where the response is a stream of them."""

    def __init__(self, max_bytes: int, *, of_events: bool) -> None:
        self._max_bytes = max_bytes
        self._of_events = of_events
        self._bytes = 0
        self._last = b""

    def take(self, piece: bytes) -> None:
        """Raises: TooLarge."""
        start = 0
        if self._of_events:
            before = len(self._last)
            for found in _EMPTY_LINE.finditer(self._last + piece):
                end = found.end() - before
                self._count(end - start)
                self._bytes, start = 0, end
            self._last = piece[-1:] or self._last
        self._count(len(piece) - start)

    def _count(self, more: int) -> None:
        self._bytes += more
        if self._bytes > self._max_bytes:
            raise TooLarge


class Unpacking:
    """Undoes a content encoding, a little at a time. Raises: Unpackable."""

    def __init__(self, encoding: str) -> None:
        if encoding not in ("", "identity", "gzip", "x-gzip"):
            raise Unpackable
        self._gzip = zlib.decompressobj(_GZIP) if "gzip" in encoding else None

    @property
    def is_over(self) -> bool:
        """Whether what was packed has ended, so that nothing after it counts."""
        return self._gzip is not None and self._gzip.eof

    def steps(self, piece: bytes) -> Iterator[bytes]:
        """What the piece unpacks to. Raises: Unpackable."""
        if self._gzip is None:
            yield piece
            return
        try:
            while (step := self._gzip.decompress(piece, _STEP_BYTES)) or self._gzip.unconsumed_tail:
                yield step
                piece = self._gzip.unconsumed_tail
        except zlib.error as exc:
            raise Unpackable from exc


async def bounded(body: AsyncIterable[bytes], headers: Mapping[str, str], *, max_bytes: int) -> AsyncGenerator[bytes]:
    """A body as it comes, unpacked, as long as no piece of it is too large.

    Shape:  headers are the response's, found by their names in any case.
    Raises: TooLarge, Unpackable; and what the connection raises.
    """
    gauge = Gauge(max_bytes, of_events=EVENT_STREAM in headers.get("Content-Type", "").lower())
    unpacking = Unpacking(headers.get("Content-Encoding", "").strip().lower())
    async for piece in body:
        for step in unpacking.steps(piece):
            gauge.take(step)
            yield step
        if unpacking.is_over:
            return
