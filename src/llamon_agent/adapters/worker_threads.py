"""Work of agents in threads of the machine, which nothing can stop: a run that is stopped waits for it.

Theory. What async code lets a thread do goes to its loop's default executor: `asyncio.to_thread`, and LangChain's
`run_in_executor`, and with it every node and tool of a graph that is not async. To cancel the coroutine that waits for
such a step ends the waiting; the step goes on. So the loop is given an executor that knows whose step each is, by a
context variable that tasks hand on to the tasks they start.

Rules:
- A run that is stopped begins no further step, and ends when those have ended that it has begun. How long that may take
  is for whoever stops it to say.
- A run that ends by itself waits for nothing: it chose to leave a step alone.
- As many steps are under way at once as an executor of Python's own would allow. One that nobody waits for any more
  gives its place away, so that those that hang hold up nobody, as long as they are no more than `MAX_ABANDONED`.
- What belongs to no run, such as looking up a host's address, has threads of its own.
- The threads of steps are daemons: one that hangs does not keep a process that is done.
"""

import asyncio
import os
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeVar
from weakref import WeakSet

T = TypeVar("T")

MAX_WORKERS = min(32, (os.cpu_count() or 1) + 4)
"""How many steps are under way at once. Source: the default of ThreadPoolExecutor, which graphs are used to."""

MAX_ABANDONED = 256
"""How many steps that nobody waits for have threads beside the places; one that sleeps costs some tens of kilobytes."""


async def joining(work: AsyncGenerator[T]) -> AsyncGenerator[T]:
    """The same work; but stopped, by closing or cancelling, it ends only when its steps have ended."""
    _install_executor(asyncio.get_running_loop())
    steps = WorkerScope()
    callers = steps.enter()  # a generator runs in the context of who asks it, which is not to be left changed
    try:
        async for item in work:
            _current.set(callers)
            yield item
            callers = steps.enter()
    except BaseException as exc:
        if _is_stop(exc):
            _current.set(steps)
            try:
                await work.aclose()
            finally:
                await steps.end()
        raise
    finally:
        _current.set(callers)


def _is_stop(exc: BaseException) -> bool:
    """Whether the work is stopped from outside, whatever the agent's code made of it."""
    task = asyncio.current_task()
    is_cancelled = task is not None and task.cancelling() > 0
    return is_cancelled or isinstance(exc, asyncio.CancelledError | GeneratorExit)


class WorkerScope:
    """What one run does in threads."""

    def __init__(self) -> None:
        self._under_way: set[Future[Any]] = set()
        self._ended = False

    def enter(self) -> "WorkerScope | None":
        """Let what runs now, and what it starts, belong to this run; what it belonged to before."""
        before = _current.get()
        _current.set(self)
        return before

    def begin(self, step: "_Job") -> None:
        """Take note of a step. Raises: RuntimeError, as every executor that is shut down: the run was stopped."""
        if self._ended:
            raise RuntimeError("the run was stopped and begins nothing more")
        self._under_way.add(step)
        step.add_done_callback(self._under_way.discard)

    async def end(self) -> None:
        """Begin no further step, and wait for those that were begun."""
        self._ended = True
        begun = [asyncio.wrap_future(step) for step in tuple(self._under_way) if not step.cancel()]
        await asyncio.gather(*begun, return_exceptions=True)


_current: ContextVar[WorkerScope | None] = ContextVar("llamon_agent_steps", default=None)
"""The run that the code which runs now belongs to."""


class _Job(Future[Any]):
    """One piece of work, done in a thread of the pool."""

    def __init__(self, pool: "_Pool", work: Callable[[], Any]) -> None:
        super().__init__()
        self._pool = pool
        self._work = work
        self._is_abandoned = False

    def cancel(self) -> bool:
        """Nobody waits for it any more; whether it has not begun, and now never will."""
        cancelled = super().cancel()
        if self.running() and not self._is_abandoned:
            self._is_abandoned = True
            self._pool.replace(self)
        return cancelled

    def do(self) -> None:
        if not self.set_running_or_notify_cancel():
            return
        try:
            result = self._work()
        except BaseException as exc:  # noqa: BLE001 -- raised again where it is waited for
            self.set_exception(exc)
            del self  # or the error would hold it, by this frame, and it the error
        else:
            self.set_result(result)


class _Pool:
    """Threads that do steps, in the order in which they came."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[_Job] = deque()
        self._abandoned = 0
        self._workers = 0
        self._idle = 0
        self._closed = False

    def add(self, step: _Job) -> None:
        """Let a thread do the step as soon as there is a place."""
        with self._changed:
            self._waiting.append(step)
            self._staff()

    def replace(self, step: _Job) -> None:
        """Give the place of a step that is under way to another one, as far as there may be more threads."""
        with self._changed:
            self._abandoned += 1
            self._staff()
        step.add_done_callback(self._came_back)

    def close(self) -> None:
        """Let the threads go home; what waits is not done any more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _came_back(self, _step: Future[Any]) -> None:
        with self._changed:
            self._abandoned -= 1

    def _staff(self) -> None:
        if self._idle >= len(self._waiting):
            self._changed.notify()
        elif self._workers < self._most():
            threading.Thread(target=self._work, name="llamon-agent-step", daemon=True).start()
            self._workers += 1

    def _most(self) -> int:
        return MAX_WORKERS + min(self._abandoned, MAX_ABANDONED)

    def _work(self) -> None:
        while (step := self._next()) is not None:
            step.do()
            del step  # an idle thread holds nothing of anybody's

    def _next(self) -> _Job | None:
        """The next step; None for a thread that is not needed any more."""
        with self._changed:
            self._idle += 1
            self._changed.wait_for(lambda: self._waiting or self._is_superfluous())
            self._idle -= 1
            if not self._is_superfluous():
                return self._waiting.popleft()
            self._workers -= 1
            return None

    def _is_superfluous(self) -> bool:
        return self._closed or self._workers > self._most()


class _Executor(ThreadPoolExecutor):
    """A loop's default executor that does the steps of runs in a pool of their own, and the rest as Python does."""

    def __init__(self) -> None:
        super().__init__(thread_name_prefix="asyncio")
        self._pool = _Pool()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        steps = _current.get()
        if steps is None:
            return super().submit(fn, *args, **kwargs)
        step = _Job(self._pool, partial(fn, *args, **kwargs))
        steps.begin(step)
        self._pool.add(step)
        return step

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._pool.close()
        super().shutdown(wait, cancel_futures=cancel_futures)


_installed: WeakSet[asyncio.AbstractEventLoop] = WeakSet()
"""The loops whose executor is ours. asyncio does not tell which one a loop has."""


def _install_executor(loop: asyncio.AbstractEventLoop) -> None:
    if loop not in _installed:
        loop.set_default_executor(_Executor())
        _installed.add(loop)
