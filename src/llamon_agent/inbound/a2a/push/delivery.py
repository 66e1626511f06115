"""One webhook of one task: follows the task as a subscriber does, and posts what happens until the task has ended.

Rules:
1. In order, one request at a time. An event that is not taken is tried again for a while, and then given up.
2. After an event that was given up, the webhook is sent the task as it is by then, which holds all that it missed.
3. A task is followed, never held up: what a slow receiver was not sent yet waits in the task's own log.
4. What was taken or given up is written down when the task has paused or ended; the next process sends the rest. In
   between, events have numbers that are not recorded: after a crash others get the same.
5. What waits takes no memory: a body is written when there is room to send it, and a task that has ended is read then.
6. A webhook is sent the task first, then every state, and every artifact once it is whole. Growing text is not sent in
   pieces: one means nothing to a receiver that missed the one before, and each costs a request.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from llamon_agent.domain.errors import BackendError, TaskNotFound
from llamon_agent.domain.events import ArtifactUpdate, Snapshot, StatusUpdate, Update
from llamon_agent.domain.task import Artifact, Task, TaskPushConfig
from llamon_agent.inbound.a2a.bindings.streaming import Artifacts, present, with_closed
from llamon_agent.inbound.a2a.push.sender import Accepted, Declined, PostResult, TryLater
from llamon_agent.inbound.a2a.push.webhook_url import read_webhook_url
from llamon_agent.runs.ports.store import PushStore
from llamon_agent.runs.service import RunService
from llamon_agent.runs.subscription import Subscription
from llamon_agent.wire.operations import Dialect

Event = Snapshot | Update


class PushEvent(msgspec.Struct, frozen=True):
    """One event to post.

    Shape: seq is up to where the webhook knows the task once it has taken this: no further than what came before,
           where something of the same seq follows.
    """

    event: Event
    seq: int


def push_events(batch: Sequence[Event], sent_seq: int) -> list[PushEvent]:
    """What to post of the events at hand to a webhook that has everything up to `sent_seq`."""
    whole = [each for event in batch for each in with_closed(event, Artifacts.SINGLE)]
    shown = [event for event in map(_shown, whole) if event is not None and event.seq > sent_seq]
    later = {event.seq: event for event in shown}  # the last one of each seq
    return [PushEvent(event, event.seq - (later[event.seq] is not event)) for event in shown]


def task_after(task: Task, event: Event) -> Task:
    """The task as it was after an event, as far as the event shows."""
    match event:
        case Snapshot():
            return event.task
        case StatusUpdate():
            return msgspec.structs.replace(task, status=event.status, seq=event.seq)
        case ArtifactUpdate(withdrawn=True):
            rest = tuple(each for each in task.artifacts if each.artifact_id != event.artifact_id)
            return msgspec.structs.replace(task, artifacts=rest, seq=event.seq)
        case ArtifactUpdate():
            whole = event.whole or Artifact(artifact_id=event.artifact_id, parts=event.parts)
            kept = {artifact.artifact_id: artifact for artifact in task.artifacts} | {whole.artifact_id: whole}
            return msgspec.structs.replace(task, artifacts=tuple(kept.values()), seq=event.seq)


def is_needed(event: Event, known: Task | None) -> bool:
    """Whether a webhook that knows the task as `known` needs the event: it needs no withdrawal of what it never had."""
    if not isinstance(event, ArtifactUpdate) or not event.withdrawn:
        return True
    return known is not None and any(each.artifact_id == event.artifact_id for each in known.artifacts)


def _shown(event: Event) -> Event | None:
    if not isinstance(event, ArtifactUpdate):
        return event
    return present(event, Artifacts.SINGLE, seen={event.artifact_id})


logger = logging.getLogger(__name__)

PAUSES_S = (1.0, 3.0, 10.0, 30.0, 60.0)
"""How long to wait between the attempts to post one event."""

Write = Callable[[], Awaitable[bytes]]
"""Writes a body. Raises: TaskNotFound; BackendError."""

Post = Callable[[TaskPushConfig, str, Write], Awaitable[PostResult]]
"""Posts to a webhook, once: which one, the body's media type, what writes the body."""

Pause = Callable[[float], Awaitable[None]]


class Delivery:
    """Posts what happens to a task to one webhook, in the shape of the version that registered it."""

    def __init__(
        self,
        push: TaskPushConfig,
        dialect: Dialect,
        *,
        runs: RunService,
        store: PushStore,
        post: Post,
        pause: Pause = asyncio.sleep,
        look_ups: asyncio.Semaphore | None = None,
    ) -> None:
        self._push = push
        self._dialect = dialect
        self._runs = runs
        self._store = store
        self._post = post
        self._pause = pause
        self._look_ups = look_ups or asyncio.Semaphore()
        self._sent_seq = push.told_seq
        self._missed = False  # whether an event was given up that nothing has made good for yet
        self._task: Task | None = None  # as it was after the last event that was posted

    async def run(self, subscription: Subscription | None = None) -> None:
        """Post until the task has ended, or its service has.

        Shape: without a subscription, from what the webhook was sent last; `look_ups` limits how many look that up at
               once.
        """
        try:
            if subscription is not None:
                await self._follow(subscription)
            elif (seq := await self._ended_at()) is None:
                await self._follow(await self._subscribe())
            elif seq > self._sent_seq:
                await self._post_event(self._write_now, seq, is_recorded=True)
        except BackendError:
            self._warn("the store is away: no more notifications until a restart")
        except TaskNotFound:
            self._warn("the task is deleted: no more notifications")

    async def _ended_at(self) -> int | None:
        """The seq of the task if it has ended. The task itself is not held: it may have to wait for long."""
        async with self._look_ups:
            now = await self._now()
        return now.seq if now.is_terminal else None

    async def _subscribe(self) -> Subscription:
        push = self._push
        async with self._look_ups:
            return await self._runs.subscribe(
                push.owner, push.agent, push.task_id, after_seq=push.told_seq or None, ended_ok=True
            )

    async def _follow(self, subscription: Subscription) -> None:
        self._task = subscription.task
        try:
            async for batch in subscription:
                await self._post_batch(batch)
        finally:
            subscription.close()

    async def _post_batch(self, batch: Sequence[Event]) -> None:
        for push_event in push_events(batch, self._sent_seq):
            if self._missed:
                now = await self._now()
                await self._deliver(PushEvent(Snapshot(task=now), now.seq))
                return  # the batch is older than that
            await self._deliver(push_event)

    async def _deliver(self, push_event: PushEvent) -> None:
        """Post it, or give it up."""
        event, task = push_event.event, await self._task_at(push_event.event)
        known, self._task = self._task, task
        if not is_needed(event, known) or self._dialect.write_notification(event, task=task) is None:
            self._sent_seq = max(self._sent_seq, push_event.seq)
            return

        async def write() -> bytes:
            return self._dialect.write_notification(event, task=task) or b""

        await self._post_event(write, push_event.seq, is_recorded=task.is_settled)

    async def _post_event(self, write: Write, seq: int, *, is_recorded: bool) -> None:
        self._missed = not await self._is_accepted(write)
        if is_recorded:
            await self._write_down(seq)
        self._sent_seq = max(self._sent_seq, seq)

    async def _write_now(self) -> bytes:
        now = await self._now()
        return self._dialect.write_notification(Snapshot(task=now), task=now) or b""

    async def _task_at(self, event: Event) -> Task:
        """The task as it was when the event had happened: whole where nothing has happened to it since.

        An artifact is never the last event of a task that has paused or ended: the status of the same seq follows.
        """
        now = event.task if isinstance(event, Snapshot) else await self._now()
        status_follows = now.is_settled and isinstance(event, ArtifactUpdate)
        return now if now.seq == event.seq and not status_follows else task_after(self._task or now, event)

    async def _now(self) -> Task:
        return await self._runs.get(self._push.owner, self._push.agent, self._push.task_id)

    async def _is_accepted(self, write: Write) -> bool:
        pauses_s = iter(PAUSES_S)
        while True:
            outcome = await self._post(self._push, self._dialect.notification_type, write)
            match outcome, next(pauses_s, None):
                case Accepted(), _:
                    return True
                case TryLater(after_s=after_s), float(pause_s):
                    await self._pause(max(pause_s, after_s))
                case ((TryLater(why=why) | Declined(why=why)), _):
                    self._warn(f"a notification was not delivered ({why})")
                    return False

    async def _write_down(self, seq: int) -> None:
        try:
            await self._store.mark_delivered(self._push.task_id, self._push.config.id, seq)
        except BackendError:
            self._warn("that a notification was delivered could not be recorded: it may be sent again")

    def _warn(self, what: str) -> None:
        """Shape: a webhook is named by its host: the rest of its URL may hold secrets."""
        push = self._push
        ids = {"task_id": push.task_id, "agent": push.agent}
        logger.warning(
            "task %s, webhook at %s: %s", push.task_id, read_webhook_url(push.config.url).host, what, extra=ids
        )
