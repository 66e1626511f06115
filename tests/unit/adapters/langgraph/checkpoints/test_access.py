"""A write is tried again while its storage is away, but only in a run that goes on, and not for ever."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager

import pytest

from llamon_agent.adapters.langgraph.checkpoints import access
from llamon_agent.adapters.langgraph.checkpoints.access import FreeAccess, write_patiently
from llamon_agent.adapters.worker_threads import joining
from llamon_agent.domain.errors import BackendError


class Away(Exception):
    """The storage is away."""


class Refused(Exception):
    """The storage refuses this write."""


class Storage(FreeAccess):
    """A storage that fails as often as is said, and then works."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.tries = 0

    @contextmanager
    def writing(self) -> Iterator[None]:
        try:
            yield
        except (Away, Refused) as exc:
            raise BackendError() from exc

    def may_pass(self, error: BaseException) -> bool:
        return isinstance(error, Away)

    async def write(self) -> str:
        self.tries += 1
        if self.failures:
            raise self.failures.pop(0)
        return "saved"

    async def run(self) -> AsyncGenerator[str]:
        yield await write_patiently(self, self.write)


async def in_a_run(storage: Storage) -> list[str]:
    return [each async for each in joining(storage.run())]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "_PAUSES_S", (0.001, 0.002))


async def test_a_write_in_a_run_is_tried_until_the_storage_is_back() -> None:
    storage = Storage(*[Away() for _ in range(5)])
    assert await in_a_run(storage) == ["saved"]
    assert storage.tries == 6


async def test_a_write_that_is_refused_is_not_tried_again() -> None:
    storage = Storage(Away(), Refused())
    with pytest.raises(BackendError):
        await in_a_run(storage)
    assert storage.tries == 2


async def test_a_write_outside_of_a_run_is_not_tried_again() -> None:
    storage = Storage(Away())
    with pytest.raises(BackendError):
        await write_patiently(storage, storage.write)
    assert storage.tries == 1


async def test_a_storage_that_stays_away_fails_the_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "PATIENCE_S", 0.01)
    storage = Storage(*[Away() for _ in range(1000)])
    with pytest.raises(BackendError):
        await in_a_run(storage)
    assert storage.tries > 1


async def test_an_error_that_the_access_passes_on_is_not_tried_again() -> None:
    class Free(Storage):
        writing = FreeAccess.writing  # type: ignore[assignment]

    storage = Free(Away())
    with pytest.raises(Away):
        await in_a_run(storage)
    assert storage.tries == 1


async def test_a_save_that_its_run_waits_for_ends_its_wait_when_the_run_is_cancelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """LangGraph saves in a task of its own, which it does not cancel but waits for."""
    monkeypatch.setattr(access, "_PAUSES_S", (60.0,))
    storage, failed = Storage(*[Away() for _ in range(1000)]), asyncio.Event()

    async def run() -> AsyncGenerator[None]:
        saving = asyncio.create_task(write_patiently(storage, noting(storage, failed)))
        try:
            yield await asyncio.shield(saving)  # type: ignore[func-returns-value]
        finally:
            await asyncio.wait([saving])
            assert isinstance(saving.exception(), BackendError)

    async def drive() -> None:
        async for _ in joining(run()):
            pass

    driving = asyncio.create_task(drive())
    await failed.wait()
    driving.cancel()
    async with asyncio.timeout(10):
        await asyncio.wait([driving])
    assert driving.cancelled()
    assert storage.tries == 1


def noting(storage: Storage, failed: asyncio.Event) -> Callable[[], "asyncio.Future[None]"]:
    """The storage's write, which says when it has failed."""

    async def write() -> None:
        failed.set()
        await storage.write()

    return write  # type: ignore[return-value]
