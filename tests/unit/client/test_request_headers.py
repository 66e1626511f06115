"""Which request headers may be added to a remote call, and what their errors say."""

import re
import string
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamon_agent.client.errors import BadHeader, RemoteError
from llamon_agent.client.request_headers import MADE_BY_THE_CLIENT, name_fault, read_request_headers

SECRET = "canary-of-value"
TOKEN = string.ascii_letters + string.digits + "!#$%&'*+-.^_`|~"


def test_names_are_kept_in_lower_case_and_values_as_they_are() -> None:
    read = read_request_headers({"X-Request-Id": "a b\tc", "traceparent": "", "x-name": "Ren\xe9"}, has_token=False)
    assert dict(read) == {"x-request-id": "a b\tc", "traceparent": "", "x-name": "Ren\xe9"}


ODD = string.ascii_letters + TOKEN + " :\t\r\n\0\x7f\xe9\u212a"


@given(name=st.text(ODD, max_size=8), value=st.text(ODD, max_size=8))
def test_what_is_not_refused_is_a_header(name: str, value: str) -> None:
    with suppress(BadHeader):
        [(known, kept)] = read_request_headers({name: value}, has_token=False).items()
        assert known == name.lower()
        assert known
        assert set(known) <= set(TOKEN)
        assert kept == value == value.strip(" \t")
        assert not re.search(rb"[\x00-\x08\x0a-\x1f\x7f]", kept.encode("latin-1"))


@pytest.mark.parametrize("name", ["", "x y", "x:y", "x\r\ny", "x\0", "x\n", "이름", "x\xe9", "\u212a"])
def test_a_name_that_is_no_token_is_refused(name: str) -> None:
    with pytest.raises(BadHeader, match="name"):
        read_request_headers({name: SECRET}, has_token=False)


@pytest.mark.parametrize("value", ["a\rb", "a\nb", "a\r\nx-other: b", "a\0b", "a\x7fb", "안녕", " a", "a\t", "a\n"])
def test_a_value_that_no_header_can_carry_is_refused_and_not_shown(value: str) -> None:
    with pytest.raises(BadHeader, match="'x-a'") as raised:
        read_request_headers({"X-A": f"{SECRET}{value}{SECRET}" if value.strip() == value else value}, has_token=False)
    assert SECRET not in f"{raised.value} {raised.value!r} {raised.value.detail}"


@pytest.mark.parametrize("name", [*sorted(MADE_BY_THE_CLIENT), "Content-Md5", "Proxy-Authorization", "HOST"])
def test_what_the_client_or_the_connection_makes_is_refused(name: str) -> None:
    with pytest.raises(BadHeader, match="client"):
        read_request_headers({name: SECRET}, has_token=False)


def test_authorization_goes_along_only_where_the_client_has_no_token_of_its_own() -> None:
    assert name_fault("Authorization", has_token=False) is None
    with pytest.raises(BadHeader, match="token of its own"):
        read_request_headers({"Authorization": "Bearer x"}, has_token=True)


@pytest.mark.parametrize("headers", [{3: "a"}, {"x-a": None}, {"x-a": b"a"}])
def test_what_is_no_text_is_refused(headers: dict[Any, Any]) -> None:
    with pytest.raises(BadHeader):
        read_request_headers(headers, has_token=False)


def test_one_name_in_two_spellings_is_refused() -> None:
    with pytest.raises(BadHeader, match="twice"):
        read_request_headers({"X-A": "1", "x-a": "2"}, has_token=False)


def test_what_is_read_cannot_be_encoded_or_shown() -> None:
    read = read_request_headers({"x-a": SECRET}, has_token=False)
    assert SECRET not in repr(read)
    with pytest.raises(TypeError):
        msgspec.json.encode(read)


def test_a_header_that_is_refused_is_a_remote_error() -> None:
    assert issubclass(BadHeader, RemoteError)
