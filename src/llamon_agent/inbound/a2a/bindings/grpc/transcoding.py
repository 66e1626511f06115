"""Protobuf messages <-> their JSON, so that gRPC, HTTP+JSON and JSON-RPC go through one codec and cannot disagree.

What is read and written is ProtoJSON, by the messages' own descriptors. Protobuf's own converter differs in two things:

1. A number of a Struct is a double on the wire, and that converter reads 42 as 42.0. Here a whole one is an integer, as
   far as a double is exact (2^53), so that an agent is given the same 42 on every way in.
2. Time. On 2026-11-30 (two shared cores, Python 3.11, protobuf 7.36) a delta of a stream was written in 16 us, by that
   converter in 107; a small send was read in 23 us, by that converter in 33. An rpc took 1,400 us in all, and a stream
   of 1,000 events came at 10,200 events a second, where the official SDK's server sent 2,200 on the same machine.

Limits are those of a JSON body: so many values, and as deep as any client can read back. Protobuf libraries stop at 100
levels, of which an object in a Struct takes three. Values are counted on the bytes, before anything is made of them: an
empty part takes two bytes on the wire and some hundred in memory, so a message within the limit of bytes could still
take half a gigabyte. Counting follows the messages within messages, and stops at the limit ("Encoding", protobuf.dev).
"""

import math
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import msgspec
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.struct_pb2 import NULL_VALUE, ListValue, Struct, Value
from google.protobuf.timestamp_pb2 import Timestamp

from llamon_agent.domain.encoding import read_base64, read_timestamp, write_base64
from llamon_agent.domain.errors import BadParams, BadRequest, UnsupportedOperation
from llamon_agent.wire.json_body import MAX_VALUES

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
    except IndexError:  # it is cut off; reading it will say so
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
    """The number at a place, and the place after it. Raises: IndexError: there is none."""
    number = 0
    for shift in range(0, _LONGEST_VARINT_BITS, 7):
        byte = body[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
    raise IndexError


MAX_DEPTH = 30
"""How deep objects and lists may nest in metadata or data: with what is around them, that is nearly 100 levels."""

_LARGEST_EXACT = 2.0**53

_DEEP = f"metadata and data may nest at most {MAX_DEPTH} levels deep over gRPC."

Json = dict[str, Any]

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Json).decode


class Unsayable(UnsupportedOperation):
    """An answer that is no message of its type: too deep, or with a number that is no double."""

    public = "The answer holds what gRPC cannot carry; ask for it over JSON-RPC or HTTP+JSON."


# A message -> its JSON.


def read_message(kind: type[Message], body: bytes) -> bytes:
    """The JSON of a message. Raises: BadRequest: it is none, or too much; BadParams."""
    if has_more_values_than(MAX_VALUES, kind, body):
        raise BadRequest(f"The message holds more than {MAX_VALUES} values.")
    try:
        message = kind.FromString(body)
    except DecodeError as exc:
        raise BadRequest(f"The message cannot be read as a {kind.DESCRIPTOR.full_name}, or nests too deep.") from exc
    return _encode(_read_fields(message))


def _read_fields(message: Message) -> Json:
    """The fields that are set: those with presence if they are there, the others if they are not their default."""
    return {
        field.json_name: [_read_one(field, one) for one in value] if field.is_repeated else _read_one(field, value)
        for field, value in message.ListFields()
    }


def _read_one(field: FieldDescriptor, value: Any) -> Any:
    if field.type == FieldDescriptor.TYPE_BYTES:
        return write_base64(value)
    match value:
        case Struct():
            return _read_struct(value, 1)
        case Value():
            return _read_value(value, 0)
        case Timestamp():
            return _read_time(value, field)
        case Message():
            return _read_fields(value)
    return value  # an enum is its number, which ProtoJSON allows


def _read_struct(struct: Struct, depth: int) -> Json:
    if depth > MAX_DEPTH:
        raise BadParams(_DEEP)
    return {key: _read_value(value, depth) for key, value in struct.fields.items()}


def _read_value(value: Value, depth: int) -> Any:
    match value.WhichOneof("kind"):
        case "string_value":
            return value.string_value
        case "number_value":
            return _read_number(value.number_value)
        case "bool_value":
            return value.bool_value
        case "struct_value":
            return _read_struct(value.struct_value, depth + 1)
        case "list_value" if depth < MAX_DEPTH:
            return [_read_value(one, depth + 1) for one in value.list_value.values]
        case "list_value":
            raise BadParams(_DEEP)
        case "null_value":
            return None
    raise BadParams(
        "A value in metadata or data is none."
    )  # struct.proto: "Absence of any variant is an invalid state"


def _read_number(number: float) -> int | float:
    if not math.isfinite(number):
        raise BadParams("A number in metadata or data is not finite.")
    return int(number) if number.is_integer() and abs(number) <= _LARGEST_EXACT else number


def _read_time(time: Timestamp, field: FieldDescriptor) -> str:
    try:
        return str(time.ToJsonString())
    except ValueError as exc:
        raise BadParams(f"{field.json_name} is not a time that exists.", field=field.json_name) from exc


# JSON -> its message.

_Convert = Callable[[Any], Any]
"""A value of a field's JSON becomes what the message's constructor takes for that field."""

_Plan = Mapping[str, tuple[str, _Convert | None]]
"""By the names in JSON: a field's name in Python, and its conversion, None where there is none."""


def write_message(kind: type[Message], body: bytes) -> bytes:
    """The message whose JSON this is. Raises: Unsayable."""
    try:
        return kind(**_write_fields(_plan(kind.DESCRIPTOR), _decode(body))).SerializeToString()
    except (KeyError, TypeError, ValueError, OverflowError) as exc:
        raise Unsayable from exc


def _write_fields(plan: _Plan, value: Json) -> Json:
    written: Json = {}
    for key, inner in value.items():
        name, convert = plan[key]
        written[name] = inner if convert is None else convert(inner)
    return written


@cache
def _plan(kind: Descriptor) -> _Plan:
    return {field.json_name: (field.name, _conversion(field)) for field in kind.fields}


def _conversion(field: FieldDescriptor) -> _Convert | None:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        of_value = _conversion_of_one(field.message_type.fields_by_name["value"])
        return None if of_value is None else partial(_write_map, of_value)
    of_one = _conversion_of_one(field)
    return of_one if of_one is None or not field.is_repeated else partial(_write_list, of_one)


def _conversion_of_one(field: FieldDescriptor) -> _Convert | None:
    """Of a field's only value. Enums need none: the constructor takes their names."""
    if field.type == FieldDescriptor.TYPE_BYTES:
        return read_base64
    if field.message_type is None:
        return None
    if (known := _WELL_KNOWN.get(field.message_type.full_name)) is not None:
        return known
    return partial(_write_fields, _plan(field.message_type))


def _write_list(convert: _Convert, values: list[Any]) -> list[Any]:
    return [convert(value) for value in values]


def _write_map(convert: _Convert, values: Json) -> Json:
    return {key: convert(value) for key, value in values.items()}


def _write_struct(value: Json, depth: int = 1) -> Struct:
    if depth > MAX_DEPTH:
        raise Unsayable
    return Struct(fields={key: _write_value(inner, depth) for key, inner in value.items()})


def _write_value(value: Any, depth: int = 0) -> Value:
    match value:
        case None:
            return Value(null_value=NULL_VALUE)
        case bool():
            return Value(bool_value=value)
        case str():
            return Value(string_value=value)
        case dict():
            return Value(struct_value=_write_struct(value, depth + 1))
        case list() if depth < MAX_DEPTH:
            return Value(list_value=ListValue(values=[_write_value(inner, depth + 1) for inner in value]))
        case list():
            raise Unsayable
    return Value(number_value=value)


def _write_time(text: str) -> Timestamp:
    seconds, ms = divmod(read_timestamp(text, "timestamp"), 1000)
    return Timestamp(seconds=seconds, nanos=ms * 1_000_000)


_WELL_KNOWN: Mapping[str, _Convert] = {
    Struct.DESCRIPTOR.full_name: _write_struct,
    Value.DESCRIPTOR.full_name: _write_value,
    Timestamp.DESCRIPTOR.full_name: _write_time,
}
