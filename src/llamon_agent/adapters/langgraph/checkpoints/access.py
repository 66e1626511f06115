"""Around each use of a checkpointer's storage: a hook, which its owner provides, and patience with short outages.

A run has done its work when a step is saved, and a storage is often back after a moment: a server restarts, a disk is
cleared, another program ends its transaction. So a run's write is tried again for a while. To save a checkpoint or a
node's writes once more changes nothing, should the first try have come through. Writes outside of a run, such as a
thread's repair after a cancel, are not tried again: who waits for them is not to wait longer.
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import chain, repeat
from time import monotonic
from typing import Protocol, TypeVar

from llamon_agent.adapters.worker_threads import sleep_in_run
from llamon_agent.domain.errors import BackendError

_T = TypeVar("_T")

NOT_KEPT = "The agent's state or its question holds a value that cannot be saved."
"""The caller's error text if a value cannot be stored, though the storage works."""

PATIENCE_S = 20.0
"""How long a write is tried again after it has failed for the first time."""

_PAUSES_S = (0.2, 0.5, 1.0)
"""The pauses before the next tries; the last one repeats."""


class Access(Protocol):
    """Around each use. Raises: BackendError, in place of the library's error, if the storage is not available."""

    def reading(self) -> AbstractContextManager[None]: ...

    def writing(self) -> AbstractContextManager[None]: ...

    def may_pass(self, error: BaseException) -> bool:
        """Whether the same write may work soon: not if the storage is damaged, or refuses just this write."""
        ...


class FreeAccess:
    """Passes every error on as it is."""

    def reading(self) -> AbstractContextManager[None]:
        return nullcontext()

    def writing(self) -> AbstractContextManager[None]:
        return nullcontext()

    def may_pass(self, error: BaseException) -> bool:  # noqa: ARG002
        return False


async def write_patiently(access: Access, write: Callable[[], Awaitable[_T]]) -> _T:
    """Write; in a run that goes on, try again while the storage is away for a moment.

    Shape:  write may be called several times, and does the same each time.
    Raises: BackendError: the storage is away for longer, or no run goes on that would wait for it.
    """
    last_try_s: float | None = None
    for pause_s in _pauses_s():
        try:
            with access.writing():
                return await write()
        except BackendError as exc:
            now_s = monotonic()
            last_try_s = last_try_s or now_s + PATIENCE_S
            if exc.__cause__ is None or not access.may_pass(exc.__cause__) or now_s >= last_try_s:
                raise
            if not await sleep_in_run(pause_s):
                raise
    raise AssertionError("pauses never end")


def _pauses_s() -> Iterator[float]:
    return chain(_PAUSES_S, repeat(_PAUSES_S[-1]))
