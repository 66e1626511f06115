"""One task's updates, many readers.

All readers share one log, so a reader costs a number. The log keeps a window of bytes: a reader that falls out of it
has lost nothing it needs, because its stream continues from the task as it is now (see `Subscription`). Publishing
never waits, so a reader that does not read harms no other.

Rules: updates carry consecutive `seq`; what is between `first` and `seq` is in the log, whole.
"""

import asyncio

from llamon_agent.domain.errors import Gone
from llamon_agent.domain.events import ArtifactUpdate, Update
from llamon_agent.domain.message import Part, Raw, Text

_UPDATE_BYTES = 200
"""About what an update costs besides its text."""


def _size_bytes(update: Update) -> int:
    if isinstance(update, ArtifactUpdate):
        return _UPDATE_BYTES + sum([_part_bytes(part) for part in update.parts])
    return _UPDATE_BYTES


def _part_bytes(part: Part) -> int:
    if isinstance(part, Text):
        return len(part.text)
    return len(part.data) if isinstance(part, Raw) else 1024


class EventLog:
    """The log of a task's updates and the readers that wait at its end."""

    def __init__(self, seq: int, *, window_bytes: int) -> None:
        self.seq = seq
        self.closed = False
        self.readers = 0
        self._log: list[Update] = []
        self._sizes: list[int] = []
        self._bytes = 0
        self._window_bytes = window_bytes
        self._waiting: set[asyncio.Future[None]] = set()

    @property
    def first(self) -> int:
        """The seq of the oldest update that is still kept; seq + 1 if there is none."""
        return self.seq - len(self._log) + 1

    def publish(self, update: Update) -> None:
        """Add the next update and wake the readers that wait for it."""
        self.seq = update.seq
        size_bytes = _size_bytes(update)
        self._log.append(update)
        self._sizes.append(size_bytes)
        self._bytes += size_bytes
        if self._bytes > 2 * self._window_bytes:  # twice, so that trimming is rare and its cost spreads
            self._trim()
        if self._waiting:
            self._wake()

    def jump(self, seq: int) -> None:
        """Continue after `seq` and keep no update up to it: every reader falls out of the window."""
        self.seq = seq
        self._log.clear()
        self._sizes.clear()
        self._bytes = 0
        self._wake()

    def close(self) -> None:
        """Nothing follows any more."""
        self.closed = True
        self._wake()

    def after(self, seq: int) -> list[Update]:
        """All updates after `seq`. Raises: Gone: the window no longer reaches back."""
        index = seq + 1 - self.first
        if index < 0:
            raise Gone
        return self._log[index:]

    async def changed(self) -> None:
        """Wait for the next publish or close. Waiting may be cancelled; nothing is lost by it."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        try:
            await future
        finally:
            self._waiting.discard(future)

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, set()
        for future in waiting:
            if not future.done():
                future.set_result(None)

    def _trim(self) -> None:
        drop = 0
        while self._bytes > self._window_bytes:
            self._bytes -= self._sizes[drop]
            drop += 1
        del self._log[:drop], self._sizes[:drop]
