import logging

import pytest
from starlette.types import Scope

from llamon_agent.domain.errors import CallerError, PermissionDenied, Unauthenticated
from llamon_agent.inbound.a2a.bindings.refusals import MAX_LINES, WINDOW_S, RefusalLog

SCOPE: Scope = {"type": "http", "method": "POST", "path": "/a2a/demo", "client": ("192.0.2.7", 4711)}


def refuse(
    log: RefusalLog,
    headers: dict[bytes, bytes] | None = None,
    *,
    error: CallerError | None = None,
    trusted: int = 0,
    **scope: object,
) -> None:
    log.write(error or Unauthenticated(), {**SCOPE, **scope}, headers or {}, agent="demo", trusted=trusted)


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize("error", [Unauthenticated(), PermissionDenied("Not you.")])
def test_a_refusal_is_a_warning_with_the_agent_the_path_and_the_address(
    caplog: pytest.LogCaptureFixture, error: CallerError
) -> None:
    refuse(RefusalLog(), error=error)
    [record] = caplog.records
    assert (record.levelno, vars(record)["agent"]) == (logging.WARNING, "demo")
    assert record.getMessage() == (
        f"authentication failed, no Authorization header: {error.public} (POST '/a2a/demo' from 192.0.2.7)"
    )


def test_no_credentials_are_in_a_line(caplog: pytest.LogCaptureFixture) -> None:
    refuse(
        RefusalLog(),
        {b"authorization": b"Bearer s3cret", b"cookie": b"id=s3cret", b"x-api-key": b"s3cret"},
        query_string=b"token=s3cret",
    )
    assert "s3cret" not in caplog.text
    assert "with credentials" in caplog.text


def test_a_path_cannot_forge_a_line_or_make_it_long(caplog: pytest.LogCaptureFixture) -> None:
    refuse(RefusalLog(), path="/a2a\nnothing happened" + "x" * 5000)
    [line] = lines(caplog)
    assert "\n" not in line
    assert len(line) < 300


def test_a_proxys_word_on_the_address_counts_only_if_it_is_trusted(caplog: pytest.LogCaptureFixture) -> None:
    forwarded = {b"x-forwarded-for": b"198.51.100.1, 203.0.113.9"}
    refuse(RefusalLog(), forwarded)
    refuse(RefusalLog(), forwarded, trusted=1)
    refuse(RefusalLog(), {b"x-forwarded-for": b"\n" * 5000}, trusted=1)
    untrusted, trusted, hostile = lines(caplog)
    assert "203.0.113.9" not in untrusted
    assert "from 192.0.2.7, forwarded for '203.0.113.9'" in trusted
    assert "\n" not in hostile
    assert len(hostile) < 400


@pytest.mark.parametrize(("trusted", "address"), [(1, "10.0.0.2"), (2, "203.0.113.9"), (3, "6.6.6.6"), (9, "6.6.6.6")])
def test_the_address_is_what_the_outermost_proxy_of_ours_saw(
    caplog: pytest.LogCaptureFixture, trusted: int, address: str
) -> None:
    refuse(RefusalLog(), {b"x-forwarded-for": b"6.6.6.6, 203.0.113.9, 10.0.0.2"}, trusted=trusted)
    assert f"forwarded for '{address}'" in caplog.text


def test_a_caller_without_an_address_is_logged_too(caplog: pytest.LogCaptureFixture) -> None:
    refuse(RefusalLog(), client=None)
    assert "from an unknown address" in caplog.text


def test_a_flood_is_counted_and_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    now_s = 5.0
    log = RefusalLog(clock=lambda: now_s)
    for _ in range(MAX_LINES + 40):
        refuse(log)
    assert len(lines(caplog)) == MAX_LINES + 1
    assert "counted and not shown" in lines(caplog)[-1]
    caplog.clear()
    now_s += WINDOW_S
    refuse(log)
    refuse(log)
    count, *shown = lines(caplog)
    assert count == "40 more failed authentications were not shown"
    assert len(shown) == 2


def test_a_quiet_minute_is_not_mentioned(caplog: pytest.LogCaptureFixture) -> None:
    now_s = 5.0
    log = RefusalLog(clock=lambda: now_s)
    for _ in range(3):
        refuse(log)
        now_s += WINDOW_S
    assert len(lines(caplog)) == 3
