"""Work of agents in threads, which nothing can stop: a run that is stopped waits for its work.

Theory. Async code hands work to threads by its loop's default executor: `asyncio.to_thread` does, and LangChain's
`run_in_executor`, and so every node and tool of a graph that is not async. If the coroutine that waits for such a job
is cancelled, the waiting ends, but the job goes on. So the loop gets an executor that knows the run of each job, by a
context variable that tasks hand on to the tasks they start.

Rules:
- A run that is stopped starts no further job, and ends when the jobs that it started have ended. The caller that stops
  it decides how long that may take.
- A job may ask whether its run is being stopped, and then ends at once (`check_not_stopped`). Others run to their end.
- A run that ends by itself waits for nothing: it chose to leave a job alone.
- As many jobs run at once as in an executor of Python's own. A job that is no longer waited for does not count, so that
  jobs that hang block no others, as long as there are at most `MAX_ABANDONED` of them.
- Work that belongs to no run, such as looking up a host's address, has threads of its own.
- The threads of jobs are daemons: one that hangs does not keep the process alive.
"""

import asyncio
import os
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from functools import partial
from time import monotonic
from typing import Any, TypeVar
from weakref import WeakSet

T = TypeVar("T")

MAX_WORKERS = min(32, (os.cpu_count() or 1) + 4)
"""How many jobs run at once. Source: the default of ThreadPoolExecutor, which graphs are used to."""

MAX_ABANDONED = 256
"""How many abandoned jobs may have threads in addition; one that sleeps costs some tens of kilobytes."""

_LOOK_EVERY_S = 0.1
"""How often one that sleeps looks whether its run is being stopped: a task does not say when it is cancelled."""


async def joining(work: AsyncGenerator[T]) -> AsyncGenerator[T]:
    """The same work; but when it is stopped, by closing or cancelling, it first waits for the jobs that it started."""
    _install_executor(asyncio.get_running_loop())
    scope = WorkerScope()
    callers = scope.enter()  # a generator runs in its caller's context, which must not stay changed
    try:
        async for item in work:
            _current.set(callers)
            yield item
            callers = scope.enter()
    except BaseException as exc:
        if _is_stop(exc):
            _current.set(scope)
            scope.is_stopping = True
            try:
                await work.aclose()
            finally:
                await scope.end()
        raise
    finally:
        _current.set(callers)


def _is_stop(exc: BaseException) -> bool:
    """Whether the work is stopped from outside, whichever error the agent's code makes of that."""
    task = asyncio.current_task()
    is_cancelled = task is not None and task.cancelling() > 0
    return is_cancelled or isinstance(exc, asyncio.CancelledError | GeneratorExit)


class RunStopped(BaseException):
    """Ends code in a thread whose run is being stopped. No Exception, since code must not take it for a failure."""


def check_not_stopped() -> None:
    """End a job whose run is being stopped. Async code goes on: it is cancelled where it awaits. Raises: RunStopped."""
    scope = _current.get()
    if scope is not None and scope.is_stopping and threading.get_ident() != scope.loop_thread:
        raise RunStopped


async def sleep_in_run(time_s: float) -> bool:
    """Sleep, in the code of a run; whether the run goes on. It ends early if the run is stopped, or if there is none.

    For tasks that are not cancelled with their run although it waits for them, such as LangGraph's saves.
    """
    scope, ends_s = _current.get(), monotonic() + time_s
    while scope is not None and not scope.is_cancelled:
        left_s = ends_s - monotonic()
        if left_s <= 0:
            return True
        await asyncio.sleep(min(left_s, _LOOK_EVERY_S))
    return False


class WorkerScope:
    """The jobs of one run.

    Shape: loop_thread is the thread of the run's event loop, by its ident.
    """

    def __init__(self) -> None:
        self.is_stopping = False
        self.loop_thread = threading.get_ident()
        self._task = asyncio.current_task()
        self._jobs: set[Future[Any]] = set()
        self._ended = False

    @property
    def is_cancelled(self) -> bool:
        """Whether the run is being stopped, or its task is being cancelled, though its code may not know it yet."""
        return self.is_stopping or (self._task is not None and self._task.cancelling() > 0)

    def enter(self) -> "WorkerScope | None":
        """Let the code that runs now, and the tasks it starts, belong to this run. Shape: the scope of before."""
        before = _current.get()
        _current.set(self)
        return before

    def add(self, job: "_Job") -> None:
        """Count a job as this run's. Raises: RuntimeError, like an executor that is shut down: the run was stopped."""
        if self._ended:
            raise RuntimeError("the run was stopped and starts nothing more")
        self._jobs.add(job)
        job.add_done_callback(self._jobs.discard)

    async def end(self) -> None:
        """Start no further job, and wait for those that were started."""
        self._ended = True
        running = [asyncio.wrap_future(job) for job in tuple(self._jobs) if not job.cancel()]
        await asyncio.gather(*running, return_exceptions=True)


_current: ContextVar[WorkerScope | None] = ContextVar("llamon_agent_workers", default=None)
"""The run of the code that runs now."""


class _Job(Future[Any]):
    """One piece of work for a thread of the pool."""

    def __init__(self, pool: "_Pool", work: Callable[[], Any]) -> None:
        super().__init__()
        self._pool = pool
        self._work = work
        self._is_abandoned = False

    def cancel(self) -> bool:
        """Abandon it. Shape: whether it has not started, and now never will."""
        cancelled = super().cancel()
        if self.running() and not self._is_abandoned:
            self._is_abandoned = True
            self._pool.replace(self)
        return cancelled

    def run(self) -> None:
        if not self.set_running_or_notify_cancel():
            return
        try:
            result = self._work()
        except BaseException as exc:  # noqa: BLE001 -- raised again where it is waited for
            self.set_exception(exc)
            del self  # else the error holds the job, by this frame, and the job holds the error
        else:
            self.set_result(result)


class _Pool:
    """Threads that run jobs, in the order in which they were added."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[_Job] = deque()
        self._abandoned = 0
        self._workers = 0
        self._idle = 0
        self._closed = False

    def add(self, job: _Job) -> None:
        """Run the job as soon as there is a worker for it."""
        with self._changed:
            self._waiting.append(job)
            self._staff()

    def replace(self, job: _Job) -> None:
        """Let another worker take the place of an abandoned job's, as far as there may be more threads."""
        with self._changed:
            self._abandoned += 1
            self._staff()
        job.add_done_callback(self._came_back)

    def close(self) -> None:
        """End the idle threads; the jobs that wait are not run any more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _came_back(self, _job: Future[Any]) -> None:
        with self._changed:
            self._abandoned -= 1

    def _staff(self) -> None:
        if self._idle >= len(self._waiting):
            self._changed.notify()
        elif self._workers < self._most():
            threading.Thread(target=self._work, name="llamon-agent-worker", daemon=True).start()
            self._workers += 1

    def _most(self) -> int:
        return MAX_WORKERS + min(self._abandoned, MAX_ABANDONED)

    def _work(self) -> None:
        while (job := self._next()) is not None:
            job.run()
            del job  # an idle thread must not keep anything alive

    def _next(self) -> _Job | None:
        """The next job; None for a thread that is not needed any more."""
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
    """A loop's default executor: the jobs of runs go to a pool of their own, the rest is done as Python does it."""

    def __init__(self) -> None:
        super().__init__(thread_name_prefix="asyncio")
        self._pool = _Pool()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        scope = _current.get()
        if scope is None:
            return super().submit(fn, *args, **kwargs)
        job = _Job(self._pool, partial(fn, *args, **kwargs))
        scope.add(job)
        self._pool.add(job)
        return job

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._pool.close()
        super().shutdown(wait, cancel_futures=cancel_futures)


_installed: WeakSet[asyncio.AbstractEventLoop] = WeakSet()
"""The loops whose executor is ours. asyncio does not say which one a loop has."""


def _install_executor(loop: asyncio.AbstractEventLoop) -> None:
    if loop not in _installed:
        loop.set_default_executor(_Executor())
        _installed.add(loop)
