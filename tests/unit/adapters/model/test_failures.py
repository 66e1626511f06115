from datetime import UTC, datetime
from email.utils import format_datetime
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.exceptions import ContextOverflowError, ModelConnectionError, ModelTimeoutError

from llamon_agent.adapters.model.failures import (
    BROKE_OFF,
    BUSY,
    FAILED,
    NO_ACCESS,
    NO_QUOTA,
    NOT_CALLED,
    REFUSED,
    TOO_LONG,
    TOO_SLOW,
    UNKNOWN_MODEL,
    UNREACHABLE,
    UNREADABLE,
    Failure,
    failure_of,
)

NOW_S = 1_700_000_000.0


class APIError(Exception):
    """What SDKs call their errors; carries whatever a package hangs on it."""

    def __init__(self, **carried: Any) -> None:
        super().__init__("secret words")
        self.__dict__.update(carried)


class TransportError(Exception):
    """As httpx calls it."""


class ReadTimeout(TransportError):
    """As httpx calls it."""


class APIResponseValidationError(APIError):
    """As OpenAI calls it."""


def met(error: Exception, *, answer_begun: bool = False) -> Failure:
    return failure_of(error, answer_begun=answer_begun, now_s=NOW_S)


def wrapped(cause: Exception) -> Exception:
    error = ValueError("wrapped")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("status", "public", "may_pass"),
    [
        (400, REFUSED, False),
        (401, NO_ACCESS, False),
        (402, NO_QUOTA, False),
        (403, NO_ACCESS, False),
        (404, UNKNOWN_MODEL, False),
        (408, TOO_SLOW, True),
        (413, TOO_LONG, False),
        (418, REFUSED, False),
        (429, BUSY, True),
        (500, FAILED, True),
        (502, FAILED, True),
        (503, BUSY, True),
        (504, TOO_SLOW, True),
        (529, BUSY, True),
    ],
)
@pytest.mark.parametrize(
    "carrying",
    [
        lambda status: APIError(status_code=status),
        lambda status: APIError(code=status),
        lambda status: APIError(status=status),
        lambda status: APIError(response=SimpleNamespace(status_code=status)),
        lambda status: APIError(response={"ResponseMetadata": {"HTTPStatusCode": status}}),
        lambda status: wrapped(APIError(status_code=status)),
    ],
    ids=["status_code", "code", "status", "response", "botocore", "wrapped"],
)
def test_a_status_is_found_wherever_a_package_keeps_it(carrying: Any, status: int, public: str, may_pass: bool) -> None:
    assert met(carrying(status)) == Failure(public, may_pass)


@pytest.mark.parametrize(
    ("error", "public", "may_pass"),
    [
        (ModelConnectionError(), UNREACHABLE, True),
        (ConnectionResetError(), UNREACHABLE, True),
        (TransportError(), UNREACHABLE, True),
        (wrapped(TransportError()), UNREACHABLE, True),
        (ModelTimeoutError(), TOO_SLOW, True),
        (ReadTimeout(), TOO_SLOW, True),
        (TimeoutError(), TOO_SLOW, True),
        (APIError(), FAILED, True),
        (APIError(status_code=200), FAILED, True),
        (APIError(code="insufficient_quota", status_code=429), NO_QUOTA, False),
        (APIError(code="context_length_exceeded", status_code=400), TOO_LONG, False),
        (ContextOverflowError(), TOO_LONG, False),
        (APIResponseValidationError(status_code=200), UNREADABLE, False),
        (ValueError(), UNREADABLE, False),
        (KeyError(), UNREADABLE, False),
        (TypeError(), UNREADABLE, False),
        (NotImplementedError(), NOT_CALLED, False),
    ],
)
def test_an_error_without_a_status_is_reported_by_its_kind(error: Exception, public: str, may_pass: bool) -> None:
    assert met(error) == Failure(public, may_pass)


@pytest.mark.parametrize(
    ("error", "public"),
    [(TransportError(), BROKE_OFF), (ReadTimeout(), BROKE_OFF), (APIError(), FAILED), (ValueError(), UNREADABLE)],
)
def test_once_the_answer_has_begun_nothing_is_retried(error: Exception, public: str) -> None:
    assert met(error, answer_begun=True) == Failure(public)


@pytest.mark.parametrize(
    ("value", "wait_s"),
    [
        ("7", 7.0),
        ("0.5", 0.5),
        ("-3", 0.0),
        (format_datetime(datetime.fromtimestamp(NOW_S + 20, UTC), usegmt=True), 20.0),
        (format_datetime(datetime.fromtimestamp(NOW_S - 20, UTC), usegmt=True), 0.0),
        ("soon", None),
        (None, None),
    ],
)
def test_the_provider_says_how_long_to_wait(value: str | None, wait_s: float | None) -> None:
    headers = {} if value is None else {"retry-after": value}
    error = APIError(status_code=429, response=SimpleNamespace(headers=headers))
    assert met(wrapped(error)) == Failure(BUSY, may_pass=True, retry_after_s=wait_s)


def test_no_text_of_ours_repeats_the_providers_words() -> None:
    assert "secret" not in met(APIError(status_code=400)).public
