"""Shared by the tests of the run service: a service in memory, requests to it, and what is heard of it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from llamon_agent.domain.caller import Caller
from llamon_agent.domain.errors import BackendError
from llamon_agent.domain.events import Interrupt, Snapshot, StatusUpdate, Update
from llamon_agent.domain.message import Message, Role, Text
from llamon_agent.domain.task import Artifact, Task, TaskState, answer_text
from llamon_agent.runs.ports.agent import Agent, Turn
from llamon_agent.runs.ports.run import Limits, RunRequest, Runtime, Target
from llamon_agent.runs.ports.store import IdempotencyKey, Store
from llamon_agent.runs.service import RunService
from llamon_agent.runs.subscription import Subscription
from llamon_agent.store.memory import MemoryTaskStore
from llamon_agent.testing.scripted import Gate, HandClock, counting_ids

ASK = Interrupt(text="Sure?", questions=())


def request(
    text: str = "hi",
    *,
    task: str | None = None,
    context: str | None = None,
    caller: Caller = Caller(),
    key: str | None = None,
) -> RunRequest:
    message = Message(message_id="m", role=Role.USER, parts=(Text.of(text),))
    return RunRequest(
        caller=caller,
        agent="demo",
        message=message,
        prompt=text,
        task_id=task,
        context_id=context,
        key=None if key is None else (key, text),
    )


@asynccontextmanager
async def serving(
    agent: Agent,
    store: Store | None = None,
    *,
    timeout_s: float = 60,
    limits: Limits | None = None,
    target: Target = Target(name="demo", adapter="scripted", target=""),
    direct_messages: bool = False,
    clock: HandClock | None = None,
    ids: str = "id",
) -> AsyncIterator[RunService]:
    target = msgspec.structs.replace(target, timeout_s=timeout_s, direct_messages=direct_messages)
    service = RunService(
        store or MemoryTaskStore(),
        {"demo": Runtime(target, agent)},
        clock=clock or HandClock(),
        new_id=counting_ids(ids),
        limits=limits or Limits(cancel_grace_s=5),
    )
    async with asyncio.timeout(10), service:
        yield service


async def ask(service: RunService, text: str = "hi", **names: Any) -> Task:
    return await (await service.submit_run(request(text, **names))).wait_settled(5)


async def heard(subscription: Subscription) -> list[Snapshot | Update]:
    return [event async for batch in subscription for event in batch]


def rebuilt(events: list[Snapshot | Update]) -> Task:
    """The task as a host rebuilds it from a stream."""
    assert isinstance(events[0], Snapshot)
    texts = {artifact.artifact_id: answer_text([artifact]) for artifact in events[0].task.artifacts}
    status = events[0].task.status
    for event in events[1:]:
        assert not isinstance(event, Snapshot)
        if isinstance(event, StatusUpdate):
            status = event.status
        else:
            text = "".join(part.text for part in event.parts if isinstance(part, Text))
            texts[event.artifact_id] = texts.get(event.artifact_id, "") + text if event.append else text
    artifacts = tuple(Artifact(artifact_id=name, parts=(Text.of(text),)) for name, text in texts.items())
    return Task(
        **{**{f: getattr(events[0].task, f) for f in Task.__struct_fields__}, "artifacts": artifacts, "status": status}
    )


def status_text(task: Task) -> str:
    assert task.status.message is not None
    part = task.status.message.parts[0]
    assert isinstance(part, Text)
    return part.text


async def paused(service: RunService, context: str = "c1", caller: Caller = Caller()) -> Task:
    task = await ask(service, "do it", context=context, caller=caller)
    assert task.status.state is TaskState.INPUT_REQUIRED
    return task


class FlakyStore(MemoryTaskStore):
    """A store that is away whenever `away` says so."""

    def __init__(self) -> None:
        super().__init__()
        self.away = False
        self.refused = 0
        self.refused_often = asyncio.Event()
        self.creating: Gate | None = None
        self.saving: Gate | None = None

    async def create(self, task: Task, *, turn: Turn | None = None, key: IdempotencyKey | None = None) -> None:
        if self.creating is not None:
            await self.creating.wait()
        if self.away:
            raise BackendError
        await super().create(task, turn=turn, key=key)

    async def save(
        self, task: Task, *, expect: int, turn: Turn | None = None, key: IdempotencyKey | None = None
    ) -> None:
        if self.saving is not None:
            await self.saving.wait()
        if self.away:
            self.refused += 1
            if self.refused == 3:
                self.refused_often.set()
            raise BackendError
        await super().save(task, expect=expect, turn=turn, key=key)
