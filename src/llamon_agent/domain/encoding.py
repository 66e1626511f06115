"""Bytes and points in time as text: base64 of any spelling, and RFC 3339 for milliseconds since 1970 UTC."""

import binascii
import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from llamon_agent.domain.errors import BadParams

_STANDARD = str.maketrans("-_", "+/")


def read_base64(text: str) -> bytes:
    """The bytes of base64 text: standard or URL-safe letters, padded or not.

    Raises: ValueError.
    Source: ProtoJSON, `bytes`: "Either standard or URL-safe base64 encoding with/without paddings are accepted."
    """
    if "-" in text or "_" in text:
        text = text.translate(_STANDARD)
    if not text.endswith("="):
        text += "=" * (-len(text) % 4)
    return binascii.a2b_base64(text, strict_mode=True)


def write_base64(data: bytes) -> str:
    """Bytes as standard base64, padded."""
    return binascii.b2a_base64(data, newline=False).decode("ascii")


# RFC 3339 §5.6: a full date and a full time with an offset, which is less than what `fromisoformat` takes.
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def write_timestamp(at_ms: int) -> str:
    """Milliseconds as `2026-11-30T14:12:58.042Z`. Source: A2A 1.0 §5.6.1 (UTC, `Z`, milliseconds)."""
    seconds, ms = divmod(at_ms, 1000)
    return f"{_whole_seconds(seconds)}.{ms:03d}Z"


@lru_cache(maxsize=64)
def _whole_seconds(seconds: int) -> str:
    """The slow part of a timestamp, which all events of the same second share."""
    return (_EPOCH + timedelta(seconds=seconds)).replace(tzinfo=None).isoformat()


def read_timestamp(text: str, field: str) -> int:
    """Any RFC 3339 time as milliseconds, rounded up so that an inclusive "since" never lets an earlier task in.

    Raises: BadParams that names the field.
    """
    if not _RFC_3339.fullmatch(text):
        raise BadParams(f"{field} must be an RFC 3339 time, like 2026-11-30T12:00:00Z.")
    try:
        since = datetime.fromisoformat(text.upper()) - _EPOCH
    except (ValueError, OverflowError) as exc:
        raise BadParams(f"{field} is not a time that exists.") from exc
    microseconds = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    return -(-microseconds // 1000)
