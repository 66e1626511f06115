"""HTTP+JSON in front of the endpoint: resources and verbs below an agent's path, for A2A 1.0 and, below `v1`, for 0.3.

One route takes them all, and which operation a request means is a look into tables, see `paths`. An error is
HTTP's status and a body in the version's shape, see `errors`.
"""

from collections.abc import Sequence
from urllib.parse import quote, unquote

from starlette.datastructures import URLPath
from starlette.requests import ClientDisconnect
from starlette.routing import BaseRoute, Match, NoMatchFound
from starlette.types import Receive, Scope, Send

from llamon_agent.domain.errors import (
    MAX_ECHO_CHARS,
    BadRequest,
    CallerError,
    ContentTypeNotSupported,
    PermissionDenied,
    Unauthenticated,
    UnknownMethod,
)
from llamon_agent.inbound.a2a.bindings.asgi import (
    Admission,
    Header,
    Headers,
    extension_headers,
    is_json,
    read_headers,
    respond,
    respond_stream,
    root_of,
)
from llamon_agent.inbound.a2a.bindings.rest.errors import RestEnvelope, write_error
from llamon_agent.inbound.a2a.bindings.rest.params import RestRequest, dialect_at
from llamon_agent.inbound.a2a.bindings.rest.paths import MOST_SEGMENTS, Place, place_of
from llamon_agent.inbound.a2a.bindings.streaming import PING_S, Frames, OneEventStream, Stream
from llamon_agent.inbound.a2a.endpoint import (
    CallReply,
    FaultBoundary,
    Performer,
    RequestHead,
    Result,
    off_loop_if_large,
)
from llamon_agent.inbound.a2a.faults import ErrorTable, FaultReply, fault_reply
from llamon_agent.wire.v10.codec import V10

_JSON = b"application/json"
_A2A_JSON = b"application/a2a+json"


def rest_routes(
    endpoint: Performer, admission: Admission, *, path: str, table: ErrorTable = "1.0.1"
) -> Sequence[BaseRoute]:
    """The HTTP+JSON operations of one agent, below `path`; other paths below it are left to the routes after it."""
    return [_RestRoute(RestApp(endpoint, admission, table=table), path)]


class _RestRoute(BaseRoute):
    """Takes each path that looks like one of ours, right or not, so that the answer to a wrong one says what is wrong
    with it.
    """

    def __init__(self, app: "RestApp", path: str) -> None:
        self.app = app
        self._above = tuple(segment for segment in path.split("/") if segment)
        self._begins = "".join(f"/{segment}" for segment in self._above)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if scope["type"] == "http" and (place := self._place(scope)):
            return Match.FULL, {"path_params": {"place": place}}
        return Match.NONE, {}

    def _place(self, scope: Scope) -> Place | None:
        if not scope["path"].startswith(self._begins, len(root_of(scope))):
            return None
        depth = len(self._above)
        segments = _segments(scope, depth + MOST_SEGMENTS)
        return place_of(segments[depth:]) if segments[:depth] == self._above else None

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app(scope, receive, send)

    def url_path_for(self, name: str, /, **path_params: object) -> URLPath:
        """No path here has a name."""
        raise NoMatchFound(name, path_params)


def _segments(scope: Scope, most: int) -> tuple[str, ...]:
    """The path's segments, decoded one by one, so that an encoded slash is not one that separates.

    Shape: at most `most`, and where there are more, the rest as one.
    """
    raw: bytes = scope.get("raw_path") or quote(scope["path"]).encode()
    skipped = 1 + root_of(scope).count("/")
    return tuple([unquote(segment) for segment in raw.decode("ascii", "replace").split("/", skipped + most)[skipped:]])


class RestApp:
    """The HTTP+JSON of one agent, an ASGI application.

    Units: ping_s is how long a stream may be quiet.
    """

    def __init__(
        self, endpoint: Performer, admission: Admission, *, table: ErrorTable = "1.0.1", ping_s: float = PING_S
    ) -> None:
        self._endpoint = endpoint
        self._admission = admission
        self._table: ErrorTable = table
        self._ping_s = ping_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        place: Place = scope["path_params"]["place"]
        headers = read_headers(scope)
        answering = _Answering(send, headers, place, self._table)
        operation = place.operations.get(scope["method"])
        if operation is None:
            await answering.unknown(scope["path"], place)
        elif admitted := await self._admit(scope, headers, receive, answering):
            head, body = admitted
            request = RestRequest(
                place=place,
                operation=operation,
                version=head.version,
                query=scope.get("query_string", b""),
                body=body,
            )
            await self._answer(request, head, answering, receive)

    async def refuse(self, error: CallerError, scope: Scope, send: Send) -> None:
        """Answer with an error before there is an operation, with its HTTP status."""
        await _Answering(send, read_headers(scope), scope["path_params"]["place"], self._table).refuse(error)

    async def _admit(
        self, scope: Scope, headers: Headers, receive: Receive, answering: "_Answering"
    ) -> tuple[RequestHead, bytes | None] | None:
        """The caller and the body, None for a method without one; nothing where the request has been refused."""
        try:
            head = await self._admission.read_head(scope, headers, agent=self._endpoint.agent)
            if scope["method"] != "POST":
                return head, None
            if not is_json(headers.get(b"content-type", b"")):
                raise ContentTypeNotSupported  # noqa: TRY301 - refused like the others
            return head, await self._admission.read_body(headers, receive)
        except Unauthenticated as exc:
            await answering.refuse(exc, (b"www-authenticate", b"Bearer"))
        except PermissionDenied as exc:
            await answering.refuse(exc)
        except ContentTypeNotSupported as exc:
            await answering.refuse(exc, http=415)
        except BadRequest as exc:
            await answering.refuse(exc, http=413)
        except TimeoutError:
            await answering.refuse(self._admission.late, (b"connection", b"close"), http=408)
        except ClientDisconnect:
            pass
        return None

    async def _answer(self, request: RestRequest, head: RequestHead, answering: "_Answering", receive: Receive) -> None:
        match await self._perform(request, head):
            case Result() as result:
                await answering.succeed(result)
            case FaultReply() as fault:
                await answering.fail(fault)
            case stream:
                await answering.stream(Frames(stream, RestEnvelope(self._table), ping_s=self._ping_s), stream, receive)

    async def _perform(self, request: RestRequest, head: RequestHead) -> CallReply:
        size_bytes = len(request.body or b"")
        with FaultBoundary(self._endpoint.agent, request.fault_dialect) as boundary:
            parsed = await off_loop_if_large(size_bytes, request.parse)
            boundary.operation = parsed.operation
            return await self._endpoint.perform(parsed, head, size_bytes=size_bytes)
        return boundary.reply


class _Answering:
    """The one answer to a request, as its caller and its path want it."""

    def __init__(self, send: Send, headers: Headers, place: Place, table: ErrorTable) -> None:
        self._send = send
        self._headers = headers
        self._dialect = dialect_at(place)
        self._type, self._error_type = _content_types(headers, place, table)
        self._table: ErrorTable = table

    async def succeed(self, result: Result) -> None:
        await respond(self._send, 200, result.body, self._type, *extension_headers(self._headers, result.extensions))

    async def stream(self, frames: Frames, stream: Stream | OneEventStream, receive: Receive) -> None:
        await respond_stream(frames, receive, self._send, *extension_headers(self._headers, stream.extensions))

    async def fail(self, failure: FaultReply, *extra: Header, http: int | None = None) -> None:
        """An error; `http` where its status says more than the table does."""
        status, body = write_error(failure, self._table, http=http)
        await respond(self._send, status, body, self._error_type, *extra)

    async def refuse(self, error: CallerError, *extra: Header, http: int | None = None) -> None:
        """An error of the request before it is one."""
        await self.fail(fault_reply(error, self._dialect), *extra, http=http)

    async def unknown(self, path: str, place: Place) -> None:
        """There is no such operation: not at this path, or not by this method."""
        if not place.operations:
            where = f"There is no operation of A2A {place.version} at {path[:MAX_ECHO_CHARS]!r}."
            await self.refuse(UnknownMethod(where))
            return
        allowed = ", ".join(place.operations)
        error = UnknownMethod(f"This path takes {allowed}.")
        await self.refuse(error, (b"allow", allowed.encode()), http=405)


def _content_types(headers: Headers, place: Place, table: ErrorTable) -> tuple[bytes, bytes]:
    """The media types of a result and of an error.

    1.0.1 prefers A2A's own, so a result has it, unless the caller names only plain JSON. An error has it for those who
    name it: the official clients for .NET and, of a stream, for Go read an error only if it is plain JSON.

    Source: A2A 1.0.1 §11.1, §14.1.1; 1.0.0 §11.1 and 0.3 §3.2.3 (plain JSON).
    """
    accept = headers.get(b"accept", b"").lower()
    if place.version != V10.version:
        return _JSON, _JSON
    if _A2A_JSON in accept:
        return _A2A_JSON, _A2A_JSON
    return _JSON if _JSON in accept or table == "1.0.0" else _A2A_JSON, _JSON
