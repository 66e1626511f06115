"""Follows tasks that another process works on, by reading the store at an interval.

A reader gets each record whole; it does not get the events between two records.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from llamon_agent.domain.errors import BackendError, TaskNotFound
from llamon_agent.domain.task import Task
from llamon_agent.runs.live_task import LiveTask
from llamon_agent.runs.subscription import Subscription

logger = logging.getLogger(__name__)


class RemoteTasks:
    """Polls each followed task once for all its readers.

    Shape: make gives a live task for a record; read gives a task as it is now, and raises TaskNotFound, BackendError.
    """

    def __init__(
        self,
        group: asyncio.TaskGroup,
        make: Callable[[Task], LiveTask],
        read: Callable[[Task], Awaitable[Task]],
        *,
        every_s: float,
    ) -> None:
        self._group = group
        self._make = make
        self._read = read
        self._every_s = every_s
        self._closed = False
        self._followed: dict[str, tuple[LiveTask, asyncio.Task[None]]] = {}

    def follow(self, task: Task, *, ends_at_pause: bool) -> Subscription:
        """A reader of the task; its first event is a snapshot."""
        live, _ = self._followed.get(task.id) or self._begin(task)
        live.adopt(task)
        return Subscription(
            live, live.snapshot(), live.event_log.seq, ends_at_pause=ends_at_pause, on_close=self._close_if_unread
        )

    def close(self) -> None:
        """End every stream, and those that begin later."""
        self._closed = True
        for live, polling in self._followed.values():
            polling.cancel()
            live.event_log.close()
        self._followed.clear()

    def _begin(self, task: Task) -> tuple[LiveTask, asyncio.Task[None]]:
        live = self._make(task)
        followed = self._followed[task.id] = (live, self._group.create_task(self._poll(live)))
        return followed

    async def _poll(self, live: LiveTask) -> None:
        while not (live.task.is_terminal or self._closed):
            await asyncio.sleep(self._every_s)
            try:
                live.adopt(await self._read(live.task))
            except TaskNotFound:
                break
            except BackendError:
                logger.debug("task %s: it could not be read and is read again", live.task.id, extra=live.task.log_ids)
        live.event_log.close()

    def _close_if_unread(self, live: LiveTask) -> None:
        if not live.event_log.readers and (followed := self._followed.get(live.task.id)) and followed[0] is live:
            followed[1].cancel()
            del self._followed[live.task.id]
