"""JSON-RPC 2.0 to the letter: bytes of a request -> Call; results and errors -> bytes of a response.

The body is read as strictly as `json_body` says. An id is echoed byte for byte, whatever its number would become in a
float.

Batches are not supported: any array body, empty or not, gets one error (JSON-RPC 2.0 §6 makes them a server's choice
here, A2A has none).

Notifications (§4.1: no `id` member; a null id is an id): a valid one is carried out and not answered; a stream is then
just begun. A faulty one is answered with an error whose id is null: §5.1 asks for that where the id cannot be known,
and the official 0.3 TCK sends its faulty bodies without an id and waits for the error.
"""

from typing import Any

import msgspec

from llamon_agent.domain.errors import BadJson, BadRequest
from llamon_agent.wire.json_body import read_object

MAX_ID_BYTES = 1024
"""How long an id may be, quotes included: a stream repeats it in every event."""

NULL = b"null"

_ABSENT = object()


class Call(msgspec.Struct, frozen=True):
    """One request.

    Shape: id is the JSON of the id as it came, `null` for a notification; params is the JSON of the params, of whatever
           type, empty where there are none: the dialect that owns the method opens it.
    """

    id: bytes
    method: str
    params: bytes
    is_notification: bool


class _Raws(msgspec.Struct, gc=False):
    """The members that are kept as the bytes they came in; empty is absent."""

    id: msgspec.Raw = msgspec.Raw(b"")
    params: msgspec.Raw = msgspec.Raw(b"")


_encode = msgspec.json.Encoder().encode
_raws = msgspec.json.Decoder(_Raws)


def read_call(body: bytes) -> Call:
    """Read one request.

    Raises: BadJson: no JSON text, or one that parsers disagree on. BadRequest: JSON, but no request.
    Source: JSON-RPC 2.0 §4.
    """
    request = read_object(body)
    if request.get("jsonrpc") != "2.0":
        raise BadRequest('"jsonrpc" must be "2.0".')
    method = request.get("method")
    if type(method) is not str:
        raise BadRequest('"method" must be a string.')
    raws = _raws.decode(body)
    return Call(
        id=_checked_id(request, bytes(raws.id)),
        method=method,
        params=bytes(raws.params),
        is_notification="id" not in request,
    )


def read_id(body: bytes) -> bytes:
    """The id to answer a body with that is no request: its own where it has a usable one, else null.

    Source: JSON-RPC 2.0 §5.
    """
    try:
        request = read_object(body)
        return _checked_id(request, bytes(_raws.decode(body).id))
    except (BadJson, BadRequest):
        return NULL


def write_result(call_id: bytes, result: bytes) -> bytes:
    """A response with a result."""
    head, tail = result_around(call_id)
    return head + result + tail


def result_around(call_id: bytes) -> tuple[bytes, bytes]:
    """What stands before and after the result: a stream joins it with each of its events."""
    return b'{"jsonrpc":"2.0","id":' + call_id + b',"result":', b"}"


def write_error(call_id: bytes, code: int, message: str, data: bytes | None = None) -> bytes:
    """A response with an error; data is JSON. Source: JSON-RPC 2.0 §5.1."""
    extra = b"" if data is None else b',"data":' + data
    head = b'{"jsonrpc":"2.0","id":' + call_id
    return head + b',"error":{"code":%d,"message":%b%b}}' % (code, _encode(message), extra)


def _checked_id(request: dict[str, Any], raw: bytes) -> bytes:
    value = request.get("id", _ABSENT)
    if value is _ABSENT:
        return NULL
    if value is not None and type(value) not in (str, int, float):
        raise BadRequest('"id" must be a string, a number or null.')
    if len(raw) > MAX_ID_BYTES:
        raise BadRequest(f'"id" must not be longer than {MAX_ID_BYTES} bytes.')
    return raw
