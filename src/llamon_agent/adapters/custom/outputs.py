"""Calls an agent's function, whatever kind it is, and streams what it returns or yields.

Async functions run on the event loop. All others run in a thread of their own, with the caller's context variables. The
loop's pool will not do: a few calls that hang would block all others, and Python waits for it at exit.

Rules of the thread:
- It and the loop take turns: the function goes on only when its last chunk is used. So an agent that asks a question
  does not go on before it is answered.
- A thread cannot be stopped. A call that is cancelled ends when its function comes to its next chunk or to its end, and
  the function does not go on after that. A second cancel does not wait for the thread, and its output is ignored.
"""

import asyncio
import inspect
import threading
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Generator, Iterator
from contextlib import aclosing
from contextvars import copy_context
from typing import Any

from llamon_agent.adapters.custom.results import Chunk, Output, Result


def runs_on_loop(function: Callable[..., object]) -> bool:
    """Whether a call of the function never blocks, because its work is async."""
    candidates = (function, type(function).__call__)  # the latter for callable objects
    return any(inspect.iscoroutinefunction(each) or inspect.isasyncgenfunction(each) for each in candidates)


def outputs_of(call: Callable[[], object], *, on_loop: bool) -> AsyncGenerator[Output]:
    """Make a call and give its chunks or its one result. Closing stops the work, as far as it can be stopped."""
    return _unfold(call()) if on_loop else _in_thread(call)


async def _unfold(made: Any) -> AsyncGenerator[Output]:
    if isinstance(made, Awaitable):
        made = await made
    if isinstance(made, AsyncIterable):
        chunks = aiter(made)
        try:
            async for value in chunks:
                yield Chunk(value)
        finally:
            if isinstance(chunks, AsyncGenerator):
                await chunks.aclose()
    elif isinstance(made, Iterator):
        async with aclosing(_in_thread(lambda: made)) as outputs:
            async for output in outputs:
                yield output
    else:
        yield Result(made)


async def _in_thread(call: Callable[[], object]) -> AsyncGenerator[Output]:
    thread = _CallingThread(call)
    try:
        while (output := await thread.next_output()) is not None:
            if isinstance(output, Chunk):
                yield output
                continue
            async with aclosing(_unfold(output.value)) as outputs:  # a plain function may return async work
                async for inner in outputs:
                    yield inner
    finally:
        await thread.close()


class _CallingThread:
    """A call that runs in its own thread and hands its outputs over one at a time."""

    def __init__(self, call: Callable[[], object]) -> None:
        self._call = call
        self._loop = asyncio.get_running_loop()
        self._outputs: asyncio.Queue[Output | BaseException | None] = asyncio.Queue()
        self._wanted = threading.Semaphore(0)
        self._closed = threading.Event()
        self._ended = asyncio.Event()
        threading.Thread(target=copy_context().run, args=(self._work,), name="llamon-agent-call", daemon=True).start()

    async def next_output(self) -> Output | None:
        """What the function gives next; None when it is done. Raises what the function raises."""
        self._wanted.release()
        output = await self._outputs.get()
        if isinstance(output, BaseException):
            raise output
        return output

    async def close(self) -> None:
        """Take nothing more, and wait until the thread has ended."""
        self._refuse_more()
        await self._ended.wait()

    def _refuse_more(self) -> None:
        self._closed.set()
        self._wanted.release()

    def _work(self) -> None:
        try:
            self._wanted.acquire()
            if not self._closed.is_set():
                self._hand_over_all(self._call())
            last = None
        except BaseException as exc:  # noqa: BLE001 -- raised again on the loop, by next_output
            last = exc
        self._in_loop(self._end, last)

    def _hand_over_all(self, made: object) -> None:
        if not isinstance(made, Iterator):
            self._in_loop(self._outputs.put_nowait, Result(made))
            return
        try:
            if self._closed.is_set():
                return
            for value in made:
                self._in_loop(self._outputs.put_nowait, Chunk(value))
                self._wanted.acquire()
                if self._closed.is_set():
                    return
        finally:
            if isinstance(made, Generator):
                made.close()

    def _end(self, last: BaseException | None) -> None:
        self._outputs.put_nowait(last)
        self._ended.set()

    def _in_loop(self, function: Callable[[Any], None], argument: Output | BaseException | None) -> None:
        """Call a function on the loop, from the thread."""
        try:
            self._loop.call_soon_threadsafe(function, argument)
        except RuntimeError:  # the loop is closed
            self._refuse_more()
