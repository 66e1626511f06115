"""What is written down of a task, and told only then.

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
from llamon_agent.runs.run import Run

logger = logging.getLogger(__name__)


class Recorder:
    """The one place that writes tasks to the store. Raises: BackendError, and then nothing was told."""

    def __init__(self, store: TaskStore, *, clock: Clock, new_id: NewId) -> None:
        self._store = store
        self._clock = clock
        self._new_id = new_id

    async def create(self, live: LiveTask, turn: Turn | None, *, key: IdempotencyKey | None = None) -> None:
        """Keep a new task, once, and hold its run. Raises: KeyTaken."""
        async with live.writing:
            if not live.saved_seq:
                await self._store.create(live.task, turn=turn, key=key)
                live.saved_seq = live.task.seq

    async def open(self, run: Run) -> None:
        """Keep the task of a run that is opening, then let its submission return.

        It is tried once: where it fails the submission is refused, as it is for every other message.
        """
        try:
            await self.create(run.live, run.turn)
        except BackendError as exc:
            run.refuse(exc)
            raise
        run.open()

    async def state(
        self, live: LiveTask, task: Task, *, turn: Turn | None = None, key: IdempotencyKey | None = None
    ) -> None:
        """Keep a new state, then tell it; a turn begins a run, which is held from then on.

        Raises: Conflict: somebody else has changed the record; KeyTaken.
        """
        async with live.writing:
            await self._store.save(task, expect=live.saved_seq, turn=turn, key=key)
            live.recorded(task, [StatusUpdate(seq=task.seq, status=task.status)])

    async def working(self, live: LiveTask) -> None:
        """A task that waited works now."""
        status = TaskStatus(state=TaskState.WORKING, at_ms=self._clock())
        await self.state(live, msgspec.structs.replace(live.task, status=status, seq=live.broadcast.seq + 1))

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

    async def end(self, run: Run, outcome: Outcome) -> None:
        """Keep how the run ended, then tell it; once, whoever comes first."""
        live = run.live
        async with live.writing:
            if run.has_ended:
                return
            task, closing = live.closing(outcome)
            before = msgspec.structs.replace(task, seq=live.broadcast.seq + len(closing))
            after = ended(before, outcome, self._clock(), self._new_id)
            await self._store.save(after, expect=live.saved_seq)
            live.recorded(after, [*closing, StatusUpdate(seq=after.seq, status=after.status)])
            run.end(after)

    async def taken_over(self, task: Task, attempt: int) -> Task:
        """Keep that another attempt at a run begins; the task as it is then. Raises: Conflict."""
        after = resumed(task, attempt)
        await self._store.save(after, expect=task.seq)
        return after

    async def orphan(self, task: Task, how: Error | Cancelled, *, answer_id: str | None = None) -> Task:
        """End a task that nobody goes on with, its answer cut off; the task as it is then. Raises: Conflict."""
        after = ended(cut_off(task, answer_id), how, self._clock(), self._new_id)
        await self._store.save(after, expect=task.seq)
        return after


async def to_its_end(writing: Coroutine[None, None, None]) -> None:
    """Let a write run to its end even if the run around it is stopped: else nobody would know what is kept."""
    task = asyncio.ensure_future(writing)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        if not task.cancelled() and task.exception() is not None:
            logger.warning("a write failed while its run was being stopped", exc_info=task.exception())
        raise
