"""The log of callers whose authentication failed.

A line for each, so that an operator, or a program that bans addresses, sees from where tokens are tried. But a bounded
number of lines: a caller without a token decides how many requests it sends, and must not fill the disk with them.

A line holds no credentials: neither the headers nor the query, where a client may have put some.
"""

import logging
import time
from collections.abc import Callable

from starlette.types import Scope

from llamon_agent.domain.errors import MAX_ECHO_CHARS, CallerError
from llamon_agent.inbound.a2a.cards.card import forwarded

logger = logging.getLogger(__name__)

MAX_LINES = 60
WINDOW_S = 60.0
"""In how long there are at most that many lines."""

_Headers = dict[bytes, bytes]


class RefusalLog:
    """Writes a line for each refusal, up to a limit, then how many were left out. Shape: clock gives seconds."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._ends_s = float("-inf")
        self._count = 0

    def write(self, error: CallerError, scope: Scope, headers: _Headers, *, agent: str, trusted: int) -> None:
        """Log a refusal. Shape: trusted as in `site.CardSite`; of the addresses in X-Forwarded-For, the one that the
        outermost proxy of ours added is written.
        """
        now_s = self._clock()
        if now_s >= self._ends_s:
            self._begin(now_s)
        self._count += 1
        if self._count <= MAX_LINES:
            logger.warning(
                "authentication failed, %s: %s (%s)",
                "with credentials" if b"authorization" in headers else "no Authorization header",
                error.public,
                _place(scope, headers, trusted=trusted),
                extra={"agent": agent},
            )
        elif self._count == MAX_LINES + 1:
            logger.warning("more failed authentications in this minute are counted and not shown")

    def _begin(self, now_s: float) -> None:
        if self._count > MAX_LINES:
            logger.warning("%d more failed authentications were not shown", self._count - MAX_LINES)
        self._ends_s, self._count = now_s + WINDOW_S, 0


def _place(scope: Scope, headers: _Headers, *, trusted: int) -> str:
    """What was called and from where. Shape: what a caller wrote is quoted and cut."""
    host = (scope.get("client") or ("an unknown address",))[0]
    what = f"{scope.get('method', 'POST')} {scope['path'][:MAX_ECHO_CHARS]!r} from {host}"
    sent = headers.get(b"x-forwarded-for")
    address = forwarded(sent.decode("latin-1"), trusted) if trusted and sent else None
    return f"{what}, forwarded for {address[:MAX_ECHO_CHARS]!r}" if address else what
