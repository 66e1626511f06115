"""A request's JSON, read strictly and then against a schema: a proxy in front of us and we must read one body the same
way.

So what parsers are known to disagree on is refused: duplicate keys, bad UTF-8, lone surrogates, NaN and numbers out of
range, a BOM.

How duplicate keys are found without a slow parser: decoding keeps one of them, so that encoding the decoded value again
gives fewer strings than the body has. Strings are counted by their quotes; an escaped quote is one quote on both sides,
the ones that are spelled `\\u0022` counted in.

Many small values cost far more than their bytes, time and memory alike, and no other call gets the interpreter while a
body is parsed. So values are counted before that, by what stands between them.

What msgspec says about a bad value may quote the value, so its text never leaves this module: only the path does, which
is made of our own schema's names and of list positions, and the name of a required field that is missing.
"""

import re
from collections.abc import Sized
from typing import Any, TypeVar

import msgspec

from llamon_agent.domain.encoding import read_base64
from llamon_agent.domain.errors import BadJson, BadParams, BadRequest
from llamon_agent.domain.plain import MAX_DEPTH, is_deeper

T = TypeVar("T")

MAX_VALUES = 200_000
"""How many commas, arrays and objects a body may have outside its strings; few legitimate bodies have a hundredth."""

MAX_PARTS = 1000
"""How many parts a message may have."""

_BATCH = "Batches are not supported; send one request object per HTTP request."

_PATH = re.compile(r" - at `\$([^`]*)`$")
_MISSING = re.compile(r"^Object missing required field `(\w+)`")

_tree = msgspec.json.Decoder()
_encode = msgspec.json.Encoder().encode


def read_object(body: bytes) -> dict[str, Any]:
    """The body as a value, once it is sure that every reader reads the same in it. Raises: BadJson, BadRequest."""
    if len(body) > MAX_VALUES and _has_too_many_values(body):
        raise BadRequest(f"The body holds more than {MAX_VALUES} values.")
    try:
        value = _tree.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as exc:
        raise BadJson from exc
    if body.count(b"[") + body.count(b"{") > MAX_DEPTH and is_deeper(value, MAX_DEPTH):
        raise BadJson(f"The body nests deeper than {MAX_DEPTH} levels.")
    if type(value) is list:
        raise BadRequest(_BATCH)
    if type(value) is not dict:
        raise BadRequest("The body must be a JSON object.")
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


def _lost_keys(body: bytes, value: object) -> bool:
    """Whether decoding dropped an entry; the module's docstring says how."""
    quotes = body.count(b'"')
    if b"\\u0022" in body:
        quotes += body.replace(b"\\\\", b"").count(b"\\u0022")  # after an escaped backslash it is no quote
    return quotes != _encode(value).count(b'"')


def read_params(decoder: msgspec.json.Decoder[T], params: bytes) -> T:
    """Open params with a schema's decoder.

    Raises: BadParams that names the field; BadJson for text that no JSON reader takes: bad UTF-8, lone surrogates, a
            nesting too deep to follow.
    """
    if not params:
        raise BadParams("params are required and must be an object.")
    try:
        return decoder.decode(params)
    except msgspec.ValidationError as exc:  # a subclass of DecodeError, so it goes first
        complaint, field = complaint_of(exc)
        raise BadParams(complaint, field=field) from exc
    except (msgspec.DecodeError, RecursionError) as exc:  # deep nesting is no MsgspecError
        raise BadJson from exc


def complaint_of(error: msgspec.ValidationError) -> tuple[str, str | None]:
    """Our sentence about msgspec's error, and the field that it is about."""
    found = _PATH.search(str(error))
    path = found[1].lstrip(".") if found else ""
    if missing := _MISSING.match(str(error)):
        field = f"{path}.{missing[1]}".lstrip(".")
        return f"{field} is required.", field
    return (f"{path} is not valid.", path) if path else ("params must be an object.", None)


def check_part_count(parts: Sized) -> None:
    """Refuse a message of too many parts before any of them is looked at. Raises: BadParams."""
    if len(parts) > MAX_PARTS:
        raise BadParams(f"message.parts must have at most {MAX_PARTS} parts.")


def read_file(text: str, field: str) -> bytes:
    """A file's bytes, in base64. Raises: BadParams that names the field."""
    try:
        return read_base64(text)
    except ValueError as exc:  # binascii.Error is one; so is what letters beyond ASCII raise
        raise BadParams(f"{field} is not valid base64.") from exc
