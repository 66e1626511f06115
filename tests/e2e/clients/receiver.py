"""A webhook that we can look into."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from threading import Thread
from typing import Any

import msgspec
from typing_extensions import override

WAIT_S = 10


class Told(msgspec.Struct, frozen=True):
    """One notification as it came in."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class Receiver:
    """Answers 200 to everything, and keeps it."""

    def __init__(self, url: str, told: "Queue[Told]") -> None:
        self.url = url
        self._told = told

    def until(self, state: str, path: str) -> list[Told]:
        """What was posted to that path, up to the one that has the state. Raises: queue.Empty: it did not come."""
        seen: list[Told] = []
        while not seen or state_of(seen[-1].body) != state:
            told = self._told.get(timeout=WAIT_S)
            seen += [told] if told.path == path else []
        return seen


def state_of(body: dict[str, Any]) -> str:
    """The state in a notification: of 0.x a task, of 1.0 a task or a status; of an artifact, none."""
    about = body.get("task") or body.get("statusUpdate") or body
    state: str = about.get("status", {}).get("state", "")
    return state.removeprefix("TASK_STATE_").lower().replace("_", "-")


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver on a free port."""
    told: Queue[Told] = Queue()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            told.put(Told(self.path, {name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        @override
        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield Receiver(f"http://127.0.0.1:{server.server_port}", told)
        finally:
            server.shutdown()
            thread.join()
