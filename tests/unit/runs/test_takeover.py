import asyncio
from collections.abc import AsyncIterator, Collection

import msgspec
import pytest
from tests.unit.runs.living import task_of, turn_of
from tests.unit.runs.serving import request, serving, status_text

from llamon_agent.domain.errors import BackendError, Conflict
from llamon_agent.domain.events import Complete
from llamon_agent.domain.task import Task, TaskState
from llamon_agent.runs.ports.run import Limits
from llamon_agent.runs.ports.store import Abandoned
from llamon_agent.runs.service import RunService
from llamon_agent.runs.takeover import LOST
from llamon_agent.store.memory import MemoryTaskStore
from llamon_agent.testing.scripted import Gate, ScriptedAgent


class Left(MemoryTaskStore):
    """A store in which others have left tasks; it fails a call for each error it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.left: list[Abandoned] = []
        self.errors: list[BackendError] = []
        self.renewed: list[int] = []
        self.renewed_twice = asyncio.Event()
        self.has_released = False
        self.breaks: set[str] = set()
        self.others: set[str] = set()
        self.holds: list[Task] = []
        self.has_failed = asyncio.Event()

    def leave(self, task: Task, attempt: int = 2) -> None:
        self._put(task)
        turn = msgspec.structs.replace(turn_of(), task_id=task.id)
        self.left.append(Abandoned(task=task, turn=turn, attempt=attempt))

    async def renew(self, *, until_ms: int) -> bool:
        self.renewed.append(until_ms)
        if len(self.renewed) == 3:
            self.renewed_twice.set()
        self._fail()
        return True

    async def take_over(self, *, now_ms: int, limit: int, task_id: str | None = None) -> tuple[Abandoned, ...]:
        taken, self.left = self.left[:limit], self.left[limit:]
        return tuple(taken)

    async def held(self, *, excluding: Collection[str], limit: int) -> tuple[Task, ...]:
        return tuple(task for task in self.holds if task.id not in excluding)[:limit]

    async def release_holder(self) -> None:
        self._fail()
        self.has_released = True

    async def save(self, task: Task, **more: object) -> None:
        if task.id in self.breaks:
            raise BackendError
        if task.id in self.others:
            raise Conflict
        await super().save(task, **more)  # type: ignore[arg-type]
        if task.status.state is TaskState.FAILED:
            self.has_failed.set()

    def _fail(self) -> None:
        if self.errors:
            raise self.errors.pop(0)


@pytest.fixture
def store() -> Left:
    return Left()


@pytest.fixture
async def service(store: Left) -> AsyncIterator[RunService]:
    agent = ScriptedAgent(*[[Complete()] for _ in range(200)], survives_restart=True)
    async with serving(agent, store, limits=Limits(lease_s=0.003)) as service:
        yield service


async def state_of(service: RunService, task_id: str) -> TaskState:
    following = await service.subscribe("ann", "demo", task_id, after_seq=None, ended_ok=True)
    async for _ in following:
        pass
    return (await service.get("ann", "demo", task_id)).status.state


async def test_everything_that_was_left_is_taken_up_however_much_it_is(store: Left, service: RunService) -> None:
    for number in range(150):
        store.leave(task_of(f"t{number}", context=f"c{number}"))
    await service.start()
    assert {await state_of(service, f"t{number}") for number in range(150)} == {TaskState.COMPLETED}


async def test_a_task_that_cannot_be_taken_up_is_ended_later_and_holds_up_no_other(
    store: Left, service: RunService
) -> None:
    store.breaks = {"t1"}
    store.leave(task_of("t1"))
    store.leave(task_of("t2", context="c2"))
    await service.start()
    assert await state_of(service, "t2") is TaskState.COMPLETED
    store.breaks = set()
    assert await state_of(service, "t1") is TaskState.FAILED


async def test_a_task_that_somebody_else_has_changed_meanwhile_is_left_to_them(
    store: Left, service: RunService
) -> None:
    store.leave(task_of("t1"))
    newer = task_of("t1", seq=7)
    store._put(newer)
    store.others = {"t1"}
    await service.start()
    assert await service.get("ann", "demo", "t1") == newer
    assert service._registry.lost() == []


async def test_what_this_process_holds_and_does_not_work_on_is_ended_without_being_asked(
    store: Left, service: RunService
) -> None:
    store.holds = [task_of("t1")]
    await store.create(store.holds[0])
    await service.start()
    async with asyncio.timeout(5):
        await store.has_failed.wait()
    assert status_text(await service.get("ann", "demo", "t1")) == LOST


async def test_what_it_works_on_is_left_alone() -> None:
    store, gate = Left(), Gate()
    async with serving(ScriptedAgent([gate, Complete()]), store, limits=Limits(lease_s=0.003)) as service:
        run = await service.submit_run(request())
        await gate.reached()
        store.holds = [run.task]
        await service.start()
        async with asyncio.timeout(5):
            await store.renewed_twice.wait()
        gate.open()
        assert (await run.wait_settled(5)).status.state is TaskState.COMPLETED


async def test_it_is_renewed_again_and_again_also_when_the_store_was_away(store: Left, service: RunService) -> None:
    await service.start()
    store.errors = [BackendError(), BackendError()]
    async with asyncio.timeout(5):
        await store.renewed_twice.wait()
    await service.drain(0)
    assert store.has_released


async def test_a_lease_that_cannot_be_released_delays_no_stop(
    store: Left, service: RunService, caplog: pytest.LogCaptureFixture
) -> None:
    await service.start()
    store.errors = [BackendError()] * 100
    await service.drain(0)
    assert not store.has_released
    assert "it runs out" in caplog.text


async def test_a_lost_end_is_recorded_without_being_asked_for(store: Left, service: RunService) -> None:
    store.breaks = {"t1"}
    store.leave(task_of("t1"))
    await service.start()
    store.breaks = set()
    async with asyncio.timeout(5):
        await store.has_failed.wait()
    kept = await store.get("ann", "demo", "t1")
    assert kept is not None
    assert kept.status.state is TaskState.FAILED
