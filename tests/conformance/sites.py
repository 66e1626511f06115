"""An edge in this process, at a real socket, and hosts that speak one binding of A2A 1.0 to it."""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import grpc
import httpx2
import msgspec
from a2a.types import a2a_pb2
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message_factory import GetMessageClass
from google.rpc.error_details_pb2 import ErrorInfo  # type: ignore[import-untyped]
from grpc_status import rpc_status

from llamon_agent.app import open_edge
from llamon_agent.config.edge import EdgeConfig
from llamon_agent.inbound.a2a.bindings.grpc.server import GrpcServer
from llamon_agent.serving.edge import Edge
from llamon_agent.serving.process import Server
from llamon_agent.wire.sse import Reader

AGENT = f"{Path(__file__).with_name('agent.py')}:scripted"


class Site(msgspec.Struct, frozen=True):
    """Where an edge answers, a client for it, and a channel for gRPC."""

    url: str
    http: httpx2.AsyncClient
    grpc_address: str
    grpc: grpc.aio.Channel


@asynccontextmanager
async def site(a2a: Mapping[str, Any] | None = None, **kit: Any) -> AsyncIterator[Site]:
    """The conformance agent, under the name `kit`, with what differs in its configuration."""
    sections = {
        "a2a": {"adapter": "custom", "target": AGENT, "push": {"allow": ["127.0.0.1"]}, **(a2a or {})},
        "agents": {"kit": {"input_modes": ["*/*"], "output_modes": ["*/*"], "direct_messages": True, **kit}},
        "data": {"ephemeral": True},
    }
    async with site_of(EdgeConfig.model_validate(sections)) as at:
        yield at


@asynccontextmanager
async def site_of(config: EdgeConfig) -> AsyncIterator[Site]:
    """An edge by its whole configuration."""
    rpc = GrpcServer(listen="127.0.0.1:0", max_message_bytes=1 << 20)
    address = f"127.0.0.1:{rpc.port}"
    async with (
        open_edge(config, rpc) as edge,
        _served(edge) as url,
        httpx2.AsyncClient(base_url=url) as http,
        grpc.aio.insecure_channel(address) as channel,
    ):
        yield Site(url, http, address, channel)


@asynccontextmanager
async def _served(edge: Edge) -> AsyncIterator[str]:
    port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    server = Server(edge, edge.runs, port.set_result)
    # With its protocol named, as asyncio switches Nagle's algorithm off for such sockets only: 40 ms a call.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield f"http://127.0.0.1:{await port}"
        finally:
            server.stop()
            await serving


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What came back: the operation's value or an error, by its reason and with its message; and how it was put.

    Shape: status is HTTP's, or the name of gRPC's; headers and body are HTTP's.
    """

    status: int | str
    headers: Mapping[str, str] = {}
    body: Any = None
    value: Any = None
    reason: str | None = None
    message: str = ""
    code: int = 0


class Host:
    """A host that speaks A2A 1.0 over one binding: an operation is asked for by its name and its message's fields."""

    name: str

    def __init__(self, at: Site, *, token: str | None = None, headers: Mapping[str, str] | None = None) -> None:
        self._at = at
        authorization = {"authorization": f"Bearer {token}"} if token else {}
        given = {name.lower(): value for name, value in (headers or {}).items()}
        self._headers = {"a2a-version": "1.0", **authorization, **given}

    async def call(self, operation: str, /, **params: Any) -> Answer:
        """Ask, and read the answer."""
        raise NotImplementedError

    def follow(self, operation: str, /, **params: Any) -> AsyncGenerator[Any]:
        """A stream, event by event."""
        raise NotImplementedError

    async def value(self, operation: str, /, **params: Any) -> Any:
        """What an operation gives; it must succeed."""
        answer = await self.call(operation, **params)
        assert answer.reason is None, answer
        return answer.value

    async def refused(self, operation: str, /, **params: Any) -> str | None:
        """The reason of the error that an operation gives."""
        return (await self.call(operation, **params)).reason

    async def begin(self, scenario: str, /, **more: Any) -> Any:
        """The task that a scenario of the agent's makes, as soon as it waits or is done."""
        return (await self.value("SendMessage", **message(scenario, **more)))["task"]

    async def events(self, operation: str, /, **params: Any) -> list[Any]:
        """A stream to its end."""
        return [event async for event in self.follow(operation, **params)]


class _OverHttp(Host):
    """What both bindings over HTTP share."""

    def request(self, operation: str, params: Mapping[str, Any]) -> httpx2.Request:
        """The request of an operation."""
        raise NotImplementedError

    def read(self, response: httpx2.Response) -> Answer:
        """What an answer means."""
        raise NotImplementedError

    def read_event(self, data: bytes) -> Any:
        """The StreamResponse in an event."""
        raise NotImplementedError

    async def call(self, operation: str, /, **params: Any) -> Answer:
        return self.read(await self._at.http.send(self.request(operation, params)))

    async def follow(self, operation: str, /, **params: Any) -> AsyncGenerator[Any]:
        response = await self._at.http.send(self.request(operation, params), stream=True)
        try:
            assert response.headers["content-type"].startswith("text/event-stream"), await response.aread()
            reader = Reader()
            async for chunk in response.aiter_bytes():
                for event in reader.feed(chunk):
                    yield self.read_event(event.data)
        finally:
            await response.aclose()


class JsonRpc(_OverHttp):
    """JSON-RPC: A2A 1.0 §9."""

    name = "JSON-RPC"

    def request(self, operation: str, params: Mapping[str, Any]) -> httpx2.Request:
        body = {"jsonrpc": "2.0", "id": 1, "method": operation, "params": params}
        return self._at.http.build_request("POST", "/a2a", json=body, headers=self._headers)

    def read(self, response: httpx2.Response) -> Answer:
        return _read(response, lambda body: body["result"], "data")

    def read_event(self, data: bytes) -> Any:
        return json.loads(data)["result"]


class Rest(_OverHttp):
    """HTTP+JSON: A2A 1.0 §11."""

    name = "HTTP+JSON"

    def request(self, operation: str, params: Mapping[str, Any]) -> httpx2.Request:
        method, path, named = _PATHS[operation]
        rest = {key: value for key, value in params.items() if key not in named}
        url = "/a2a" + path.format_map({key: quote(str(params[key]), safe="") for key in named})
        if method == "POST":
            return self._at.http.build_request("POST", url, json=rest, headers=self._headers)
        query = {key: json.dumps(value) if isinstance(value, bool) else str(value) for key, value in rest.items()}
        return self._at.http.build_request(method, url, params=query, headers=self._headers)

    def read(self, response: httpx2.Response) -> Answer:
        return _read(response, lambda body: body, "details")

    def read_event(self, data: bytes) -> Any:
        return json.loads(data)


_CONFIGS = "/tasks/{taskId}/pushNotificationConfigs"
_PATHS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "SendMessage": ("POST", "/message:send", ()),
    "SendStreamingMessage": ("POST", "/message:stream", ()),
    "GetTask": ("GET", "/tasks/{id}", ("id",)),
    "ListTasks": ("GET", "/tasks", ()),
    "CancelTask": ("POST", "/tasks/{id}:cancel", ("id",)),
    "SubscribeToTask": ("GET", "/tasks/{id}:subscribe", ("id",)),
    "CreateTaskPushNotificationConfig": ("POST", _CONFIGS, ("taskId",)),
    "GetTaskPushNotificationConfig": ("GET", _CONFIGS + "/{id}", ("taskId", "id")),
    "ListTaskPushNotificationConfigs": ("GET", _CONFIGS, ("taskId",)),
    "DeleteTaskPushNotificationConfig": ("DELETE", _CONFIGS + "/{id}", ("taskId", "id")),
    "GetExtendedAgentCard": ("GET", "/extendedAgentCard", ()),
}
"""Operation -> method, path below the agent's, and the fields that stand in it. Source: A2A 1.0 §5.3."""


class Grpc(Host):
    """gRPC: A2A 1.0 §10."""

    name = "gRPC"

    async def call(self, operation: str, /, **params: Any) -> Answer:
        request, answer = _MESSAGES[operation]
        ask: Any = self._at.grpc.unary_unary(_SERVICE + operation, request.SerializeToString, answer.FromString)
        try:
            made = await ask(ParseDict(params, request()), metadata=tuple(self._headers.items()))
        except grpc.aio.AioRpcError as exc:
            return _refused(exc)
        empty = {"tasks": [], "nextPageToken": "", "totalSize": 0} if operation == "ListTasks" else {}
        return Answer(status="OK", value=empty | MessageToDict(made))

    async def follow(self, operation: str, /, **params: Any) -> AsyncGenerator[Any]:
        request, answer = _MESSAGES[operation]
        ask: Any = self._at.grpc.unary_stream(_SERVICE + operation, request.SerializeToString, answer.FromString)
        call = ask(ParseDict(params, request()), metadata=tuple(self._headers.items()))
        try:
            async for event in call:
                yield MessageToDict(event)
        finally:
            call.cancel()

    async def refused(self, operation: str, /, **params: Any) -> str | None:
        if operation not in ("SendStreamingMessage", "SubscribeToTask"):
            return await super().refused(operation, **params)
        try:
            await anext(self.follow(operation, **params))
        except grpc.aio.AioRpcError as exc:
            return _refused(exc).reason
        return None


def _refused(error: grpc.aio.AioRpcError) -> Answer:
    """What a gRPC error carries. Source: A2A 1.0 §10.6."""
    told: Any = rpc_status.from_call(error)  # type: ignore[arg-type]  # it has what is read of a call
    info = ErrorInfo()
    for detail in told.details if told else ():
        detail.Unpack(info)
    return Answer(status=error.code().name, reason=info.reason, message=error.details() or "")


_SERVICE = "/lf.a2a.v1.A2AService/"
_MESSAGES: Mapping[str, tuple[Any, Any]] = {
    method.name: (GetMessageClass(method.input_type), GetMessageClass(method.output_type))
    for method in a2a_pb2.DESCRIPTOR.services_by_name["A2AService"].methods
}
"""Operation -> the classes of its request and its answer."""

HTTP_BINDINGS: tuple[type[_OverHttp], ...] = (JsonRpc, Rest)
BINDINGS: tuple[type[Host], ...] = (*HTTP_BINDINGS, Grpc)


def _read(response: httpx2.Response, value_of: Callable[[Any], Any], details_key: str) -> Answer:
    body = response.json()
    common = {"status": response.status_code, "headers": response.headers, "body": body}
    if not isinstance(body, dict) or "error" not in body:
        return Answer(value=value_of(body), **common)
    error = body["error"]
    reason = next((detail["reason"] for detail in error.get(details_key, []) if "reason" in detail), "")
    return Answer(reason=reason, message=error["message"], code=error["code"], **common)


def message(scenario: str, /, text: str = "hi", configuration: object = None, **more: object) -> dict[str, Any]:
    """The params of a send, in 1.0's words; `scenario` is what the conformance agent will do."""
    said = {"messageId": f"{scenario}-1", "role": "ROLE_USER", "parts": [{"text": text}], **more}
    return {"message": said} | ({"configuration": configuration} if configuration else {})


def state_of(task: Any) -> str:
    """The state of a task, without its prefix."""
    state: str = task["status"]["state"]
    return state.removeprefix("TASK_STATE_")
