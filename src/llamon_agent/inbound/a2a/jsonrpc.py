"""JSON-RPC 2.0 to the letter: bytes of a request -> Call; results and errors -> bytes of a response.

A proxy in front of us and we must read one body the same way, so what parsers are known to disagree on is refused:
duplicate keys, bad UTF-8, lone surrogates, NaN and numbers out of range, a BOM. An id is echoed byte for byte,
whatever its number would become in a float.

Batches are not supported: any array body, empty or not, gets one error (JSON-RPC 2.0 §6 makes them a server's choice
here, A2A has none).

Notifications (§4.1: no `id` member; a null id is an id): a valid one is carried out and not answered; a stream is then
just begun. A faulty one is answered with an error whose id is null: §5.1 asks for that where the id cannot be known,
and the official 0.3 TCK sends its faulty bodies without an id and waits for the error.

How duplicate keys are found without a slow parser: decoding keeps one of them, so that encoding the decoded value again
gives fewer strings than the body has. Strings are counted by their quotes; an escaped quote is one quote on both sides,
the ones that are spelled `\\u0022` counted in.

Many small values cost far more than their bytes, time and memory alike, and nobody else gets the interpreter while a
body is parsed. So values are counted before that, by what stands between them.
"""

from typing import Any

import msgspec

from llamon_agent.domain.errors import BadJson, BadRequest

MAX_DEPTH = 100
"""How deep arrays and objects may nest. Far below the parser's own limit, so that what is read can also be stored."""

MAX_VALUES = 200_000
"""How many commas, arrays and objects a body may have outside its strings; few legitimate bodies have a hundredth."""

MAX_ID_BYTES = 1024
"""How long an id may be, quotes included: a stream repeats it in every event."""

NULL = b"null"

_BATCH = "Batches are not supported; send one JSON-RPC request object per HTTP request."
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


_tree = msgspec.json.Decoder()
_encode = msgspec.json.Encoder().encode
_raws = msgspec.json.Decoder(_Raws)


def read_call(body: bytes) -> Call:
    """Read one request.

    Raises: BadJson: no JSON text, or one that parsers disagree on. BadRequest: JSON, but no request.
    Source: JSON-RPC 2.0 §4.
    """
    request = _read_object(body)
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
        request = _read_object(body)
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


def _read_object(body: bytes) -> dict[str, Any]:
    """The body as a value, once it is sure that everybody reads the same in it."""
    if len(body) > MAX_VALUES and _has_too_many_values(body):
        raise BadRequest(f"The body holds more than {MAX_VALUES} values.")
    try:
        value = _tree.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as exc:
        raise BadJson from exc
    if body.count(b"[") + body.count(b"{") > MAX_DEPTH and _is_too_deep(value):
        raise BadJson(f"The body nests deeper than {MAX_DEPTH} levels.")
    if type(value) is list:
        raise BadRequest(_BATCH)
    if type(value) is not dict:
        raise BadRequest
    if _lost_keys(body, value):
        raise BadRequest("An object in the body has the same key twice.")
    return value


def _has_too_many_values(body: bytes) -> bool:
    """Whether the body has more than it may of what stands between values; that in strings is text, if it matters."""
    if _between_values(body, 0, len(body)) <= MAX_VALUES:
        return False
    bare = body.replace(b"\\\\", b"").replace(b'\\"', b"")  # now every quote is the end of a string
    count = end = 0
    while end >= 0 and count <= MAX_VALUES:
        start = bare.find(b'"', end)
        count += _between_values(bare, end, len(bare) if start < 0 else start)
        end = -1 if start < 0 else bare.find(b'"', start + 1) + 1 or -1
    return count > MAX_VALUES


def _between_values(body: bytes, start: int, end: int) -> int:
    return body.count(b",", start, end) + body.count(b"[", start, end) + body.count(b"{", start, end)


def _is_too_deep(value: object) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if type(outer) is dict else outer if type(outer) is list else ())
            if type(inner) is dict or type(inner) is list
        ]
        if not level:
            return False
    return True


def _lost_keys(body: bytes, value: object) -> bool:
    """Whether decoding dropped an entry; the module's docstring says how this tells."""
    quotes = body.count(b'"')
    if b"\\u0022" in body:
        quotes += body.replace(b"\\\\", b"").count(b"\\u0022")  # behind an escaped backslash it is no quote
    return quotes != _encode(value).count(b'"')


def _checked_id(request: dict[str, Any], raw: bytes) -> bytes:
    value = request.get("id", _ABSENT)
    if value is _ABSENT:
        return NULL
    if value is not None and type(value) not in (str, int, float):
        raise BadRequest('"id" must be a string, a number or null.')
    if len(raw) > MAX_ID_BYTES:
        raise BadRequest(f'"id" must not be longer than {MAX_ID_BYTES} bytes.')
    return raw
