from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamon_agent.domain.errors import BadParams
from llamon_agent.inbound.a2a.media_types import Inline, inline_of


@pytest.mark.parametrize(
    ("url", "inline"),
    [
        ("data:image/png;base64,aGk=", Inline("image/png", 2)),
        ("data:image/png;base64,aGk", Inline("image/png", 2)),
        ("data:image/png;base64,aG%6B%3D", Inline("image/png", 2)),
        ("DATA:Image/PNG;x=y;BASE64,aG\nk=", Inline("image/png", 2)),
        (" data:text/csv;charset=utf-8,a%2Cb", Inline("text/csv", 3)),
        ("data:,한", Inline(None, 3)),
        ("data:png;base64,", Inline(None, 0)),
        ("https://example.com/data:image/png,x", None),
        ("", None),
    ],
)
def test_a_data_url_says_what_its_file_is(url: str, inline: Inline | None) -> None:
    assert inline_of(url, "url") == inline


@given(st.binary(max_size=50))
def test_the_size_is_that_of_the_file(data: bytes) -> None:
    assert inline_of("data:a/b;base64," + b64encode(data).decode(), "url") == Inline("a/b", len(data))


def test_an_address_without_data_is_refused() -> None:
    with pytest.raises(BadParams, match=r"message\.parts\[0\]\.url is a data: URL without the comma"):
        inline_of("data:image/png;base64", "message.parts[0].url")
