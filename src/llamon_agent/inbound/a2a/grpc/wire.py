"""How many values a protobuf message holds, counted on its bytes before anything is made of them.

An empty part takes two bytes on the wire and some hundred in memory, so that a message within the limit of bytes could
still take half a gigabyte. Counting follows the messages within messages, one step a value, and stops at the limit.

Source: protobuf.dev, "Encoding".
"""

from typing import Any

from google.protobuf.message import Message

_LEAST_BYTES = 2
"""What a value takes at least: a tag, and a length or a number."""

_VARINT, _EIGHT_BYTES, _SIZED, _FOUR_BYTES = 0, 1, 2, 5
"""The wire types; the other two that there are begin and end a group, which has no size of its own."""

_LONGEST_VARINT_BITS = 70


def has_more_values_than(most: int, kind: type[Message], body: bytes) -> bool:
    """Whether there are more; of bytes that are no message, as far as they can be followed."""
    if len(body) <= most * _LEAST_BYTES:
        return False
    try:
        return _counts_beyond(most, kind, body)
    except IndexError:  # it breaks off; who reads it will say so
        return False


def _counts_beyond(most: int, kind: type[Message], body: bytes) -> bool:
    count = 0
    spans: list[tuple[Any, int, int]] = [(kind.DESCRIPTOR, 0, len(body))]
    while spans:
        descriptor, at, end = spans.pop()
        while at < end:
            count += 1
            if count > most:
                return True
            tag, at = _varint(body, at)
            wire_type = tag & 7
            if wire_type == _SIZED:
                size_bytes, at = _varint(body, at)
                field = descriptor.fields_by_number.get(tag >> 3)
                if field is not None and field.message_type is not None:
                    spans.append((field.message_type, at, min(at + size_bytes, end)))
                at += size_bytes
            elif wire_type == _VARINT:
                _, at = _varint(body, at)
            elif wire_type == _EIGHT_BYTES:
                at += 8
            elif wire_type == _FOUR_BYTES:
                at += 4
    return False


def _varint(body: bytes, at: int) -> tuple[int, int]:
    """The number at a place, and the place behind it. Raises: IndexError: there is none."""
    number = 0
    for shift in range(0, _LONGEST_VARINT_BITS, 7):
        byte = body[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
    raise IndexError
