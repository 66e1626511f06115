"""The webhooks of tasks: which there are, and one running delivery for each.

A webhook is a subscription by other means: it is sent the task first and then what changes, whether it came with a
message or was set later. So it misses nothing that happened before it was set, and each webhook is sent something.

Rules:
1. Stored before anything is sent: a registered webhook survives a restart, and is sent then what it missed.
2. What concerns the webhooks of one task happens one after the other.
3. A delivery that breaks is logged, and harms neither the others nor the edge.
"""

import asyncio
import logging
from collections.abc import Sequence
from functools import partial
from types import TracebackType
from typing import Self
from weakref import WeakValueDictionary

import msgspec

from llamon_agent.domain.errors import BadParams, TaskNotFound
from llamon_agent.domain.task import PushConfig, Task, TaskPushConfig
from llamon_agent.inbound.a2a.dialects import dialect_of
from llamon_agent.inbound.a2a.push.delivery import Delivery, Pause
from llamon_agent.inbound.a2a.push.guard import AddressGuard
from llamon_agent.inbound.a2a.push.sender import Sender
from llamon_agent.inbound.a2a.push.webhook_url import check_config
from llamon_agent.runs.ports.run import NewId
from llamon_agent.runs.ports.store import PushStore
from llamon_agent.runs.service import RunService
from llamon_agent.runs.subscription import Subscription
from llamon_agent.wire.v03.codec import V03

logger = logging.getLogger(__name__)

_NAMELESS = "default"
"""By which some 0.x clients ask for the webhook that was set without an id."""

_LOOK_UPS_AT_ONCE = 4
"""How many tasks are looked up at once to see what their webhooks missed: at a start there may be very many."""

_LEAVE_S = 0.5
"""How long a leaving process lets requests to webhooks finish."""


class Webhooks:
    """The webhooks of all tasks of this edge. Use as an async context manager around the run service's, so that what
    happens to runs when that is left can still be sent.

    Units: max_per_task counts the webhooks that a task may have.
    """

    def __init__(
        self,
        runs: RunService,
        store: PushStore,
        *,
        new_id: NewId,
        guard: AddressGuard,
        sender: Sender,
        max_per_task: int = 10,
        pause: Pause = asyncio.sleep,
    ) -> None:
        self._runs = runs
        self._store = store
        self._new_id = new_id
        self._guard = guard
        self._sender = sender
        self._max_per_task = max_per_task
        self._pause = pause
        self._look_ups = asyncio.Semaphore(_LOOK_UPS_AT_ONCE)
        self._deliveries: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._changing: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._deliveries:
            await asyncio.wait(self._deliveries.values(), timeout=_LEAVE_S)
        await _stop(list(self._deliveries.values()))
        await self._sender.aclose()

    async def catch_up(self) -> None:
        """Send what an earlier process did not, once its runs have been taken over. Raises: BackendError."""
        for push in await self._store.undelivered():
            self._start(push, None)

    def check(self, config: PushConfig) -> None:
        """Refuse a webhook that could not be kept, before anything is begun. Raises: BadParams."""
        self._guard.check(check_config(config))

    async def register(self, task: Task, config: PushConfig) -> PushConfig:
        """Keep a webhook, in the place of one with its id, and start its delivery; as it is kept.

        Raises: BadParams; TaskNotFound; BackendError.
        """
        self.check(config)
        # First of all, so that nothing is lost of a run that has just begun.
        subscription = await self._runs.subscribe(task.owner, task.agent, task.id, after_seq=None, ended_ok=True)
        has_ended = subscription.task.is_terminal
        try:
            async with self._lock(task.id):
                config = await self._named(task, config)
                push = TaskPushConfig(owner=task.owner, agent=task.agent, task_id=task.id, config=config)
                await self._store.put_push(push)
                await self._end(task.id, config.id)
                self._start(push, None if has_ended else subscription)
        except BaseException:
            subscription.close()
            raise
        if has_ended:
            subscription.close()
        return config

    async def get(self, owner: str, agent: str, task_id: str, config_id: str | None) -> PushConfig:
        """A webhook of a task; config_id None is the one that was set without an id, or else the first.

        Raises: TaskNotFound, also where there is no such webhook (A2A 1.0 §3.1.8); BackendError.
        """
        configs = await self.list(owner, agent, task_id)
        by_id = {config.id: config for config in configs}
        nameless = by_id.get(task_id) if config_id in (None, _NAMELESS) else None  # 0.x names it so, see _id_for
        found = [one for one in (by_id.get(config_id or ""), nameless) if one] or (configs if config_id is None else ())
        if not found:
            raise TaskNotFound("The task has no such push notification configuration.")
        return found[0]

    async def list(self, owner: str, agent: str, task_id: str) -> tuple[PushConfig, ...]:
        """The webhooks of a task, by id. Raises: TaskNotFound; BackendError."""
        await self._runs.get(owner, agent, task_id)
        return tuple(push.config for push in await self._store.list_push(owner, agent, task_id))

    async def delete(self, owner: str, agent: str, task_id: str, config_id: str) -> None:
        """Delete a webhook, and send it nothing more. Raises: TaskNotFound; BackendError."""
        await self._runs.get(owner, agent, task_id)
        async with self._lock(task_id):
            await self._store.delete_push(owner, agent, task_id, config_id)
            await self._end(task_id, config_id)

    async def _named(self, task: Task, config: PushConfig) -> PushConfig:
        """The configuration with an id, if the task may have it. Raises: BadParams; BackendError."""
        kept = [push.config for push in await self._store.list_push(task.owner, task.agent, task.id)]
        config_id = config.id or self._id_for(task, config, kept)
        if len(kept) >= self._max_per_task and all(one.id != config_id for one in kept):
            raise BadParams(
                f"A task has at most {self._max_per_task} push notification configurations; delete one first."
            )
        return msgspec.structs.replace(config, id=config_id)

    def _id_for(self, task: Task, config: PushConfig, kept: Sequence[PushConfig]) -> str:
        """An id for a webhook that has none.

        In 0.x it is the task's, as clients know how to get that one. In 1.0 it is a new one, but a webhook that comes
        with every message of a conversation stays one webhook.
        """
        if config.version == V03.version:
            return task.id
        same = [one.id for one in kept if (one.url, one.version) == (config.url, config.version)]
        return same[0] if same else self._new_id()

    def _start(self, push: TaskPushConfig, subscription: Subscription | None) -> None:
        delivery = Delivery(
            push,
            dialect_of(push.config.version),
            runs=self._runs,
            store=self._store,
            post=self._sender.post,
            pause=self._pause,
            look_ups=self._look_ups,
        )
        key = (push.task_id, push.config.id)
        self._deliveries[key] = asyncio.create_task(delivery.run(subscription))
        self._deliveries[key].add_done_callback(partial(self._left, key, subscription))

    def _left(self, key: tuple[str, str], subscription: Subscription | None, delivery: asyncio.Task[None]) -> None:
        if subscription is not None:
            subscription.close()  # a delivery that was stopped before it began has not
        if self._deliveries.get(key) is delivery:
            del self._deliveries[key]
        if not delivery.cancelled() and (error := delivery.exception()):
            logger.error("task %s: the delivery to a webhook broke", key[0], exc_info=error, extra={"task_id": key[0]})

    async def _end(self, task_id: str, config_id: str) -> None:
        if (delivery := self._deliveries.get((task_id, config_id))) is not None:
            await _stop([delivery])

    def _lock(self, task_id: str) -> asyncio.Lock:
        return self._changing.setdefault(task_id, asyncio.Lock())


async def _stop(deliveries: Sequence[asyncio.Task[None]]) -> None:
    for delivery in deliveries:
        delivery.cancel()
    if deliveries:
        await asyncio.wait(deliveries)
