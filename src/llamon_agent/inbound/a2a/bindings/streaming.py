"""A reply that is a stream: a task's updates become values in the caller's dialect, and with SSE chunks of frames.

Rules:
1. A batch is one chunk: several events at hand cost one write.
2. Pings come from a task of their own; reading is never interrupted for one, so that none costs an event.
3. Leaving, for whatever reason, ends the subscription and nothing else.
4. An error after the first event is the stream's last frame.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Container, Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol, Self

import msgspec

from llamon_agent.domain.events import ArtifactUpdate, Snapshot, StatusUpdate, Update
from llamon_agent.domain.message import Message
from llamon_agent.domain.task import trim_history
from llamon_agent.inbound.a2a.faults import FaultReply, fault_reply
from llamon_agent.runs.subscription import Subscription
from llamon_agent.wire.operations import Dialect
from llamon_agent.wire.sse import CUT_OFF, PING, write_frame

logger = logging.getLogger(__name__)

PING_S = 15.0
"""How long a stream may be quiet: well under the 30 seconds after which some proxies close it."""

_ADK_MARKS = frozenset({"is_user_input", "adk_session_id"})

Write = Callable[[bytes], Awaitable[None]]
"""Sends a chunk; waits where the reader is slow."""


class Artifacts(StrEnum):
    """How an answer's artifacts are sent on a stream: as they grow, or in the way that a certain host needs.

    Google ADK keeps only the last artifact event that is not partial; a host without any use for deltas wants none.
    Snapshots are the same in every mode: each artifact whole.

    Shape: append: chunks, the last one marked where it is known as such. whole_last: chunks, and the whole artifact as
           the last one. single: only the whole artifact. auto: whole-last for hosts that are known to need it, append
           for all others.
    """

    APPEND = "append"
    WHOLE_LAST = "whole-last"
    SINGLE = "single"
    AUTO = "auto"


def decide_mode(mode: Artifacts, dialect: Dialect, messages: Iterable[Message]) -> Artifacts:
    """The mode of one stream, `auto` resolved by its dialect and by what its host has sent.

    Shape: messages are all of the task: ADK for Python does not mark its user's answers to a question.
    """
    if mode is not Artifacts.AUTO:
        return mode
    if dialect.readers_replace:
        return Artifacts.WHOLE_LAST
    return Artifacts.WHOLE_LAST if any(map(_is_from_adk, messages)) else Artifacts.APPEND


def present(update: ArtifactUpdate, mode: Artifacts, seen: Container[str] = ()) -> ArtifactUpdate | None:
    """The update as this stream sends it; None: not at all.

    Shape: seen are the artifacts that a snapshot has shown. A reader without chunks knows no others, so only those can
           be withdrawn for it.
    """
    if mode is Artifacts.APPEND:
        return update
    if mode is Artifacts.SINGLE and update.withdrawn and update.artifact_id not in seen:
        return None
    if update.last and update.whole is not None:
        return msgspec.structs.replace(update, parts=update.whole.parts, append=False)
    return None if mode is Artifacts.SINGLE else update


def with_closed(event: Snapshot | Update, mode: Artifacts) -> tuple[Snapshot | Update, ...]:
    """The event, after the artifacts that it closes where this stream sends these whole; they share its seq."""
    if mode is Artifacts.APPEND or not isinstance(event, StatusUpdate):
        return (event,)
    return (*[ArtifactUpdate.of_whole(each, event.seq, last=True) for each in event.closes], event)


def _is_from_adk(message: Message) -> bool:
    """ADK for Python marks the parts of its user's messages, ADK for JavaScript the messages, with its session."""
    marked = [message.metadata, *(part.metadata for part in message.parts)]
    return any(not _ADK_MARKS.isdisjoint(metadata or ()) for metadata in marked)


class StreamOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What one caller wants of its stream."""

    dialect: Dialect
    artifacts: Artifacts = Artifacts.APPEND
    history_length: int | None = None


class SentEvent(NamedTuple):
    """One event of a stream: a JSON value in the caller's dialect. Shape: seq None is an event without an id."""

    seq: int | None
    body: bytes


class Stream:
    """A task's events for one caller: an async iterator of batches, the last of which is a FaultReply if it broke.

    Shape: extensions are the URIs that were activated. Its owner reads a stream to its end or calls `close`.
    """

    def __init__(self, subscription: Subscription, options: StreamOptions, extensions: tuple[str, ...] = ()) -> None:
        self.extensions = extensions
        self._subscription = subscription
        self._options = options
        self._seen: set[str] = set()  # the artifacts that a snapshot has shown
        self._broke = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Sequence[SentEvent] | FaultReply:
        """The next events. Part of the endpoint, hence `except Exception`."""
        try:
            async for batch in self._subscription:
                if events := self._select(batch):
                    return events
        except Exception as exc:
            self._broke = True
            self.close()
            failure = fault_reply(exc, self._options.dialect)
            if failure.fault.is_ours:
                task = self._subscription.task
                logger.exception("task %s: a stream broke", task.id, extra=task.log_ids)
            return failure
        raise StopAsyncIteration

    @property
    def is_cut_off(self) -> bool:
        """Whether it has ended before its last event, and nothing has broken."""
        return not self._broke and self._subscription.is_cut_off

    def close(self) -> None:
        """Stop following the task; its run goes on."""
        self._subscription.close()

    def _select(self, batch: list[Snapshot | Update]) -> list[SentEvent]:
        """What this stream sends of a batch.

        Of events that share a seq only the last one bears it as its id, so that a reader which names an id when it
        comes back has seen all there is of it.
        """
        events: list[SentEvent] = []
        batch = [each for event in batch for each in with_closed(event, self._options.artifacts)]
        for event, after in zip(batch, [*batch[1:], None], strict=True):
            body = self._write(event)
            if body is not None:
                shared = after is not None and not isinstance(after, Snapshot) and after.seq == event.seq
                events.append(SentEvent(None if shared else event.seq, body))
        return events

    def _write(self, event: Snapshot | Update) -> bytes | None:
        """An event in the caller's dialect; None where this stream leaves it out."""
        task, write_event = self._subscription.task, self._options.dialect.write_event
        if isinstance(event, ArtifactUpdate):
            shown = present(event, self._options.artifacts, self._seen)
            return None if shown is None else write_event(shown, task=task, final=False)
        final = self._subscription.is_last(event)
        if isinstance(event, Snapshot):
            self._seen |= {artifact.artifact_id for artifact in event.task.artifacts}
            event = Snapshot(task=trim_history(event.task, self._options.history_length))
        return write_event(event, task=task, final=final)


class OneEventStream:
    """A stream of one event, then the end: what an agent answered with a message (A2A 1.0 §3.1.2), or the refusal of a
    call whose callers read errors from streams only.
    """

    is_cut_off = False

    def __init__(self, event: SentEvent | FaultReply, extensions: tuple[str, ...] = ()) -> None:
        self.extensions = extensions
        self._events: list[Sequence[SentEvent] | FaultReply] = [[event] if isinstance(event, SentEvent) else event]

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Sequence[SentEvent] | FaultReply:
        if not self._events:
            raise StopAsyncIteration
        return self._events.pop()

    def close(self) -> None:
        """Nothing of it is sent any more."""
        self._events.clear()


class Envelope(Protocol):
    """What a transport puts around each event of a stream of SSE.

    Shape: `around` stands before and after an event's value; `write_fault` is the whole of a last event that says
           what broke, and `error_event` the name of such an event, empty where it has none.
    """

    @property
    def around(self) -> tuple[bytes, bytes]: ...

    @property
    def error_event(self) -> bytes: ...

    def write_fault(self, failure: FaultReply) -> bytes: ...


class Frames:
    """A stream as server-sent events; its owner calls `deliver` or `close`.

    Units: ping_s is how long the stream may be quiet.
    """

    def __init__(self, stream: Stream | OneEventStream, envelope: Envelope, *, ping_s: float) -> None:
        self._stream = stream
        self._envelope = envelope
        self._around = envelope.around
        self._ping_s = ping_s
        self._sent = 0
        self._writing = False

    async def deliver(self, write: Write) -> None:
        """Send all of it, then return. Cancelling it is hanging up; what `write` raises comes out in a group."""
        ping_lock = asyncio.Lock()
        try:
            async with asyncio.TaskGroup() as group:
                pings = group.create_task(self._ping(write, ping_lock))
                async for batch in self._stream:
                    self._writing = True  # from here no ping begins; one that has begun is waited for
                    if ping_lock.locked():
                        async with ping_lock:
                            pass
                    await write(self._chunk(batch))
                    self._writing = False
                    self._sent += 1
                pings.cancel()
            if self._stream.is_cut_off:
                await write(CUT_OFF)
        finally:
            self.close()

    def close(self) -> None:
        """Stop following the task; its run goes on."""
        self._stream.close()

    async def _ping(self, write: Write, ping_lock: asyncio.Lock) -> None:
        """Send a comment whenever an interval has passed in which nothing was sent."""
        while True:
            sent = self._sent
            await asyncio.sleep(self._ping_s)
            if sent == self._sent and not self._writing:
                async with ping_lock:
                    await write(PING)

    def _chunk(self, batch: Sequence[SentEvent] | FaultReply) -> bytes:
        """A batch's frames, joined."""
        if isinstance(batch, FaultReply):
            return write_frame(None, self._envelope.write_fault(batch), name=self._envelope.error_event)
        before, after = self._around
        return b"".join([write_frame(seq, before, body, after) for seq, body in batch])
