"""One answer that is a stream: a subscription's batches become chunks of SSE frames, with a ping while it is quiet.

Rules:
1. A batch is one chunk: several events at hand cost one write.
2. Pings come from a task of their own; reading is never interrupted for one, so that none costs an event.
3. Leaving, for whatever reason, ends the subscription and nothing else.
4. What goes wrong after the first event is told as the stream's last frame, an error response.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

import msgspec

from llamon_agent.domain.events import ArtifactUpdate, Snapshot, Update
from llamon_agent.inbound.a2a.faults import INTERNAL, fault_of, write_fault
from llamon_agent.inbound.a2a.jsonrpc import result_around
from llamon_agent.inbound.a2a.operations import Dialect
from llamon_agent.inbound.a2a.presentation import Artifacts, present, trim_history
from llamon_agent.inbound.a2a.sse import PING, write_frame
from llamon_agent.runs.subscription import Subscription

logger = logging.getLogger(__name__)

Write = Callable[[bytes], Awaitable[None]]
"""Sends a chunk; waits where the reader is slow."""


class Telling(msgspec.Struct, frozen=True, kw_only=True):
    """How one caller wants its stream told."""

    call_id: bytes
    dialect: Dialect
    artifacts: Artifacts = Artifacts.APPEND
    history_length: int | None = None


class Frames:
    """A stream that is ready to be sent. Whoever holds it calls `deliver` or `close`."""

    def __init__(self, subscription: Subscription, telling: Telling, *, ping_s: float) -> None:
        self._subscription = subscription
        self._telling = telling
        self._around = result_around(telling.call_id)
        self._ping_s = ping_s
        self._told = 0
        self._writing = False

    async def deliver(self, write: Write) -> None:
        """Send all of it, then return. Cancelling it is hanging up; what `write` raises comes out in a group."""
        ping_lock = asyncio.Lock()
        try:
            async with asyncio.TaskGroup() as group:
                pings = group.create_task(self._ping(write, ping_lock))
                while chunk := await self._next_chunk():
                    self._writing = True  # from here no ping begins; one that has begun is waited for
                    if ping_lock.locked():
                        async with ping_lock:
                            pass
                    await write(chunk)
                    self._writing = False
                    self._told += 1
                pings.cancel()
        finally:
            self.close()

    def close(self) -> None:
        """Stop following the task; its run goes on."""
        self._subscription.close()

    async def _ping(self, write: Write, ping_lock: asyncio.Lock) -> None:
        """Send a comment whenever an interval has passed in which nothing was sent."""
        while True:
            told = self._told
            await asyncio.sleep(self._ping_s)
            if told == self._told and not self._writing:
                async with ping_lock:
                    await write(PING)

    async def _next_chunk(self) -> bytes:
        """The next frames, empty at the end. Part of the endpoint, hence `except Exception`."""
        try:
            async for batch in self._subscription:
                if chunk := self._write_frames(batch):
                    return chunk
        except Exception as exc:
            self.close()
            if fault_of(exc) is INTERNAL:
                task = self._subscription.task
                logger.exception("task %s: a stream broke", task.id, extra=task.log_ids)
            return write_frame(None, write_fault(self._telling.call_id, exc, self._telling.dialect))
        return b""

    def _write_frames(self, batch: list[Snapshot | Update]) -> bytes:
        """A batch's frames, joined."""
        return b"".join(
            [self._write_frame(event, after) for event, after in zip(batch, [*batch[1:], None], strict=True)]
        )

    def _write_frame(self, event: Snapshot | Update, after: Snapshot | Update | None) -> bytes:
        """An event's frame, empty where this stream does not tell it.

        Of events that share a seq only the last one bears it as its id, so that a reader which names an id when it
        comes back has seen all there is of it.
        """
        result = self._write_event(event)
        if result is None:
            return b""
        seq: int | None = event.task.seq if isinstance(event, Snapshot) else event.seq
        if after is not None and not isinstance(after, Snapshot) and after.seq == seq:
            seq = None
        return write_frame(seq, self._around[0], result, self._around[1])

    def _write_event(self, event: Snapshot | Update) -> bytes | None:
        """An event in the caller's dialect; None where this stream does not tell it."""
        task, write_event = self._subscription.task, self._telling.dialect.write_event
        if isinstance(event, ArtifactUpdate):
            shown = present(event, self._telling.artifacts)
            return None if shown is None else write_event(shown, task=task, final=False)
        final = self._subscription.is_last(event)
        if isinstance(event, Snapshot):
            event = Snapshot(task=trim_history(event.task, self._telling.history_length))
        return write_event(event, task=task, final=final)
