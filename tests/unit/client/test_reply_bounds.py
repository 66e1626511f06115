import gzip
import tracemalloc
from collections.abc import AsyncIterator, Iterable
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from llamon_agent.client.reply_bounds import Gauge, TooLarge, Unpackable, bounded

EVENTS = {"Content-Type": "text/event-stream"}
LINE_ENDS = [b"\n", b"\r", b"\r\n"]


async def coming(pieces: Iterable[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


async def read(*pieces: bytes, max_bytes: int = 100, **headers: str) -> bytes:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return b"".join([piece async for piece in bounded(coming(pieces), named, max_bytes=max_bytes)])


def measure(*pieces: bytes, max_bytes: int) -> None:
    gauge = Gauge(max_bytes, of_events=True)
    for piece in pieces:
        gauge.take(piece)


async def test_a_body_may_be_as_large_as_is_said_and_no_larger() -> None:
    assert await read(b"x" * 60, b"y" * 40) == b"x" * 60 + b"y" * 40
    with pytest.raises(TooLarge):
        await read(b"x" * 60, b"y" * 41)


async def test_empty_lines_are_no_ends_in_a_body_that_is_no_stream() -> None:
    with pytest.raises(TooLarge):
        await read(b"\n\n" * 51, Content_Type="application/json")


@pytest.mark.parametrize("first", LINE_ENDS)
@pytest.mark.parametrize("second", LINE_ENDS)
def test_an_event_ends_with_an_empty_line_however_lines_end(first: bytes, second: bytes) -> None:
    if (first, second) == (b"\r", b"\n"):  # which is one end
        return
    ends = first + second
    measure(*[b"data: x" + ends] * 9, max_bytes=7 + len(ends))
    with pytest.raises(TooLarge):
        measure(b"data: x" + ends, max_bytes=6)


@pytest.mark.parametrize("end", LINE_ENDS)
def test_the_end_of_a_line_is_no_empty_line(end: bytes) -> None:
    with pytest.raises(TooLarge):
        measure(*[b"data: x" + end] * 9, max_bytes=50)


@example([b"\n\n", b"\n", b"ab"], {2})
@given(st.lists(st.sampled_from([b"\n", b"\r\n", b"ab", b"c", b"\n\n"]), max_size=30), st.sets(st.integers(0, 60)))
def test_how_a_stream_is_cut_into_pieces_does_not_matter(tokens: list[bytes], cuts: set[int]) -> None:
    stream = b"".join(tokens)
    places = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]

    def fits(max_bytes: int, pieces: list[bytes]) -> bool:
        try:
            measure(*pieces, max_bytes=max_bytes)
        except TooLarge:
            return False
        return True

    cut = [stream[start:end] for start, end in pairwise(places)]
    assert [fits(size, [stream]) for size in range(60)] == [fits(size, cut) for size in range(60)]


async def test_what_is_packed_counts_as_what_it_unpacks_to() -> None:
    packed = gzip.compress(b"x" * 100)
    cut = [packed[n : n + 1] for n in range(len(packed))]
    assert await read(*cut, Content_Encoding="gzip") == b"x" * 100
    assert await read(packed, b"and more", Content_Encoding="GZip") == b"x" * 100
    with pytest.raises(TooLarge):
        await read(*cut, max_bytes=99, Content_Encoding="gzip")


async def test_a_bomb_takes_no_more_memory_than_the_bound() -> None:
    bomb = gzip.compress(b"x" * (1 << 27), 9)
    tracemalloc.start()
    try:
        with pytest.raises(TooLarge):
            await read(bomb, max_bytes=1 << 20, Content_Encoding="gzip")
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("encoding", ["br", "zstd", "deflate", "gzip, gzip", "gzip, identity"])
async def test_only_what_we_accept_is_unpacked(encoding: str) -> None:
    with pytest.raises(Unpackable):
        await read(gzip.compress(gzip.compress(b"x")), Content_Encoding=encoding)


async def test_what_is_wrongly_packed_is_told() -> None:
    with pytest.raises(Unpackable):
        await read(b"no gzip", Content_Encoding="gzip")
