"""Every kind of function is called in its way, and stops in its way."""

import asyncio
import gc
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing
from contextvars import ContextVar
from functools import partial, wraps

import pytest

from llamon_agent.adapters.custom.outputs import Chunk, Output, Result, outputs_of, runs_on_loop

WHO: ContextVar[str] = ContextVar("who")


async def made(function: Callable[[], object]) -> list[Output]:
    async with asyncio.timeout(5):
        return [output async for output in outputs_of(function, on_loop=runs_on_loop(function))]


def returns() -> str:
    return "ab"


async def returns_async() -> str:
    return "ab"


def yields() -> Iterator[str]:
    yield from "ab"


async def yields_async() -> AsyncIterator[str]:
    yield "a"
    yield "b"


async def returns_iterator() -> Iterator[str]:
    return iter("ab")


async def returns_async_iterator() -> AsyncIterator[str]:
    return yields_async()


def decorated(function: Callable[[], Awaitable[str]]) -> Callable[[], Awaitable[str]]:
    @wraps(function)
    def wrapper() -> Awaitable[str]:
        return function()

    return wrapper


class Callee:
    async def __call__(self) -> str:
        return "ab"


class OwnIterator:
    """Async iteration without a generator's aclose."""

    def __init__(self) -> None:
        self.rest = ["a", "b"]

    def __aiter__(self) -> "OwnIterator":
        return self

    async def __anext__(self) -> str:
        if not self.rest:
            raise StopAsyncIteration
        return self.rest.pop(0)


@pytest.mark.parametrize("function", [returns, returns_async, decorated(returns_async), Callee(), partial(Callee())])
async def test_a_returned_value_is_the_result(function: Callable[[], object]) -> None:
    assert await made(function) == [Result("ab")]


@pytest.mark.parametrize(
    "function", [yields, yields_async, partial(yields_async), returns_iterator, returns_async_iterator, OwnIterator]
)
async def test_values_that_come_one_by_one_are_chunks(function: Callable[[], object]) -> None:
    assert await made(function) == [Chunk("a"), Chunk("b")]


@pytest.mark.parametrize("values", [["a"], ("a",), {"a": 1}, "abc", None])
async def test_a_returned_collection_is_one_result(values: object) -> None:
    assert await made(lambda: values) == [Result(values)]


@pytest.mark.parametrize("function", [returns_async, yields_async, Callee(), partial(returns_async), Callee().__call__])
def test_async_functions_run_on_the_loop(function: Callable[[], object]) -> None:
    assert runs_on_loop(function)


@pytest.mark.parametrize("function", [returns, yields, len, partial(returns), Callee])
def test_plain_functions_do_not(function: Callable[[], object]) -> None:
    assert not runs_on_loop(function)


async def test_a_plain_function_runs_in_another_thread_with_the_callers_context() -> None:
    WHO.set("me")

    def look() -> Iterator[object]:
        yield threading.current_thread() is threading.main_thread()
        yield WHO.get()

    assert await made(look) == [Chunk(False), Chunk("me")]


@pytest.mark.parametrize("error", [ValueError, StopIteration, SystemExit, KeyError])
async def test_an_error_in_the_thread_is_raised_here(error: type[BaseException]) -> None:
    def fail() -> None:
        raise error("x")

    outputs = outputs_of(fail, on_loop=False)
    # An async generator turns StopIteration into RuntimeError, as the language does everywhere.
    with pytest.raises(RuntimeError if error is StopIteration else error):
        await anext(outputs)


async def test_an_error_between_chunks_comes_after_them() -> None:
    def fail() -> Iterator[str]:
        yield "a"
        raise ValueError("x")

    outputs = outputs_of(fail, on_loop=False)
    assert await anext(outputs) == Chunk("a")
    with pytest.raises(ValueError, match="x"):
        await anext(outputs)


async def test_many_hanging_calls_do_not_starve_another() -> None:
    hang = threading.Event()
    hanging = [asyncio.create_task(made(lambda: hang.wait(10))) for _ in range(50)]
    assert await made(returns) == [Result("ab")]
    hang.set()
    assert await asyncio.gather(*hanging) == [[Result(True)]] * 50


async def test_a_generator_goes_on_only_when_it_is_asked() -> None:
    steps: list[str] = []
    closed = asyncio.Event()
    loop = asyncio.get_running_loop()

    def ask() -> Iterator[str]:
        try:
            yield "sure?"
            steps.append("deleted")
        finally:
            loop.call_soon_threadsafe(closed.set)

    async with aclosing(outputs_of(ask, on_loop=False)) as outputs:
        assert await anext(outputs) == Chunk("sure?")
    async with asyncio.timeout(5):
        await closed.wait()
    assert steps == []


async def test_closing_closes_an_async_generator() -> None:
    closed: list[str] = []

    async def chunks() -> AsyncGenerator[str]:
        try:
            yield "a"
            yield "b"
        finally:
            await asyncio.sleep(0)
            closed.append("here")

    async with aclosing(outputs_of(chunks, on_loop=True)) as outputs:
        await anext(outputs)
    assert closed == ["here"]


async def test_cancelling_reaches_an_async_function() -> None:
    began, cancelled = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    task = asyncio.create_task(made(work))
    async with asyncio.timeout(5):
        await began.wait()
        task.cancel()
        await asyncio.wait([task])
    assert task.cancelled()
    assert cancelled.is_set()


class Held:
    """A generator that waits in its thread before it says anything."""

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.go = threading.Event()
        self.steps: list[str] = []
        self.thread: threading.Thread | None = None
        self._loop = asyncio.get_running_loop()

    def work(self) -> Iterator[str]:
        self.thread = threading.current_thread()
        try:
            self._loop.call_soon_threadsafe(self.began.set)
            assert self.go.wait(5)
            yield "late"
            self.steps.append("later still")
        finally:
            self.steps.append("closed")


async def begun(held: Held) -> asyncio.Task[list[Output]]:
    task = asyncio.create_task(made(held.work))
    async with asyncio.timeout(5):
        await held.began.wait()
    return task


async def breathe() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_cancelled_turn_ends_at_the_next_chunk_of_its_thread() -> None:
    held = Held()
    task = await begun(held)
    task.cancel()
    await breathe()
    assert not task.done()
    held.go.set()
    await asyncio.wait([task], timeout=5)
    assert task.cancelled()
    assert held.steps == ["closed"]


async def test_a_generator_of_a_turn_that_was_cancelled_while_it_was_made_is_not_begun() -> None:
    held, making, go = Held(), asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def slow_to_begin() -> Iterator[str]:
        loop.call_soon_threadsafe(making.set)
        assert go.wait(5)
        return held.work()

    task = asyncio.create_task(made(slow_to_begin))
    async with asyncio.timeout(5):
        await making.wait()
    task.cancel()
    await breathe()
    go.set()
    await asyncio.wait([task], timeout=5)
    assert task.cancelled()
    assert held.thread is None


async def test_a_second_cancel_does_not_wait_for_the_thread() -> None:
    held = Held()
    task = await begun(held)
    for _ in range(2):
        task.cancel()
        await breathe()
    assert task.cancelled()
    assert held.steps == []
    held.go.set()


def test_a_thread_that_outlives_the_loop_ends_quietly() -> None:
    held: list[Held] = []

    async def cancel_it() -> None:
        held.append(Held())
        task = await begun(held[0])
        for _ in range(2):
            task.cancel()
            await breathe()
        assert task.cancelled()

    asyncio.run(cancel_it())
    held[0].go.set()
    assert held[0].thread is not None
    held[0].thread.join(5)
    assert not held[0].thread.is_alive()
    assert held[0].steps == ["closed"]
    gc.collect()  # nothing is left that would warn
