import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamon_agent.config.values import read_duration_s


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("10m", 600),
        ("24h", 86_400),
        ("30d", 2_592_000),
        ("2w", 1_209_600),
        ("1.5h", 5_400),
        ("0.001s", 0.001),
    ],
)
def test_a_number_and_a_unit_are_a_length_of_time(text: str, seconds: float) -> None:
    assert read_duration_s(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "h", "10", "10 m", "-1h", "1h30m", "1H", "0s", "0.0d", "1e3s", "٣d", "1.2345s", "1d\n"]
)
def test_anything_else_is_none(text: str) -> None:
    assert read_duration_s(text) is None


@given(st.text())
def test_any_text_is_one_or_the_other(text: str) -> None:
    seconds = read_duration_s(text)
    assert seconds is None or seconds > 0
