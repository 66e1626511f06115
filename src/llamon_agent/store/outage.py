"""What the log hears when something that things are kept in is away: not one line for each call that it fails.

A store that is away fails every call, and a log that says so every time is as full as the disk. So a line tells that it
is away, why, and what helps; another one follows each minute as long as that stays so, and a last one says that it is
over. Where the reason is none that we know, each failure is logged with its traceback, as it may be our own fault.
"""

import logging
from collections.abc import Callable
from time import monotonic

_AGAIN_S = 60.0


class Outage:
    """One thing that a store does for its callers, such as being written.

    Shape: `what` cannot be `does`, as in: the task store data/tasks.sqlite cannot be written. Belongs to one thread.
    """

    def __init__(self, what: str, does: str, log: logging.Logger, *, clock_s: Callable[[], float] = monotonic) -> None:
        self._what = what
        self._does = does
        self._log = log
        self._clock_s = clock_s
        self._told_s = float("-inf")
        self._is_told = False
        self._failed = 0
        self.is_on = False
        """Whether the last use failed, of a thing that is away. One that failed and nobody knows why may be to blame
        itself, so it does not count."""

    def failed(self, why: str | None, cause: BaseException) -> None:
        """It did not work. Shape: why is what is wrong and what helps; None where nobody knows."""
        self._failed += 1
        if why is None:
            self._log.error("%s cannot be %s", self._what, self._does, exc_info=cause)
            return
        self.is_on = True
        now_s = self._clock_s()
        if now_s - self._told_s >= _AGAIN_S:
            self._told_s, self._is_told = now_s, True
            self._log.error("%s cannot be %s: %s", self._what, self._does, why)
        self._log.debug("%s could not be %s", self._what, self._does, exc_info=cause)

    def over(self) -> None:
        """It works."""
        if self._is_told:
            self._log.info("%s can be %s again; failed meanwhile: %d", self._what, self._does, self._failed)
        self._is_told, self._failed, self.is_on = False, 0, False
