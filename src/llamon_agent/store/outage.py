"""How the log reports a store that fails: not with one line for each failed call.

A store that is down fails every call, and one line for each of them would fill the disk. So one line says that it
fails, why, and what helps; the line is repeated each minute while that lasts, and a last line says that it is over.
Where the reason is unknown, each failure is logged with its traceback, as it may be our own fault.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from llamon_agent.domain.errors import BackendError

_REPEAT_S = 60.0


class Outage:
    """One kind of use of a store that may fail, such as writing. Belongs to one thread.

    Shape: store and verb as in "the task store data/tasks.sqlite cannot be written".
    """

    def __init__(self, store: str, verb: str, log: logging.Logger, *, clock_s: Callable[[], float] = monotonic) -> None:
        self._store = store
        self._verb = verb
        self._log = log
        self._clock_s = clock_s
        self._logged_s = float("-inf")
        self._is_logged = False
        self._failed = 0
        self.is_on = False
        """Whether the last use failed for a known reason. A failure without one may be the fault of the use itself."""

    def failed(self, why: str | None, cause: BaseException) -> None:
        """Report a failure. Shape: why is what is wrong and what helps; None where that is unknown."""
        self._failed += 1
        if why is None:
            self._log.error("%s cannot be %s", self._store, self._verb, exc_info=cause)
            return
        self.is_on = True
        now_s = self._clock_s()
        if now_s - self._logged_s >= _REPEAT_S:
            self._logged_s, self._is_logged = now_s, True
            self._log.error("%s cannot be %s: %s", self._store, self._verb, why)
        self._log.debug("%s could not be %s", self._store, self._verb, exc_info=cause)

    def over(self) -> None:
        """Report a success."""
        if self._is_logged:
            self._log.info("%s can be %s again; failed meanwhile: %d", self._store, self._verb, self._failed)
        self._is_logged, self._failed, self.is_on = False, 0, False

    @contextmanager
    def reporting(
        self, errors: tuple[type[Exception], ...], reason_of: Callable[[BaseException], str | None]
    ) -> Iterator[None]:
        """Around one use of the store: report how it went. Raises: BackendError, in place of these errors."""
        try:
            yield
        except errors as exc:
            self.failed(reason_of(exc), exc)
            raise BackendError() from exc
        self.over()

    @contextmanager
    def probing(self, errors: tuple[type[Exception], ...]) -> Iterator[None]:
        """Around a probe of the store, which logs nothing. Raises: BackendError, in place of these errors, and while
        this use of the store fails for a known reason.
        """
        if self.is_on:
            raise BackendError()
        try:
            yield
        except errors as exc:
            raise BackendError() from exc
