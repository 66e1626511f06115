import pytest
from a2a.types import a2a_pb2 as new
from google.protobuf.message import DecodeError, Message
from hypothesis import given
from hypothesis import strategies as st

from llamon_agent.inbound.a2a.bindings.grpc.transcoding import has_more_values_than

SEND = new.SendMessageRequest


def request(*parts: new.Part, **more: object) -> bytes:
    return SEND(message=new.Message(message_id="m", parts=parts, **more)).SerializeToString()  # type: ignore[arg-type]


def test_every_value_of_a_message_counts_and_what_is_in_it() -> None:
    body = request(*[new.Part(text="x")] * 100, metadata={"a": [1, None, "x"]})
    values = (
        1 + 1 + 100 * 2 + 1 + 2 + 1 + 1 + 3 * 2
    )  # message, id, parts, metadata, entry, key, value, list, its values
    assert has_more_values_than(values - 20, SEND, body)
    assert not has_more_values_than(values + 20, SEND, body)


def test_a_message_that_is_too_short_to_hold_more_is_not_looked_at() -> None:
    assert not has_more_values_than(10, SEND, b"\xff" * 20)


def test_a_large_file_is_one_value() -> None:
    assert not has_more_values_than(10, SEND, request(new.Part(raw=b"\x0a\x00" * 10_000)))


def test_empty_parts_are_values() -> None:
    assert has_more_values_than(1000, SEND, request(*[new.Part()] * 1001))


@pytest.mark.parametrize(
    "unknown", [b"\xf8\x7f\x01", b"\xf9\x7f" + b"x" * 8, b"\xfd\x7f" + b"x" * 4, b"\xfb\x7f\xfc\x7f"]
)
def test_unknown_fields_of_every_wire_type_count(unknown: bytes) -> None:
    assert isinstance(SEND.FromString(unknown), Message)
    assert has_more_values_than(100, SEND, unknown * 101)
    assert not has_more_values_than(200, SEND, unknown * 99)


@pytest.mark.parametrize("broken", [b"\x0a", b"\xff" * 11, b"\x0a\xff\xff\xff\x7f"])
def test_what_breaks_off_is_left_to_the_reader(broken: bytes) -> None:
    body = b"\xf9\x7f" + b"x" * 8 + broken
    with pytest.raises(DecodeError):
        SEND.FromString(body)
    assert not has_more_values_than(2, SEND, body)


@given(st.binary(max_size=64))
def test_no_bytes_raise(body: bytes) -> None:
    assert has_more_values_than(3, SEND, body) in (True, False)
