"""What a receiver's answer means."""

from datetime import UTC, datetime

import pytest

from llamon_agent.inbound.a2a.push.sender import (
    MAX_RETRY_AFTER_S,
    Accepted,
    Declined,
    PostResult,
    TryLater,
    post_result,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_a_success_is_taken(status: int) -> None:
    assert post_result(status, None, NOON) == Accepted()


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 599])
def test_what_may_pass_is_tried_later(status: int) -> None:
    assert post_result(status, None, NOON) == TryLater(f"HTTP {status}")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308, 400, 401, 403, 404, 405, 410, 413, 422])
def test_a_refusal_or_a_redirect_is_final(status: int) -> None:
    assert post_result(status, "5", NOON) == Declined(f"HTTP {status}")


@pytest.mark.parametrize(
    ("retry_after", "after_s"),
    [
        *(("0", 0), ("7", 7), (" 7 ", 7), ("999999999999999999999", MAX_RETRY_AFTER_S), ("61", MAX_RETRY_AFTER_S)),
        ("Thu, 01 Jan 2026 12:00:30 GMT", 30),
        ("Thu, 01 Jan 2026 12:00:30 -0000", 30),
        ("Thu, 01 Jan 2026 11:00:00 GMT", 0),
        ("Fri, 01 Jan 2100 00:00:00 GMT", MAX_RETRY_AFTER_S),
        *(("", 0), ("soon", 0), ("-5", 0), ("1.5", 0), ("٣", 0), ("Thu, 99 Jan 2026 12:00:30 GMT", 0)),
        ("Thu, 01 Jan 99999999999999999999 12:00:30 GMT", 0),
        ("Thu, 01 Jan 2026 12:00:30 +99999999999999999999", 0),
    ],
)
def test_a_receiver_says_when_within_bounds(retry_after: str, after_s: float) -> None:
    expected: PostResult = TryLater("HTTP 503", after_s)
    assert post_result(503, retry_after, NOON) == expected
