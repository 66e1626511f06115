"""One reader of a task: a snapshot first, then every later update in order, each once."""

from collections.abc import Callable
from typing import Self

from llamon_agent.domain.errors import Gone
from llamon_agent.domain.events import ArtifactUpdate, Snapshot, Update
from llamon_agent.domain.task import Task, TaskStatus
from llamon_agent.runs.live_task import LiveTask


def ignore_close(_live: LiveTask) -> None:
    """The `on_close` of a subscription whose owner need not know of its end."""


class Subscription:
    """An async iterator of batches: all updates that are ready come together, in order.

    A reader that is slower than the window gets the task as it is now, as updates that replace what it has, and
    continues from there: it loses detail, never text.
    """

    def __init__(
        self,
        live: LiveTask,
        first: Task | None,
        seq: int,
        *,
        ends_at_pause: bool,
        on_close: Callable[[LiveTask], None],
    ) -> None:
        self._live = live
        self._first = first
        self._seq = seq
        self._ends_at_pause = ends_at_pause
        self._on_close = on_close
        self._ended = False
        self._closed = False
        live.event_log.readers += 1

    @property
    def task(self) -> Task:
        """The task as it is now, for its ids."""
        return self._live.task

    def snapshot(self) -> Task:
        """The task as its readers know it this moment."""
        return self._live.snapshot()

    @property
    def is_cut_off(self) -> bool:
        """Whether the stream has ended before its last event: the service stops, and the task goes on."""
        return self._live.event_log.closed and not self._ended

    def is_last(self, event: Snapshot | Update) -> bool:
        """Whether this stream ends with that event."""
        if isinstance(event, ArtifactUpdate):
            return False
        status = event.task.status if isinstance(event, Snapshot) else event.status
        return self._ends(status)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> list[Snapshot | Update]:
        """The next events. Raises: BackendError: the task could not be recorded, so its end cannot be sent."""
        if self._ended:
            raise StopAsyncIteration
        log = self._live.event_log
        batch: list[Snapshot | Update] = []
        if self._first is not None:
            batch.append(Snapshot(task=self._first))
            self._first = None
        while True:
            batch += self._take()
            if batch:
                return self._until_last(batch)
            if log.closed:
                raise self._live.lost or StopAsyncIteration
            await log.changed()

    def close(self) -> None:
        """Stop reading. The run goes on; calling it twice is fine."""
        if not self._closed:
            self._closed = self._ended = True
            self._live.event_log.readers -= 1
            self._on_close(self._live)

    def _take(self) -> list[Update]:
        log = self._live.event_log
        try:
            updates = log.after(self._seq)
        except Gone:
            updates = self._live.resync()
        self._seq = log.seq
        return updates

    def _until_last(self, batch: list[Snapshot | Update]) -> list[Snapshot | Update]:
        for index, event in enumerate(batch):
            if self.is_last(event):
                self._ended = True
                return batch[: index + 1]
        return batch

    def _ends(self, status: TaskStatus) -> bool:
        return status.is_terminal or (self._ends_at_pause and status.is_paused)
