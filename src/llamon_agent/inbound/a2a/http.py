"""HTTP in front of the endpoint: JSON-RPC over POST, streams as server-sent events.

Every JSON-RPC response, error or not, is HTTP 200. The other codes say that there was no call: 401, 403, 405, 408, 413.
"""

from collections.abc import Sequence

from starlette.requests import ClientDisconnect
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from llamon_agent.domain.errors import BadRequest, CallerError, ContentTypeNotSupported, Unauthenticated
from llamon_agent.inbound.a2a.admission import (
    Admission,
    Headers,
    extension_headers,
    is_json,
    read_headers,
    respond,
    respond_stream,
    version_of,
)
from llamon_agent.inbound.a2a.endpoint import Caller, Endpoint
from llamon_agent.inbound.a2a.faults import FAULTS
from llamon_agent.inbound.a2a.rpc import Answer, Nothing, answer_call, refuse_call
from llamon_agent.inbound.a2a.streaming import PING_S, Frames

_JSON = b"application/json"
_USE_POST = b"This is an A2A endpoint. POST a JSON-RPC 2.0 request here; the agent card says what it can do.\n"


def rpc_routes(endpoint: Endpoint, admission: Admission, *, path: str) -> Sequence[BaseRoute]:
    """The JSON-RPC endpoint of one agent, at `path` with and without a slash at the end."""
    rpc = RpcApp(endpoint, admission)
    path = path.rstrip("/")
    return [Route(rpc_path, rpc) for rpc_path in (path, path + "/") if rpc_path]


class RpcApp:
    """The JSON-RPC route of one agent, an ASGI application. Units: ping_s is how long a stream may be quiet."""

    def __init__(self, endpoint: Endpoint, admission: Admission, *, ping_s: float = PING_S) -> None:
        self._endpoint = endpoint
        self._admission = admission
        self._ping_s = ping_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            await respond(send, 405, _USE_POST, b"text/plain; charset=utf-8", (b"allow", b"POST"))
            return
        headers = read_headers(scope)
        try:
            caller = self._admission.caller(scope, headers)
        except Unauthenticated as exc:
            body = b'{"error":"%b"}' % exc.public.encode()
            await respond(send, 401, body, _JSON, (b"www-authenticate", b"Bearer"))
            return
        if not is_json(headers.get(b"content-type", b"")):
            await respond(send, 200, refuse_call(ContentTypeNotSupported(), caller).body, _JSON)
            return
        await self._answer(headers, caller, receive, send)

    async def refuse(self, error: CallerError, scope: Scope, send: Send) -> None:
        """Tell that there is no call, with the error's HTTP status."""
        caller = Caller(version=version_of(scope, read_headers(scope)))
        await respond(send, FAULTS[type(error)].http, refuse_call(error, caller).body, _JSON)

    async def _answer(self, headers: Headers, caller: Caller, receive: Receive, send: Send) -> None:
        try:
            body = await self._admission.read_body(headers, receive)
        except BadRequest as exc:
            await respond(send, 413, refuse_call(exc, caller).body, _JSON)
            return
        except TimeoutError:
            late = refuse_call(self._admission.late, caller)
            await respond(send, 408, late.body, _JSON, (b"connection", b"close"))
            return
        except ClientDisconnect:
            return
        match await answer_call(self._endpoint, body, caller):
            case Answer(body=answer, extensions=activated):
                await respond(send, 200, answer, _JSON, *extension_headers(headers, activated))
            case Nothing():
                await send({"type": "http.response.start", "status": 204, "headers": []})
                await send({"type": "http.response.body"})
            case responses:
                frames = Frames(responses.stream, responses.envelope, ping_s=self._ping_s)
                await respond_stream(frames, receive, send, *extension_headers(headers, responses.stream.extensions))
