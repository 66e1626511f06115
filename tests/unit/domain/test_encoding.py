import pytest

from llamon_agent.domain.encoding import read_base64, read_timestamp, write_base64, write_timestamp
from llamon_agent.domain.errors import BadParams

NOON_MS = 1_796_040_000_000  # 2026-11-30T12:00:00Z


def test_a_timestamp_is_utc_with_a_z_and_three_digits() -> None:
    assert write_timestamp(NOON_MS) == "2026-11-30T12:00:00.000Z"
    assert write_timestamp(NOON_MS + 42) == "2026-11-30T12:00:00.042Z"


@pytest.mark.parametrize(
    ("text", "at_ms"),
    [
        ("2026-11-30T12:00:00Z", NOON_MS),
        ("2026-11-30t12:00:00z", NOON_MS),
        ("2026-11-30T21:00:00+09:00", NOON_MS),
        ("2026-11-30T06:30:00.5-05:30", NOON_MS + 500),
        ("2026-11-30T12:00:00.123456789Z", NOON_MS + 124),
        ("1969-12-31T23:59:59.999Z", -1),
    ],
)
def test_any_rfc_3339_time_is_read_and_rounded_up(text: str, at_ms: int) -> None:
    assert read_timestamp(text, "since") == at_ms


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "2026-11-30", "2026-11-30T12:00:00", "20261130T120000Z", "2026-02-30T12:00:00Z", "1796040000"],
)
def test_anything_else_is_refused_by_its_field(text: str) -> None:
    with pytest.raises(BadParams, match=r"^since "):
        read_timestamp(text, "since")


@pytest.mark.parametrize("text", ["+/8=", "-_8=", "+/8", "-_8"])
def test_base64_is_read_in_either_alphabet_padded_or_not(text: str) -> None:
    assert read_base64(text) == b"\xfb\xff"
    assert write_base64(b"\xfb\xff") == "+/8="


@pytest.mark.parametrize("text", ["a", "+/8=x", "+ /8", "=", "\u00e9\u00e9\u00e9\u00e9"])
def test_what_is_no_base64_is_an_error(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - binascii's own text differs between versions
        read_base64(text)
