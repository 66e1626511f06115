"""Writes tasks to the store, and publishes what was written.

Record before telling: every method here saves first and publishes afterwards, under the task's own lock, so that
records and events of one task come in one order.
"""

import asyncio
import logging
from collections.abc import Coroutine

import msgspec

from llamon_agent.domain.errors import BackendError
from llamon_agent.domain.events import Cancelled, Error, Outcome, StatusUpdate
from llamon_agent.domain.task import Task, TaskState, TaskStatus
from llamon_agent.runs.decisions import ended
from llamon_agent.runs.live_task import LiveTask
from llamon_agent.runs.ports.agent import Turn
from llamon_agent.runs.ports.run import Clock, NewId
from llamon_agent.runs.ports.store import IdempotencyKey, TaskStore
from llamon_agent.runs.recovery import cut_off, resumed
from llamon_agent.runs.run import Execution

logger = logging.getLogger(__name__)


class TaskRecorder:
    """The one place that writes tasks to the store. Raises: BackendError, and then nothing was published."""

    def __init__(self, store: TaskStore, *, clock: Clock, new_id: NewId) -> None:
        self._store = store
        self._clock = clock
        self._new_id = new_id

    async def create(self, live: LiveTask, turn: Turn | None, *, key: IdempotencyKey | None = None) -> None:
        """Keep a new task, once, and hold its run. Raises: KeyTaken."""
        async with live.writing:
            if not live.saved_seq:
                await self._store.create(live.task, turn=turn and turn.kept, key=key)
                live.saved_seq = live.task.seq

    async def open(self, execution: Execution) -> None:
        """Keep the task of a run that is opening, then let its submission return.

        It is tried once: where it fails the submission is refused, as for every other message.
        """
        try:
            await self.create(execution.live, execution.turn)
        except BackendError as exc:
            execution.refuse(exc)
            raise
        execution.open()

    async def state(
        self, live: LiveTask, task: Task, *, turn: Turn | None = None, key: IdempotencyKey | None = None
    ) -> None:
        """Keep a new state, then publish it; a turn begins a run, which this process holds from then on.

        Raises: Conflict: another process has changed the record; KeyTaken.
        """
        async with live.writing:
            await self._store.save(task, expect=live.saved_seq, turn=turn and turn.kept, key=key)
            live.mark_recorded(task, [StatusUpdate(seq=task.seq, status=task.status)])

    async def working(self, live: LiveTask) -> None:
        """A task that waited works now."""
        status = TaskStatus(state=TaskState.WORKING, at_ms=self._clock())
        await self.state(live, msgspec.structs.replace(live.task, status=status, seq=live.event_log.seq + 1))

    async def snapshot(self, live: LiveTask) -> None:
        """Keep the answer so far; a store that is away now may be back at the end, so it is no error."""
        snapshot = live.snapshot()
        async with live.writing:
            if snapshot.seq <= live.saved_seq:
                return
            try:
                await self._store.save(snapshot, expect=live.saved_seq)
            except BackendError:
                logger.debug("task %s: a snapshot could not be recorded", live.task.id, extra=live.task.log_ids)
            else:
                live.saved_seq = snapshot.seq

    async def end(self, execution: Execution, outcome: Outcome) -> None:
        """Keep how the run ended, then publish it; the first call counts."""
        live = execution.live
        async with live.writing:
            if execution.run.has_ended:
                return
            task, updates, closes = live.end_updates(outcome)
            before = msgspec.structs.replace(task, seq=live.event_log.seq + len(updates))
            in_status = execution.runtime is not None and execution.runtime.target.answer_in_status
            after = ended(before, outcome, self._clock(), self._new_id, answer_in_status=in_status)
            await self._store.save(after, expect=live.saved_seq)
            live.mark_recorded(after, [*updates, StatusUpdate(seq=after.seq, status=after.status, closes=closes)])
            execution.end(after)

    async def taken_over(self, task: Task, attempt: int) -> Task:
        """Keep that another attempt at a run begins; the task as it is then. Raises: Conflict."""
        after = resumed(task, attempt)
        await self._store.save(after, expect=task.seq)
        return after

    async def orphan(self, task: Task, how: Error | Cancelled, *, answer_id: str | None = None) -> Task:
        """End a task that no process continues, its answer cut off; the task as it is then. Raises: Conflict."""
        after = ended(cut_off(task, answer_id), how, self._clock(), self._new_id)
        await self._store.save(after, expect=task.seq)
        return after


async def finish_write(writing: Coroutine[None, None, None]) -> None:
    """Let a write finish even if the run around it is stopped: otherwise it would be unknown what was kept."""
    task = asyncio.ensure_future(writing)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        if not task.cancelled() and task.exception() is not None:
            logger.warning("a write failed while its run was being stopped", exc_info=task.exception())
        raise
