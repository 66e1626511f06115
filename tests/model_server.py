"""A real server that speaks OpenAI's Chat Completions over HTTP and follows a script, one entry a request.

A script may be one entry that answers anything (`tests/graphs/stub`), which is then asked again and again.

Source: OpenAI API reference, Chat Completions (the completion object, the chunk object, errors).
"""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any
from urllib.parse import parse_qsl

import uvicorn
from starlette.types import Receive, Scope, Send

Reply = Callable[["Connection"], Awaitable[None]]
"""How one request is answered."""


class Connection:
    """One request, and the ways to answer it."""

    def __init__(
        self, server: "ModelServer", scope: Scope, request: Mapping[str, Any], receive: Receive, send: Send
    ) -> None:
        self.server = server
        self.method, self.path = scope["method"], scope["path"]
        self.query = dict(parse_qsl(scope["query_string"].decode()))
        self.request = request
        self._receive = receive
        self._send = send

    async def head(self, status: int, content_type: str, headers: Mapping[str, str] | None = None) -> None:
        lines = {"content-type": content_type, **(headers or {})}
        encoded = [(name.encode(), value.encode()) for name, value in lines.items()]
        await self._send({"type": "http.response.start", "status": status, "headers": encoded})

    async def write(self, text: str, *, more: bool = True) -> None:
        await self._send({"type": "http.response.body", "body": text.encode(), "more_body": more})

    async def until_hung_up(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.server.hung_up.set()


class ModelServer:
    """What was asked of the server, and what it will say.

    Shape: requests are the decoded bodies, {} if not JSON; keys are what came as bearer tokens; waiting is set once a
           reply holds back its rest, hung_up once the client has closed such a connection.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.replies: list[Reply] = []
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.waiting = asyncio.Event()
        self.hung_up = asyncio.Event()

    def says(self, *replies: Reply) -> None:
        self.replies += replies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        self.requests.append(json.loads(body) if body.startswith(b"{") else {})
        self.keys.append(dict(scope["headers"]).get(b"authorization", b"").decode().removeprefix("Bearer "))
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        await reply(Connection(self, scope, self.requests[-1], receive, send))


class _Server(uvicorn.Server):
    """uvicorn, whose signals belong to the test runner."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def model_server() -> AsyncIterator[ModelServer]:
    """A server on a free port, until the context ends. Its last reply is said again and again."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        model = ModelServer(f"http://127.0.0.1:{listener.getsockname()[1]}/v1")
        async with listening(model, listener):
            yield model


@asynccontextmanager
async def listening(model: ModelServer, listener: socket.socket, **options: Any) -> AsyncIterator[None]:
    """The server at this socket too, until the context ends. Shape: options are uvicorn's."""
    config = uvicorn.Config(
        model, lifespan="off", log_config=None, access_log=False, timeout_graceful_shutdown=1, **options
    )
    server = _Server(config)
    async with asyncio.TaskGroup() as group:
        group.create_task(server.serve(sockets=[listener]))
        try:
            yield
        finally:
            server.should_exit = True


def chunk(delta: Mapping[str, Any], finish_reason: str | None = None) -> str:
    """One event of a stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    whole = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return f"data: {json.dumps(whole)}\n\n"


def completion(message: Mapping[str, Any], finish_reason: str | None) -> str:
    """A whole answer."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish_reason}
    return json.dumps({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]})


def calls(name: str, arguments: str) -> dict[str, Any]:
    """A tool call, as a delta and as a message alike."""
    function = {"name": name, "arguments": arguments}
    return {"content": None, "tool_calls": [{"index": 0, "id": "call-1", "type": "function", "function": function}]}


def answer(*pieces: str, finish: str | None = "stop") -> Reply:
    """A text, streamed if the request asks for that."""
    return _message({"content": "".join(pieces)}, [{"content": piece} for piece in pieces], finish)


def tool_call(name: str, arguments: str, finish: str | None = "tool_calls") -> Reply:
    """A call of a tool, streamed if the request asks for that."""
    return _message(calls(name, arguments), [calls(name, arguments)], finish)


def _message(message: Mapping[str, Any], deltas: list[dict[str, Any]], finish: str | None) -> Reply:
    async def reply(connection: Connection) -> None:
        if not connection.request.get("stream"):
            await connection.head(200, "application/json")
            await connection.write(completion(message, finish), more=False)
            return
        last = "" if finish is None else chunk({}, finish)
        await stream_of(*map(chunk, deltas), last, "data: [DONE]\n\n")(connection)

    return reply


def stream_of(*events: str) -> Reply:
    """These bytes, whatever they are, and a clean end."""

    async def reply(connection: Connection) -> None:
        await connection.head(200, "text/event-stream")
        for event in events:
            await connection.write(event)
        await connection.write("", more=False)

    return reply


def dropping(*events: str) -> Reply:
    """These bytes, then the connection is gone."""

    async def reply(connection: Connection) -> None:
        await connection.head(200, "text/event-stream")
        for event in events:
            await connection.write(event)
        # uvicorn closes the connection of an application that ends in the middle of its response

    return reply


def hanging(*events: str) -> Reply:
    """These bytes, and then nothing until the client hangs up."""

    async def reply(connection: Connection) -> None:
        await connection.head(200, "text/event-stream")
        for event in events:
            await connection.write(event)
        connection.server.waiting.set()
        await connection.until_hung_up()

    return reply


def endless(*events: str) -> Reply:
    """These bytes, again and again until the client hangs up."""

    async def reply(connection: Connection) -> None:
        await connection.head(200, "text/event-stream")
        hung_up = asyncio.ensure_future(connection.until_hung_up())
        while not hung_up.done():
            for event in events:
                await connection.write(event)
            await asyncio.sleep(0)

    return reply


def error(status: int, text: str = "no", *, code: str | None = None, **headers: str) -> Reply:
    """An error as OpenAI says it. Shape: header names are given with _ for -."""

    async def reply(connection: Connection) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        await connection.head(status, "application/json", named)
        body = {"error": {"message": text, "type": "error", "code": code}}
        await connection.write(json.dumps(body), more=False)

    return reply


def page(text: str) -> Reply:
    """Something that is no answer of a model, said with status 200."""

    async def reply(connection: Connection) -> None:
        await connection.head(200, "text/html")
        await connection.write(text, more=False)

    return reply
