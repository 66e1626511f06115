import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamon_agent.wire.sse import PING, Event, Reader, write_frame

STREAM = (
    b"\xef\xbb\xbf: hello\n\n"
    b'id: 1\ndata: {"a":"\xec\x95\x88"}\n\n'
    b"data: two\r\ndata: lines\r\n\r\n"
    b"event: odd\rdata:no space\r\r"
    b"id: bad\0id\ndata\n\n"
    b"retry: 10\nunknown: field\nevent: nothing\n\n"
    b"data: cut off"
)
EVENTS = [
    Event(b'{"a":"\xec\x95\x88"}', "1"),
    Event(b"two\nlines", "1"),
    Event(b"no space", "1", "odd"),
    Event(b"", "1"),
]


def test_a_frame_is_one_line_of_data_with_an_id() -> None:
    assert write_frame(7, b"{}") == b"id: 7\ndata: {}\n\n"


def test_a_frame_joins_its_pieces_and_may_have_no_id() -> None:
    assert write_frame(None, b"[", b"1", b"]") == b"data: [1]\n\n"


def test_an_event_of_another_kind_bears_its_name() -> None:
    frame = write_frame(7, b"{", b"}", name=b"error")
    assert frame == b"event: error\nid: 7\ndata: {}\n\n"
    assert Reader().feed(frame) == [Event(b"{}", "7", "error")]


def test_a_ping_is_no_event() -> None:
    assert Reader().feed(PING + write_frame(1, b"x") + PING) == [Event(b"x", "1")]


def test_a_whole_stream_is_read() -> None:
    assert Reader().feed(STREAM) == EVENTS


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_a_stream_in_pieces_gives_the_same_events(size: int) -> None:
    reader = Reader()
    pieces = [STREAM[at : at + size] for at in range(0, len(STREAM), size)]
    assert [event for piece in pieces for event in reader.feed(piece)] == EVENTS


@given(st.text(alphabet="ai d:\n\r\0\ufeff", max_size=40).map(str.encode))
def test_any_bytes_fed_byte_by_byte_give_the_same_events(stream: bytes) -> None:
    stream = stream.replace(b"a", b"data:x").replace(b"i", b"id:1")
    reader = Reader()
    assert [event for at in range(len(stream)) for event in reader.feed(stream[at : at + 1])] == Reader().feed(stream)


def test_an_empty_piece_changes_nothing() -> None:
    reader = Reader()
    assert reader.feed(b"data: a\r") == []
    assert reader.feed(b"") == []
    assert reader.feed(b"\n\r\n") == [Event(b"a")]
