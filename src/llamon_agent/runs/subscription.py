"""One reader of a task: a snapshot first, then every later update in order, none twice."""

from collections.abc import Callable
from typing import Self

from llamon_agent.domain.errors import Gone
from llamon_agent.domain.events import ArtifactUpdate, Snapshot, Update
from llamon_agent.domain.task import Task, TaskStatus
from llamon_agent.runs.live_task import LiveTask


class Subscription:
    """An async iterator of batches: what is at hand comes together, in order.

    A reader that fell behind the window is given the task as it is now, as updates that replace what it has, and goes
    on from there: it loses detail, never text.
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
        live.broadcast.readers += 1

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
        return self._live.broadcast.closed and not self._ended

    def is_last(self, event: Snapshot | Update) -> bool:
        """Whether this stream ends with that event."""
        if isinstance(event, ArtifactUpdate):
            return False
        status = event.task.status if isinstance(event, Snapshot) else event.status
        return self._ends(status)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> list[Snapshot | Update]:
        """The next events. Raises: BackendError: the task could not be recorded, so that its end cannot be told."""
        if self._ended:
            raise StopAsyncIteration
        broadcast = self._live.broadcast
        batch: list[Snapshot | Update] = []
        if self._first is not None:
            batch.append(Snapshot(task=self._first))
            self._first = None
        while True:
            batch += self._take()
            if batch:
                return self._until_last(batch)
            if broadcast.closed:
                raise self._live.lost or StopAsyncIteration
            await broadcast.changed()

    def close(self) -> None:
        """Stop reading. The run goes on; calling it twice is fine."""
        if not self._closed:
            self._closed = self._ended = True
            self._live.broadcast.readers -= 1
            self._on_close(self._live)

    def _take(self) -> list[Update]:
        broadcast = self._live.broadcast
        try:
            updates = broadcast.after(self._seq)
        except Gone:
            updates = self._live.catch_up()
        self._seq = broadcast.seq
        return updates

    def _until_last(self, batch: list[Snapshot | Update]) -> list[Snapshot | Update]:
        for index, event in enumerate(batch):
            if self.is_last(event):
                self._ended = True
                return batch[: index + 1]
        return batch

    def _ends(self, status: TaskStatus) -> bool:
        return status.is_terminal or (self._ends_at_pause and status.is_paused)
