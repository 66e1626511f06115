import logging

import pytest
from starlette.types import Scope

from llamon_agent.domain.errors import CallerError, PermissionDenied, Unauthenticated
from llamon_agent.inbound.a2a.bindings.refusals import log_refused_caller

SCOPE: Scope = {"type": "http", "method": "POST", "path": "/a2a/demo", "client": ("192.0.2.7", 4711)}


def refuse(
    headers: dict[bytes, bytes] | None = None,
    *,
    error: CallerError | None = None,
    trusted: int = 0,
    **scope: object,
) -> None:
    refused = error or Unauthenticated()
    log_refused_caller(refused, {**SCOPE, **scope}, headers or {}, agent="demo", trusted=trusted)


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize("error", [Unauthenticated(), PermissionDenied("Not you.")])
def test_a_refusal_is_a_warning_with_the_agent_the_path_and_the_address(
    caplog: pytest.LogCaptureFixture, error: CallerError
) -> None:
    refuse(error=error)
    [record] = caplog.records
    assert (record.levelno, vars(record)["agent"]) == (logging.WARNING, "demo")
    assert record.getMessage() == (
        f"authentication failed, no Authorization header: {error.public} (POST '/a2a/demo' from 192.0.2.7)"
    )


def test_no_credentials_are_in_a_line(caplog: pytest.LogCaptureFixture) -> None:
    refuse(
        {b"authorization": b"Bearer s3cret", b"cookie": b"id=s3cret", b"x-api-key": b"s3cret"},
        query_string=b"token=s3cret",
    )
    assert "s3cret" not in caplog.text
    assert "with credentials" in caplog.text


def test_a_path_cannot_forge_a_line_or_make_it_long(caplog: pytest.LogCaptureFixture) -> None:
    refuse(path="/a2a\nnothing happened" + "x" * 5000)
    [line] = lines(caplog)
    assert "\n" not in line
    assert len(line) < 300


def test_a_proxys_word_on_the_address_counts_only_if_it_is_trusted(caplog: pytest.LogCaptureFixture) -> None:
    forwarded = {b"x-forwarded-for": b"198.51.100.1, 203.0.113.9"}
    refuse(forwarded)
    refuse(forwarded, trusted=1)
    refuse({b"x-forwarded-for": b"\n" * 5000}, trusted=1)
    untrusted, trusted, hostile = lines(caplog)
    assert "203.0.113.9" not in untrusted
    assert "from 192.0.2.7, forwarded for '203.0.113.9'" in trusted
    assert "\n" not in hostile
    assert len(hostile) < 400


@pytest.mark.parametrize(("trusted", "address"), [(1, "10.0.0.2"), (2, "203.0.113.9"), (3, "6.6.6.6"), (9, "6.6.6.6")])
def test_the_address_is_what_the_outermost_proxy_of_ours_saw(
    caplog: pytest.LogCaptureFixture, trusted: int, address: str
) -> None:
    refuse({b"x-forwarded-for": b"6.6.6.6, 203.0.113.9, 10.0.0.2"}, trusted=trusted)
    assert f"forwarded for '{address}'" in caplog.text


def test_a_caller_without_an_address_is_logged_too(caplog: pytest.LogCaptureFixture) -> None:
    refuse(client=None)
    assert "from an unknown address" in caplog.text
