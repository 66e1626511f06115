"""What a provider's exception means: a sentence for the caller, and whether another try may help.

Theory. Every provider's package raises classes of its own, and none of them is imported here. We read what they have in
common: LangChain's classes where a package uses them, an HTTP status, or the class names that HTTP clients use. A
package may wrap an error in another, so the causes count too, the outermost first.
"""

from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec
from langchain_core.exceptions import ContextOverflowError

BUSY = "The model's provider is busy; try again later."
FAILED = "The model's provider has failed; try again later."
UNREACHABLE = "The model's provider cannot be reached; try again later."
TOO_SLOW = "The model's provider did not answer in time; try again later."
BROKE_OFF = "The connection to the model's provider broke off in the middle of the answer."
UNREADABLE = "The model's provider sent an answer that cannot be read."
NO_ACCESS = "The model's provider refused access; whoever runs this agent must check its key."
NO_QUOTA = "The account at the model's provider is used up; whoever runs this agent must see to it."
UNKNOWN_MODEL = "The model's provider does not know the model; whoever runs this agent must check its name."
TOO_LONG = "The conversation is too long for the model."
REFUSED = "The model's provider did not accept the request."
NOT_CALLED = "The model could not be called."

_BY_STATUS: Mapping[int, str] = {
    401: NO_ACCESS,
    402: NO_QUOTA,
    403: NO_ACCESS,
    404: UNKNOWN_MODEL,
    408: TOO_SLOW,
    413: TOO_LONG,
    429: BUSY,
    503: BUSY,
    504: TOO_SLOW,
    529: BUSY,  # Anthropic, when it is overloaded
}

_BY_CODE: Mapping[Any, str] = {
    "context_length_exceeded": TOO_LONG,
    "insufficient_quota": NO_QUOTA,  # with status 429, though waiting does not help
}
"""OpenAI's own codes, where they are more precise than the status."""

_MAY_PASS = frozenset({BUSY, FAILED, UNREACHABLE, TOO_SLOW})
"""The failures that a retry may overcome."""

_LOST = frozenset(
    {"ConnectionError", "TransportError", "APIConnectionError", "ModelConnectionError", "ClientConnectionError"}
    | {"ClientPayloadError", "HTTPClientError"}
)
"""The class names of a lost connection in HTTP clients (httpx, aiohttp, requests, botocore), SDKs and LangChain."""

_MALFORMED = (ValueError, LookupError, TypeError, AttributeError)
"""Raised when an answer has an unexpected form, such as bad JSON."""


class Failure(msgspec.Struct, frozen=True):
    """Why a call failed, for the caller, and whether a retry may help.

    Units: retry_after_s is how many seconds the provider asks to wait; None if it does not ask.
    """

    public: str
    may_pass: bool = False
    retry_after_s: float | None = None


def failure_of(error: Exception, *, answer_begun: bool, now_s: float) -> Failure:
    """What an exception of a call means.

    Shape: answer_begun: a part of the answer has come. It must not come twice, so nothing may be retried.
    Units: now_s counts seconds since 1970 UTC.
    """
    public = _meaning(error)
    if answer_begun:
        return Failure(BROKE_OFF if public in (UNREACHABLE, TOO_SLOW) else public)
    if public not in _MAY_PASS:
        return Failure(public)
    return Failure(public, may_pass=True, retry_after_s=_retry_after_s(error, now_s))


def _meaning(error: Exception) -> str:
    for each in _with_causes(error):
        if (public := _meaning_alone(each)) is not None:
            return public
    return UNREADABLE if isinstance(error, _MALFORMED) else NOT_CALLED


def _with_causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _meaning_alone(error: BaseException) -> str | None:
    """What one exception means by itself; None where it is unknown."""
    if isinstance(error, ContextOverflowError):
        return TOO_LONG
    if (public := _BY_CODE.get(getattr(error, "code", None))) is not None:
        return public
    if (status := _status(error)) is not None:
        return _BY_STATUS.get(status, REFUSED if status < 500 else FAILED)
    names = {each.__name__ for each in type(error).__mro__}
    if any("Timeout" in name for name in names):
        return TOO_SLOW
    if names & _LOST:
        return UNREACHABLE
    if any("ValidationError" in name for name in names):
        return UNREADABLE
    return FAILED if "APIError" in names else None  # such as an error event in the middle of a stream


def _status(error: BaseException) -> int | None:
    """The HTTP status of an error, wherever its package keeps it."""
    response = getattr(error, "response", None)
    found: list[Any] = [getattr(error, name, None) for name in ("status_code", "code", "status")]
    found.append(getattr(response, "status_code", None))
    if isinstance(response, Mapping):  # botocore
        found.append(response.get("ResponseMetadata", {}).get("HTTPStatusCode"))
    return next((each for each in found if isinstance(each, int) and 400 <= each < 600), None)


def _retry_after_s(error: Exception, now_s: float) -> float | None:
    """How long the provider asks to wait. Source: RFC 9110 §10.2.3 (seconds, or a date)."""
    for each in _with_causes(error):
        headers = getattr(getattr(each, "response", None), "headers", None)
        value = headers.get("retry-after") if isinstance(headers, Mapping) else None
        if isinstance(value, str):
            return _seconds(value, now_s)
    return None


def _seconds(value: str, now_s: float) -> float | None:
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now_s)
    except ValueError:
        return None
