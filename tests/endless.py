"""A server on a real socket whose answers never end, and that counts how much of them was taken."""

import gzip
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.unit.cli.conftest import CARD

_JSON = b"Content-Type: application/json\r\n"
_EVENTS = b"Content-Type: text/event-stream\r\n"
_WORDS = b"x" * (1 << 16)
_PACKED = gzip.compress(b'"' + b"x" * (1 << 28), 9)

ENDLESS: dict[str, tuple[bytes, bytes, bytes]] = {
    "a line": (_EVENTS, b"data: ", _WORDS),
    "an event": (_EVENTS, b"", b"data: x\n" * 8_000),
    "an event of lines that end otherwise": (_EVENTS, b"", b"data: x\r\n" * 8_000),
    "a packed line": (_EVENTS + b"Content-Encoding: gzip\r\n", _PACKED, b"\0"),
    "a body": (_JSON, b'{"jsonrpc": "2.0", "result": "', _WORDS),
    "a packed body": (_JSON + b"Content-Encoding: gzip\r\n", _PACKED, b"\0"),
    "a body that names another packing as its charset": (
        b"Content-Type: text/event-stream; charset=bz2\r\n",
        b"",
        _WORDS,
    ),
    "a header": (b"X-Words: ", b"", _WORDS),
}
"""What does not end, by its name. Shape: the headers, what is said once, and what is said again and again."""


class Endless:
    """Shape: taken_bytes is what all clients took; `left` is set when the one that never got its answer is gone."""

    def __init__(self, origin: str, said: str, status: str, *, card: bool) -> None:
        self.origin = origin
        self.taken_bytes = 0
        self.left = threading.Event()
        self._said = ENDLESS[said]
        self._status = status.encode()
        self._in_card = card

    def answer(self, connection: socket.socket) -> None:
        asked = b""
        while b"\r\n\r\n" not in asked:
            asked += connection.recv(1 << 16)
        if asked.startswith(b"GET") and not self._in_card:
            self._send_card(connection)
            return
        headers, once, again = self._said
        end = b"" if headers.startswith(b"X-") else b"\r\n"
        with suppress(OSError):
            connection.sendall(b"HTTP/1.1 %b\r\n%b%b%b" % (self._status, headers, end, once))
            while True:
                connection.sendall(again)
                self.taken_bytes += len(again)
        self.left.set()

    def _send_card(self, connection: socket.socket) -> None:
        card = json.dumps(CARD).encode()
        head = b"HTTP/1.1 200 OK\r\n%bContent-Length: %d\r\nConnection: close\r\n\r\n" % (_JSON, len(card))
        connection.sendall(head + card)


@contextmanager
def endless(said: str, *, status: str = "200 OK", card: bool = False) -> Iterator[Endless]:
    """An agent that says something endless, to calls, or where its card should be."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Endless(f"http://127.0.0.1:{listener.getsockname()[1]}", said, status, card=card)

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        server.answer(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(10)
