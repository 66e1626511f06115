"""Server-sent events: frames for our streams, and a reader of anybody's.

Source: WHATWG HTML §9.2 (text/event-stream).
"""

import re

import msgspec

PING = b": ping\n\n"
"""A comment: keeps proxies from closing a quiet stream, and no client sees it."""

CUT_OFF = b": the server stops; the task goes on, subscribe again\n\n"
"""A comment at the end of a stream that ends before its task does."""

_LINE_END = re.compile(rb"\r\n|\r|\n")
_BOM = b"\xef\xbb\xbf"


def write_frame(seq: int | None, *pieces: bytes, name: bytes = b"") -> bytes:
    """One event of one line of JSON, which may come in pieces; `seq` becomes its id, `name` says what kind it is."""
    data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
    if name:
        return b"event: %b\n" % name + write_frame(seq, data)
    if seq is None:
        return b"data: %b\n\n" % data
    return b"id: %d\ndata: %b\n\n" % (seq, data)


class Event(msgspec.Struct, frozen=True):
    """An event as it arrived: data is its data lines joined by newlines, id the last id in the stream."""

    data: bytes
    id: str = ""
    name: str = "message"


class Reader:
    """Reads a stream in whatever pieces it comes.

    Rules: a line ends with CR, LF or CRLF; a CR at the end of a piece ends the line at once, and an LF that opens the
    next piece then belongs to it. An event without data is none, and one that the stream's end cuts off is dropped.
    """

    def __init__(self) -> None:
        self._line = bytearray()
        self._after_cr = False
        self._started = False
        self._data: list[bytes] = []
        self._name = ""
        self._id = ""

    def feed(self, piece: bytes) -> list[Event]:
        """The events that this piece completes."""
        return [event for line in self._lines(piece) if (event := self._take(line)) is not None]

    def _lines(self, piece: bytes) -> list[bytes]:
        if not piece:
            return []
        if self._after_cr and piece.startswith(b"\n"):
            piece = piece[1:]
            self._after_cr = False
            if not piece:
                return []
        self._after_cr = piece.endswith(b"\r")
        *ended, rest = _LINE_END.split(piece)
        if not ended:
            self._line += rest
            return []
        lines = [bytes(self._line) + ended[0], *ended[1:]]
        self._line = bytearray(rest)
        return lines

    def _take(self, line: bytes) -> Event | None:
        if not self._started:
            self._started = True
            line = line.removeprefix(_BOM)
        if not line:
            return self._dispatch()
        field, _, value = line.partition(b":")  # a comment has no field name, so nothing matches it
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._name = value.decode("utf-8", "replace")
        elif field == b"id" and b"\0" not in value:
            self._id = value.decode("utf-8", "replace")
        return None

    def _dispatch(self) -> Event | None:
        data, name = self._data, self._name or "message"
        self._data, self._name = [], ""
        return Event(b"\n".join(data), self._id, name) if data else None
