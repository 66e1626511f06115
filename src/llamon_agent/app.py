"""How the parts are wired up: configuration in, a running edge out. The only place that knows every part.

Adapters are imported when an agent needs them, so that an edge without LangGraph never loads it.
"""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.routing import BaseRoute

from llamon_agent.config import EdgeConfig, Served
from llamon_agent.domain.errors import ConfigError
from llamon_agent.inbound.a2a.auth import Auth
from llamon_agent.inbound.a2a.endpoint import Endpoint
from llamon_agent.inbound.a2a.history.converter import prefill_to_lc
from llamon_agent.inbound.a2a.http import health_route, routes
from llamon_agent.inbound.a2a.presentation import Artifacts
from llamon_agent.runs.ports import Agent, Runtime, TaskStore
from llamon_agent.runs.service import RunService
from llamon_agent.store.folder import own_folder
from llamon_agent.store.memory import MemoryTaskStore
from llamon_agent.store.sqlite import SqliteTaskStore

logger = logging.getLogger(__name__)

_WAIT_BEYOND_RUN_S = 5.0
"""A blocking call waits a little longer than a run may take, so that it sees the run's end and not its own."""

_DRAIN_S = 10.0
"""How long a stopping edge lets its runs finish, before it ends them."""

_FIXED_MASK = 0xF << 76 | 0x3 << 62
_FIXED_BITS = 0x7 << 76 | 0x2 << 62
"""The version and the variant in an id of RFC 9562, version 7."""

_TASKS_FILE = "tasks.sqlite"


def now_ms() -> int:
    """The wall clock. Units: milliseconds since 1970 UTC."""
    return time.time_ns() // 1_000_000


def new_id() -> str:
    """An id that nobody else has and that sorts by time, which keeps the store's indexes compact.

    Source: RFC 9562 §5.7 (version 7).
    """
    drawn = int.from_bytes(os.urandom(10))
    value = now_ms() << 80 | drawn & ~_FIXED_MASK | _FIXED_BITS
    digits = f"{value:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


@asynccontextmanager
async def open_edge(config: EdgeConfig) -> AsyncIterator[tuple[RunService, list[BaseRoute]]]:
    """Everything that an edge needs, open while the context lasts. Raises: ConfigError, naming the remedy."""
    async with AsyncExitStack() as stack:
        store = await _open_store(config, stack)
        served = config.served()
        runtimes = {one.target.name: Runtime(one.target, await _open_agent(one, config, stack)) for one in served}
        runs = await stack.enter_async_context(RunService(store, runtimes, clock=now_ms, new_id=new_id))
        await runs.end_orphans()
        yield runs, [*_routes(config, runs, served[0]), health_route()]


def create_app(config: EdgeConfig) -> Starlette:
    """The edge as an ASGI application for any server; its lifespan opens and closes everything."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with open_edge(config) as (_, served_routes):
            app.router.routes.extend(served_routes)
            yield

    return Starlette(lifespan=lifespan)


def serve(config: EdgeConfig) -> None:
    """Serve until SIGINT or SIGTERM. Raises: ConfigError."""
    if not config.a2a.enabled:
        logger.warning("a2a.enabled is false: nothing listens")
        return
    with asyncio.Runner(loop_factory=uvicorn.Config("").get_loop_factory()) as runner:
        runner.run(_serve(config))


async def _serve(config: EdgeConfig) -> None:
    with _listening(config.a2a.host, config.a2a.port) as listener:
        async with open_edge(config) as (runs, served_routes):
            server = _Server(Starlette(routes=served_routes), runs)
            with _stopping_on_signals(server):
                await server.serve(sockets=[listener])


class _Server(uvicorn.Server):
    """uvicorn, but the runs end before the connections do: an open stream must not keep a stopping edge alive."""

    def __init__(self, app: Starlette, runs: RunService) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                lifespan="off",
                log_config=None,
                log_level="warning",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=5,
            )
        )
        self._runs = runs

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """The signals are ours, see `_stopping_on_signals`."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in sockets or []:
            host, port = listener.getsockname()[:2]
            logger.info("running on http://%s:%d", f"[{host}]" if ":" in host else host, port)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._runs.drain(_DRAIN_S)
        await super().shutdown(sockets)


@contextlib.contextmanager
def _stopping_on_signals(server: uvicorn.Server) -> Iterator[None]:
    """The first signal stops the server gracefully, a second one at once."""
    loop = asyncio.get_running_loop()

    def stop(name: str) -> None:
        logger.info("%s: stopping", name)
        server.force_exit = server.should_exit
        server.should_exit = True

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop, number.name)
    try:
        yield
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


@contextlib.contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as exc:
        raise ConfigError(
            f"a2a.listen: cannot listen on {host} port {port}: it is in use or not this machine's; choose another."
        ) from exc
    with listener:
        yield listener


async def _open_store(config: EdgeConfig, stack: AsyncExitStack) -> TaskStore:
    store: TaskStore
    if config.data.ephemeral:
        store = MemoryTaskStore()
    else:
        folder = stack.enter_context(own_folder(config.data.folder))
        store = SqliteTaskStore.open(folder / _TASKS_FILE, durability=config.data.durability)
    stack.push_async_callback(store.close)
    return store


async def _open_agent(served: Served, config: EdgeConfig, stack: AsyncExitStack) -> Agent:
    match served.target.adapter:
        case "echo":
            return _echo(served.target.target)
        case "custom":
            from llamon_agent.adapters.custom.load import load_custom

            return await load_custom(served.target.target, prefill_to_lc=prefill_to_lc)
        case _:
            return await _open_langgraph(served, config.data.folder, stack)


async def _open_langgraph(served: Served, folder: Path, stack: AsyncExitStack) -> Agent:
    from llamon_agent.adapters.langgraph.agent import LangGraphAgent
    from llamon_agent.adapters.langgraph.checkpoints import open_checkpoints
    from llamon_agent.adapters.langgraph.load import load_graph
    from llamon_agent.adapters.langgraph.state import StateMapping

    options = served.langgraph
    mapping = StateMapping(input_key=options.input_key, output_key=options.output_key)
    checkpointer = await stack.enter_async_context(open_checkpoints(options.checkpointer, folder))
    graph = await load_graph(
        served.target.target, checkpointer=checkpointer, mapping=mapping, window_size=options.window_size
    )
    return LangGraphAgent(graph, prefill_to_lc=prefill_to_lc, mapping=mapping, window_size=options.window_size)


def _echo(target: str) -> Agent:
    """The echo agent; its target says in how many pieces it answers, one if empty."""
    from llamon_agent.adapters.echo import EchoAgent

    if target and not target.isdecimal():
        raise ConfigError("a2a.target: the echo adapter's target is the number of pieces it answers in, such as 1.")
    return EchoAgent(int(target or 1))


def _routes(config: EdgeConfig, runs: RunService, served: Served) -> list[BaseRoute]:
    a2a = config.a2a
    endpoint = Endpoint(
        runs,
        agent=served.target.name,
        artifacts=Artifacts(served.artifacts),
        wait_s=served.target.timeout_s + _WAIT_BEYOND_RUN_S,
    )
    return routes(
        endpoint,
        Auth(a2a.tokens()),
        served.profile,
        path=a2a.path,
        started_s=time.time(),
        public_url=a2a.public_url,
        trusted=a2a.trust_proxy,
        max_body_bytes=a2a.max_body_bytes,
    )
