"""Bytes come in any pieces, lines come out."""

from hypothesis import given
from hypothesis import strategies as st

from llamon_agent.adapters.process.output import Lines

streams = st.lists(st.binary(max_size=12).map(lambda data: data.replace(b"x", b"\n")), max_size=8)


def cut(pieces: list[bytes], limit_bytes: int) -> list[bytes]:
    lines = Lines(limit_bytes)
    return [line for piece in pieces for line in lines.feed(piece)] + lines.finish()


@given(streams)
def test_the_lines_do_not_depend_on_the_pieces(pieces: list[bytes]) -> None:
    whole = b"".join(pieces)
    assert cut(pieces, 1_000) == whole.removesuffix(b"\n").split(b"\n") if whole else cut(pieces, 1_000) == []


@given(streams, st.integers(0, 5))
def test_of_a_long_line_just_one_byte_too_many_is_kept(pieces: list[bytes], limit_bytes: int) -> None:
    assert cut(pieces, limit_bytes) == [line[: limit_bytes + 1] for line in cut(pieces, 1_000)]


def test_what_comes_after_a_long_line_is_whole_again() -> None:
    assert cut([b"a" * 10, b"a" * 10 + b"\nbc\nd"], 3) == [b"aaaa", b"bc", b"d"]
