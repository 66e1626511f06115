"""Calls an agent's function, whatever kind it is, and streams what it gives.

Async functions run on the event loop. All others run in a thread of their own, with the caller's context variables: not
in the loop's pool, where a few calls that hang would starve everyone, and which Python waits for when it exits.

Rules of the thread:
- It and the loop take turns: the function goes on only when its last chunk is used up. So an agent that asks and is not
  answered yet does not go on behind its question.
- A thread cannot be stopped. A turn that is cancelled ends when its function has come to its next chunk or to its end,
  and the function does not go on behind that. A second cancel leaves the thread behind: what it says is not heard.
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
    """Whether calling the function never blocks, because its work is async."""
    candidates = (function, type(function).__call__)  # the latter for an object that can be called
    return any(inspect.iscoroutinefunction(each) or inspect.isasyncgenfunction(each) for each in candidates)


async def outputs_of(call: Callable[[], object], *, on_loop: bool) -> AsyncGenerator[Output]:
    """Make a call and give its chunks or its one result. Closing it stops the work, as far as it can be stopped."""
    if on_loop:
        async with aclosing(_unfold(call())) as unfolded:
            async for output in unfolded:
                yield output
        return
    async with aclosing(_in_thread(call)) as made:
        async for output in made:
            if isinstance(output, Chunk):
                yield output
                continue
            async with aclosing(_unfold(output.value)) as unfolded:  # a plain function may return async work
                async for inner in unfolded:
                    yield inner


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
    turn = _ThreadTurn(call)
    try:
        while (output := await turn.next_output()) is not None:
            yield output
    finally:
        await turn.leave()


class _ThreadTurn:
    """A call that runs in its own thread and hands its outputs over one at a time."""

    def __init__(self, call: Callable[[], object]) -> None:
        self._call = call
        self._loop = asyncio.get_running_loop()
        self._outputs: asyncio.Queue[Output | BaseException | None] = asyncio.Queue()
        self._wanted = threading.Semaphore(0)
        self._left = threading.Event()
        self._ended = asyncio.Event()
        threading.Thread(target=copy_context().run, args=(self._work,), name="llamon-agent-call", daemon=True).start()

    async def next_output(self) -> Output | None:
        """What the function gives next; None when it is done. Raises what the function raises."""
        self._wanted.release()
        output = await self._outputs.get()
        if isinstance(output, BaseException):
            raise output
        return output

    async def leave(self) -> None:
        """Want nothing more, and wait until the thread has gone home."""
        self._want_nothing()
        await self._ended.wait()

    def _want_nothing(self) -> None:
        self._left.set()
        self._wanted.release()

    def _work(self) -> None:
        try:
            self._wanted.acquire()
            if not self._left.is_set():
                self._hand_over_all(self._call())
            last = None
        except BaseException as exc:  # noqa: BLE001 -- raised again on the other side, by next_output
            last = exc
        self._tell(self._end, last)

    def _hand_over_all(self, made: object) -> None:
        if not isinstance(made, Iterator):
            self._tell(self._outputs.put_nowait, Result(made))
            return
        try:
            if self._left.is_set():
                return
            for value in made:
                self._tell(self._outputs.put_nowait, Chunk(value))
                self._wanted.acquire()
                if self._left.is_set():
                    return
        finally:
            if isinstance(made, Generator):
                made.close()

    def _end(self, last: BaseException | None) -> None:
        self._outputs.put_nowait(last)
        self._ended.set()

    def _tell(self, how: Callable[[Any], None], what: Output | BaseException | None) -> None:
        """Say something to the loop, from the thread."""
        try:
            self._loop.call_soon_threadsafe(how, what)
        except RuntimeError:  # the loop is closed; nobody listens any more
            self._want_nothing()
