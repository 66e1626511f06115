"""Ids that are unique without asking anyone."""

from uuid import uuid4

_FIXED_MASK = 0xF << 76 | 0x3 << 62
_FIXED_BITS = 0x7 << 76 | 0x2 << 62
"""The version and the variant in an id of RFC 9562, version 7."""


def random_id() -> str:
    """A new id, in hexadecimal digits."""
    return uuid4().hex


def ordered_id(now_ms: int, random: bytes) -> str:
    """A new id that sorts by time, which keeps the indexes of a store compact.

    Units:  now_ms is milliseconds since 1970 UTC; random are ten random bytes.
    Source: RFC 9562 §5.7 (version 7).
    """
    value = now_ms << 80 | int.from_bytes(random) & ~_FIXED_MASK | _FIXED_BITS
    digits = f"{value:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
