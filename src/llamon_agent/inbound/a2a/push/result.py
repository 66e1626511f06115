"""The result of one POST to a webhook, and what an HTTP answer means for it."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import msgspec

MAX_RETRY_AFTER_S = 60.0
"""How long a receiver may put us off at most."""

_TRY_LATER = frozenset({408, 425, 429})
"""Refusals that say of themselves that they pass. Source: RFC 9110 §15.5.9; RFC 8470 §5.2; RFC 6585 §4."""


class Accepted(msgspec.Struct, frozen=True):
    """The webhook has it."""


class TryLater(msgspec.Struct, frozen=True):
    """It was not taken, and may be when it is tried again. Units: after_s is how long the receiver asks to wait."""

    why: str
    after_s: float = 0.0


class Declined(msgspec.Struct, frozen=True):
    """It will not be taken, however often it is tried."""

    why: str


PostResult = Accepted | TryLater | Declined


def post_result(status: int, retry_after: str | None, now: datetime) -> PostResult:
    """What an answer means. A redirect is a refusal: it could lead anywhere, and with the credentials.

    Source: A2A 1.0 §4.3.3 (2xx acknowledges); RFC 9110 §10.2.3 (Retry-After).
    """
    if 200 <= status < 300:
        return Accepted()
    if status >= 500 or status in _TRY_LATER:
        return TryLater(f"HTTP {status}", min(_seconds(retry_after, now), MAX_RETRY_AFTER_S))
    return Declined(f"HTTP {status}")


def _seconds(retry_after: str | None, now: datetime) -> float:
    """How long a Retry-After header asks to wait: seconds, or a date; 0 where it says neither."""
    text = (retry_after or "").strip()
    if text.isascii() and text.isdecimal():
        return float(text[:9])
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, OverflowError):  # no date, or one of numbers that no date has
        return 0.0
    return max(0.0, ((at if at.tzinfo else at.replace(tzinfo=UTC)) - now).total_seconds())
