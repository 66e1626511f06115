"""The log of callers whose authentication failed: from where tokens are tried.

A line holds no credentials: neither the headers nor the query, where a client may have put some. An edge limits how
many of these lines there are, as a caller without a token decides how many requests it sends (`serving.logs`).
"""

import logging
from collections.abc import Mapping

from starlette.types import Scope

from llamon_agent.domain.errors import MAX_ECHO_CHARS, CallerError
from llamon_agent.inbound.a2a.cards.card import forwarded

logger = logging.getLogger(__name__)

_Headers = Mapping[bytes, bytes]


def log_refused_caller(error: CallerError, scope: Scope, headers: _Headers, *, agent: str, trusted: int) -> None:
    """Log a refusal. Shape: trusted as in `site.CardSite`; of the addresses in X-Forwarded-For, the one that the
    outermost proxy of ours added is written.
    """
    logger.warning(
        "authentication failed, %s: %s (%s)",
        "with credentials" if b"authorization" in headers else "no Authorization header",
        error.public,
        _place(scope, headers, trusted=trusted),
        extra={"agent": agent},
    )


def _place(scope: Scope, headers: _Headers, *, trusted: int) -> str:
    """What was called and from where. Shape: what a caller wrote is quoted and cut."""
    host = (scope.get("client") or ("an unknown address",))[0]
    what = f"{scope.get('method', 'POST')} {scope['path'][:MAX_ECHO_CHARS]!r} from {host}"
    sent = headers.get(b"x-forwarded-for")
    address = forwarded(sent.decode("latin-1"), trusted) if trusted and sent else None
    return f"{what}, forwarded for {address[:MAX_ECHO_CHARS]!r}" if address else what
