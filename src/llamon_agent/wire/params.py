"""Opening a method's params against a schema, and telling the caller which field is wrong.

What msgspec says about a bad value may quote the value, so its text never leaves this module: only the path does, which
is made of our own schema's names and of list positions, and the name of a required field that is missing.
"""

import binascii
import re
from collections.abc import Sized
from typing import TypeVar

import msgspec

from llamon_agent.domain.errors import BadJson, BadParams

T = TypeVar("T")

MAX_PARTS = 1000
"""How many parts a message may have."""

_PATH = re.compile(r" - at `\$([^`]*)`$")
_MISSING = re.compile(r"^Object missing required field `(\w+)`")
_STANDARD = str.maketrans("-_", "+/")


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
        complaint, field = _complaint(str(exc))
        raise BadParams(complaint, field=field) from exc
    except (msgspec.DecodeError, RecursionError) as exc:  # deep nesting is no MsgspecError
        raise BadJson from exc


def _complaint(error: str) -> tuple[str, str | None]:
    """Our sentence about msgspec's error, and the field that it is about."""
    found = _PATH.search(error)
    path = found[1].lstrip(".") if found else ""
    if missing := _MISSING.match(error):
        field = f"{path}.{missing[1]}".lstrip(".")
        return f"{field} is required.", field
    return (f"{path} is not valid.", path) if path else ("params must be an object.", None)


def check_part_count(parts: Sized) -> None:
    """Refuse a message of too many parts before any of them is looked at. Raises: BadParams."""
    if len(parts) > MAX_PARTS:
        raise BadParams(f"message.parts must have at most {MAX_PARTS} parts.")


def read_base64(text: str, field: str) -> bytes:
    """The bytes of base64 text: standard or URL-safe letters, padded or not.

    Raises: BadParams that names the field.
    Source: ProtoJSON, `bytes`: "Either standard or URL-safe base64 encoding with/without paddings are accepted."
    """
    if "-" in text or "_" in text:
        text = text.translate(_STANDARD)
    if not text.endswith("="):
        text += "=" * (-len(text) % 4)
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except ValueError as exc:  # binascii.Error is one; so is what letters beyond ASCII raise
        raise BadParams(f"{field} is not valid base64.") from exc


def write_base64(data: bytes) -> str:
    """Bytes as standard base64, padded."""
    return binascii.b2a_base64(data, newline=False).decode("ascii")
