"""Who asks whether to send work here is told in time, and costs the store one look."""

import asyncio

import pytest
from tests.unit.runs.serving import serving

from llamon_agent.domain.errors import BackendError
from llamon_agent.runs.readiness import Readiness
from llamon_agent.testing.scripted import Gate, ScriptedAgent


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


class Store:
    """A store that is there or not, and counts who looks."""

    def __init__(self) -> None:
        self.is_away = False
        self.looks = 0
        self.gate: Gate | None = None

    async def reached(self) -> None:
        self.looks += 1
        if self.gate is not None:
            await self.gate.wait()
        if self.is_away:
            raise BackendError


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def readiness(store: Store, clock: Clock) -> Readiness:
    made = Readiness(store.reached, look_s=1, clock_s=clock)
    made.started()
    return made


async def test_a_process_is_ready_from_its_start_until_it_stops(store: Store) -> None:
    readiness = Readiness(store.reached)
    assert await readiness.failing() == ("starting",)
    readiness.started()
    assert await readiness.failing() == ()
    assert await readiness.is_ready()
    readiness.stop()
    assert await readiness.failing() == ("stopping",)
    assert not await readiness.is_ready()


async def test_who_starts_or_stops_does_not_look_at_the_store(store: Store) -> None:
    readiness = Readiness(store.reached)
    await readiness.failing()
    readiness.stop()
    await readiness.failing()
    assert store.looks == 0


async def test_a_store_that_is_away_is_told_until_it_is_back(readiness: Readiness, store: Store, clock: Clock) -> None:
    for clock.now_s, store.is_away in ((0, True), (1, False), (2, True)):
        assert await readiness.failing() == (("store",) if store.is_away else ())


async def test_a_look_holds_for_a_second(readiness: Readiness, store: Store, clock: Clock) -> None:
    for clock.now_s in (0, 0.5, 0.99):
        assert await readiness.failing() == ()
        store.is_away = True
    assert store.looks == 1
    clock.now_s = 1
    assert await readiness.failing() == ("store",)


async def test_a_hundred_who_ask_at_once_share_a_look(readiness: Readiness, store: Store) -> None:
    gate = store.gate = Gate()
    asking = [asyncio.create_task(readiness.failing()) for _ in range(100)]
    await gate.reached()
    gate.open()
    assert await asyncio.gather(*asking) == [()] * 100
    assert store.looks == 1


async def test_who_gives_up_asking_does_not_end_the_look_of_the_others(readiness: Readiness, store: Store) -> None:
    gate = store.gate = Gate()
    impatient, patient = (asyncio.create_task(readiness.failing()) for _ in range(2))
    await gate.reached()
    impatient.cancel()
    gate.open()
    assert await patient == ()
    assert store.looks == 1


async def test_a_store_that_hangs_is_away_and_is_not_looked_at_twice(store: Store) -> None:
    gate = store.gate = Gate()
    readiness = Readiness(store.reached, look_s=0.01)
    readiness.started()
    for _ in range(3):
        assert await readiness.failing() == ("store",)
    assert store.looks == 1
    gate.open()
    await readiness.close()


async def test_a_store_that_answered_late_is_away_until_the_next_look(
    readiness: Readiness, store: Store, clock: Clock
) -> None:
    gate = store.gate = Gate()
    asking = asyncio.create_task(readiness.failing())
    await gate.reached()
    clock.now_s = 1.5
    gate.open()
    assert await asking == await readiness.failing() == ("store",)
    clock.now_s = 2.5
    assert await readiness.failing() == ()


async def test_closing_ends_a_look(readiness: Readiness, store: Store) -> None:
    gate = store.gate = Gate()
    asking = asyncio.create_task(readiness.failing())
    await gate.reached()
    await readiness.close()
    assert await asking == ("store",)
    assert await readiness.failing() == ("stopping",)


async def test_a_service_is_ready_while_it_takes_messages() -> None:
    async with serving(ScriptedAgent()) as service:
        assert await service.readiness.failing() == ("starting",)
        await service.start()
        assert await service.readiness.failing() == ()
        await service.drain(0)
        assert await service.readiness.failing() == ("stopping",)
