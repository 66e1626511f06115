"""An A2A 1.0 agent of canned answers on a real socket, for the client's tests."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

Json = dict[str, Any]

CARD: Json = {
    "name": "Canned",
    "description": "Says what it was told to say.",
    "version": "2.1.0",
    "capabilities": {"streaming": True},
    "skills": [{"id": "can", "name": "Can", "description": "Opens cans.", "tags": []}],
    "supportedInterfaces": [
        {"url": "https://elsewhere.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    ],
}


@dataclass
class Call:
    """A call as it arrived."""

    path: str
    headers: dict[str, str]
    body: Json

    @property
    def message(self) -> Json:
        message: Json = self.body["params"]["message"]
        return message


@dataclass
class Agent:
    """What the agent is told to say, and what it heard.

    Shape: cards maps a path to a card, or to a whole response; each reply answers one call, the last one all others.
    """

    origin: str
    cards: dict[str, Json | Response] = field(default_factory=lambda: {"/.well-known/agent-card.json": CARD})
    replies: list[Response | Callable[[], Response]] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    fetched: list[Call] = field(default_factory=list)

    def says(self, *replies: Response | Callable[[], Response]) -> None:
        self.replies = list(replies)

    async def get(self, request: Request) -> Response:
        self.fetched.append(Call(request.url.path, dict(request.headers), {}))
        found = self.cards.get(request.url.path)
        if found is None:
            return Response("<h1>Not found</h1>", 404, media_type="text/html")
        return found if isinstance(found, Response) else Response(json.dumps(found), media_type="application/json")

    async def post(self, request: Request) -> Response:
        path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        self.calls.append(Call(path, dict(request.headers), json.loads(await request.body())))
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        return reply if isinstance(reply, Response) else reply()


def result(value: Json) -> Response:
    return Response(json.dumps({"jsonrpc": "2.0", "id": "1", "result": value}), media_type="application/json")


def error(code: int, message: str) -> Response:
    body = {"jsonrpc": "2.0", "id": "1", "error": {"code": code, "message": message}}
    return Response(json.dumps(body), media_type="application/json")


def frame(value: Json) -> bytes:
    return b"data: " + json.dumps({"jsonrpc": "2.0", "id": "1", "result": value}).encode() + b"\n\n"


def stream(*values: Json, then: Callable[[], AsyncIterator[bytes]] | None = None) -> Callable[[], Response]:
    """A stream of these events, with a ping in front; `then` goes on with it."""

    async def frames() -> AsyncIterator[bytes]:
        yield b": ping\n\n"
        for value in values:
            yield frame(value)
        if then is not None:
            async for more in then():
                yield more

    return lambda: StreamingResponse(frames(), media_type="text/event-stream")


def message(text: str, *parts: Json) -> Json:
    return {"messageId": "m1", "role": "ROLE_AGENT", "parts": [{"text": text}, *parts]}


def status(state: str, said: Json | None = None) -> Json:
    return {"state": f"TASK_STATE_{state}", **({"message": said} if said else {})}


def task(state: str, *texts: str, said: Json | None = None) -> Json:
    artifacts = [{"artifactId": f"a{n}", "parts": [{"text": text}]} for n, text in enumerate(texts)]
    whole: Json = {"id": "t1", "contextId": "c1", "status": status(state, said)}
    return {"task": {**whole, **({"artifacts": artifacts} if artifacts else {})}}


def status_update(state: str, said: Json | None = None) -> Json:
    return {"statusUpdate": {"taskId": "t1", "contextId": "c1", "status": status(state, said)}}


def piece(text: str, *, append: bool = True, last: bool = False, artifact: str = "a0") -> Json:
    update = {"taskId": "t1", "contextId": "c1", "append": append, "lastChunk": last}
    return {"artifactUpdate": {**update, "artifact": {"artifactId": artifact, "parts": [{"text": text}]}}}


async def silence() -> AsyncIterator[bytes]:
    """For the end of a stream that does not end."""
    await asyncio.Event().wait()
    yield b""


@contextmanager
def llamon(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """The command as a process of its own, which minds Ctrl-C as one in a terminal does, and is gone in the end."""
    source = str(Path(__file__).parents[3] / "src")
    heeding = signal.signal(signal.SIGINT, signal.default_int_handler)  # an ignored signal would stay so in the child
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "llamon_agent", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": source},
        )
    finally:
        signal.signal(signal.SIGINT, heeding)
    with process:
        try:
            yield process
        finally:
            process.kill()


class _Server(uvicorn.Server):
    """A server that does without signals, as it is no main thread's."""

    def install_signal_handlers(self) -> None:
        """Leave them to pytest."""


@pytest.fixture(scope="session")
def _running() -> Iterator[tuple[Starlette, str]]:
    app = Starlette()
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        app, log_config=None, lifespan="off", ws="none", loop="asyncio", timeout_graceful_shutdown=1
    )
    server = _Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    yield app, f"http://127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    thread.join(5)


@pytest.fixture
def agent(_running: tuple[Starlette, str], monkeypatch: pytest.MonkeyPatch) -> Agent:
    """A fresh agent behind the one server."""
    monkeypatch.delenv("LLAMON_TOKEN", raising=False)
    app, origin = _running
    fresh = Agent(origin)
    app.router.routes[:] = [
        Route("/{path:path}", fresh.get, methods=["GET"]),
        Route("/{path:path}", fresh.post, methods=["POST"]),
    ]
    return fresh
