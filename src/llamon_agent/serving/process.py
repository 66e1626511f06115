"""The process around an edge: its socket, web server, signals, clock and ids, asyncio tasks and garbage collection.

An event loop lets SystemExit and KeyboardInterrupt out of any task and stops. That is right for a script. In an edge, a
node of a graph runs as a task, and a library that calls `sys.exit()` there would end everybody's work. Our signals are
handlers on the loop and never raise. So inside a task these two exceptions are an agent's failure, and become one.

Garbage. A full collection walks over every object that lives. Modules, agents and routes live as long as they are
served, so these walks find nothing, stop all calls for a tenth of a second, and take a sixth of the time of a call. So
the objects that exist when the edge is ready are frozen (`freeze_gc`), and later ones are collected less often. Only
`llamon serve` does this: in a process that embeds the edge, garbage is its owner's concern.
"""

import asyncio
import contextlib
import gc
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import Context
from importlib import import_module
from typing import Any, TypeVar

import uvicorn
from starlette.types import ASGIApp

from llamon_agent.domain.error_location import brief
from llamon_agent.domain.errors import ConfigError
from llamon_agent.domain.ids import ordered_id
from llamon_agent.runs.service import RunService
from llamon_agent.serving.http1 import BoundedHttp

THRESHOLDS = (10_000, 5, 20)
"""Python's own are (700, 10, 10). With the first, it looks once in hundreds of calls instead of once in sixteen. With
the second, what has lived for a while is looked at while it is little, which keeps that pause short. All three together
let cycles that lived for long wait for about a million new objects. Source: docs/benchmarks.md, for the choice.
"""


def now_ms() -> int:
    """The wall clock. Units: milliseconds since 1970 UTC."""
    return time.time_ns() // 1_000_000


def new_id() -> str:
    """A new id that sorts by time."""
    return ordered_id(now_ms(), os.urandom(10))


def new_event_loop() -> asyncio.AbstractEventLoop:
    """uvloop's, where that is installed, which it is not on Windows."""
    try:
        uvloop = import_module("uvloop")
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


@contextmanager
def rarer_collections() -> Iterator[None]:
    """Set our thresholds inside the context, and the old ones after it."""
    before = gc.get_threshold()
    gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)


def freeze_gc() -> None:
    """Take what is there now for what stays; garbage is thrown away first, also of what had been taken before."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


logger = logging.getLogger(__name__)

STOP_WITHIN_S = 2.0
"""How long a run that did not finish while the edge drained has to stop. Together with the default of `drain_s` and the
time that connections get, this is below the 10 s that most supervisors grant."""

T = TypeVar("T")


class AgentExited(RuntimeError):
    """Code of an agent tried to end the process."""


class _Contained(Coroutine[Any, Any, T]):
    """A coroutine in which SystemExit and KeyboardInterrupt become AgentExited."""

    __slots__ = ("_inner",)

    def __init__(self, inner: Coroutine[Any, Any, T]) -> None:
        self._inner = inner

    def send(self, value: Any) -> Any:
        try:
            return self._inner.send(value)
        except (SystemExit, KeyboardInterrupt) as exc:
            raise AgentExited from exc

    def throw(self, *error: Any) -> Any:
        try:
            return self._inner.throw(*error)
        except (SystemExit, KeyboardInterrupt) as exc:
            raise AgentExited from exc

    def close(self) -> None:
        self._inner.close()

    def __await__(self) -> Generator[Any, Any, T]:
        return self._inner.__await__()


def contained_task(
    loop: asyncio.AbstractEventLoop,
    coroutine: Coroutine[Any, Any, T] | Generator[Any, None, T],
    *,
    context: Context | None = None,
    **more: Any,
) -> asyncio.Task[T]:
    """A task factory, for `loop.set_task_factory`."""
    if isinstance(coroutine, Coroutine):
        coroutine = _Contained(coroutine)
    return asyncio.Task(coroutine, loop=loop, context=context, **more)


class Server(uvicorn.Server):
    """uvicorn, except that the runs end before the connections: an open stream must not keep a stopping edge alive."""

    def __init__(
        self,
        app: ASGIApp,
        runs: RunService,
        ready: Callable[[int], None],
        draining: Callable[[], Awaitable[None]] | None = None,
        *,
        drain_s: float = 6.0,
        unready_s: float = 0.0,
    ) -> None:
        """`ready` is called with the port once the server listens, `draining` before the runs are drained.

        Units: drain_s is how many seconds the runs have to finish; unready_s is how many seconds everything goes on as
               before after `draining`, so that a balancer sends no call here that would be refused.
        """
        super().__init__(
            uvicorn.Config(
                app,
                http=BoundedHttp,
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="warning",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=1,
            )
        )
        self._runs = runs
        self._ready = ready
        self._draining = draining
        self.drain_s = drain_s
        self._unready_s = unready_s

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals alone: `stopping_on_signals` handles them."""
        yield

    def stop(self) -> None:
        """Stop gracefully, and be unready at once."""
        self._runs.readiness.stop()
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in sockets or []:
            host, port = listener.getsockname()[:2]
            logger.info("running on http://%s:%d", f"[{host}]" if ":" in host else host, port)
            self._ready(port)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._draining is not None:
            await self._draining()
        await asyncio.sleep(self._unready_s)
        await self._runs.drain(self.drain_s, stop_within_s=STOP_WITHIN_S)
        await super().shutdown(sockets)


@contextlib.contextmanager
def stopping_on_signals(server: Server, at_once: Callable[[], None] = lambda: None) -> Iterator[None]:
    """The first signal stops the server gracefully; a second one calls `at_once` and ends the process."""
    loop = asyncio.get_running_loop()

    def stop(number: signal.Signals) -> None:
        if server.should_exit:
            logger.warning("%s again: ending at once; the next start takes up what was working", number.name)
            at_once()
            os._exit(128 + number)
        logger.info(
            "%s: stopping; runs have %g seconds to finish; the same signal again ends them at once",
            number.name,
            server.drain_s,
        )
        server.stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop, number)
    try:
        yield
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


def run_to_end(runner: asyncio.Runner, main: Coroutine[Any, Any, None]) -> int:
    """Run it; the exit code. Whatever stops the loop before its end is an error: `sys.exit` in a callback, say."""
    has_ended = False

    async def watched() -> None:
        nonlocal has_ended
        try:
            await main
        finally:
            has_ended = True

    try:
        runner.run(watched())
    except (SystemExit, RuntimeError) as exc:  # the latter is asyncio's word for a loop that was stopped
        if has_ended:
            raise
        logger.critical("an agent's code has stopped the event loop of this process (%s); it ends", brief(exc))
        return 1
    return 0


@contextlib.contextmanager
def exiting_despite_threads(after_s: float = 1.0, *, code: int = 0) -> Iterator[None]:
    """Exit the process after this time, even if a thread with an agent's blocking code does not end.

    Python waits for such threads at its end. Everything is recorded by then, so exiting loses nothing.
    """

    def exit_now() -> None:
        logger.warning("a thread of an agent does not end; the process exits without it")
        os._exit(code)

    timer = threading.Timer(after_s, exit_now)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@asynccontextmanager
async def reloading_on_hangup(
    reload: Callable[[], Awaitable[object]], hung_up: Callable[[], None] = lambda: None
) -> AsyncIterator[None]:
    """SIGHUP reloads. Signals that come during a reload cause one more reload.

    A terminal that is closed sends the same signal, and an edge that was started in it must end: `hung_up` is called.
    """
    wanted = asyncio.Event()
    had_terminal = os.isatty(2)

    def take() -> None:
        if had_terminal and not os.isatty(2):
            hung_up()
        else:
            wanted.set()

    async def watch() -> None:
        while True:
            await wanted.wait()
            wanted.clear()
            logger.info("SIGHUP: reloading the configuration")
            await reload()

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGHUP, take)
    watching = asyncio.create_task(watch())
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGHUP)
        watching.cancel()
        await asyncio.wait({watching})


@contextlib.contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """A socket that listens. Raises: ConfigError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as exc:
        raise ConfigError(
            f"a2a.listen: cannot listen on {host} port {port}: it is in use or not this machine's; choose another."
        ) from exc
    with listener:
        yield listener
