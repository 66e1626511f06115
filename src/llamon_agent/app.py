"""How the parts are wired up: configuration in, a running edge out. The only place that knows every part.

Adapters are imported when an agent needs them, so that an edge without LangGraph never loads it.
"""

import asyncio
import logging
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from starlette.applications import Starlette

from llamon_agent.config.edge import AgentSpec, EdgeConfig
from llamon_agent.domain.errors import ConfigError
from llamon_agent.domain.profile import SelfDescription
from llamon_agent.inbound.a2a.cards.site import GrpcPort
from llamon_agent.inbound.a2a.history.converter import prefill_to_lc
from llamon_agent.inbound.a2a.push.guard import AddressGuard
from llamon_agent.inbound.a2a.push.sender import Sender
from llamon_agent.inbound.a2a.push.webhooks import Webhooks
from llamon_agent.runs.housekeeping import Housekeeper
from llamon_agent.runs.ports.agent import Agent
from llamon_agent.runs.ports.run import Limits
from llamon_agent.runs.ports.store import PushStore
from llamon_agent.runs.service import RunService
from llamon_agent.serving.edge import Edge
from llamon_agent.serving.logs import set_up_logging
from llamon_agent.serving.loop_watch import watching_loop
from llamon_agent.serving.process import (
    Server,
    contained_task,
    exiting_despite_threads,
    freeze_gc,
    listening,
    new_event_loop,
    new_id,
    now_ms,
    rarer_collections,
    reloading_on_hangup,
    run_to_end,
    stopping_on_signals,
)
from llamon_agent.serving.storage import Storage, open_storage

if TYPE_CHECKING:
    from llamon_agent.inbound.a2a.bindings.grpc.server import GrpcServer

logger = logging.getLogger(__name__)

Ready = Callable[[int, Mapping[str, str], bool], None]
"""Is given the port; which graphs of a langgraph.json are left out, and why; whether its `auth` guards the edge."""


@asynccontextmanager
async def open_edge(config: EdgeConfig, grpc: "GrpcServer | None" = None) -> AsyncIterator[Edge]:
    """An edge with everything that it needs, open while the context lasts; it answers gRPC calls where `grpc` is given.

    Raises: ConfigError, naming the remedy.
    """
    async with AsyncExitStack() as stack:
        storage = await stack.enter_async_context(open_storage(config.data))
        store = storage.store
        limits = Limits(lease_s=config.data.lease_s, max_attempts=config.data.max_attempts)
        runs = RunService(store, {}, clock=now_ms, new_id=new_id, limits=limits)
        webhooks = _open_webhooks(config, runs, store)
        edge = await stack.enter_async_context(
            Edge(runs, partial(_open, storage), webhooks=webhooks, grpc=_grpc_port(config, grpc))
        )
        await edge.serve(config)
        if webhooks is not None:
            await stack.enter_async_context(webhooks)
        await stack.enter_async_context(runs)
        await runs.start()
        await stack.enter_async_context(Housekeeper(store, runs.upkeep, config.data.retained, clock=now_ms))
        if webhooks is not None:
            await webhooks.catch_up()
        if grpc is not None:
            await stack.enter_async_context(grpc.serving(edge.grpc_target, runs.readiness.is_ready))
        yield edge


async def find_left_out(config: EdgeConfig) -> Mapping[str, str]:
    """Which graphs an edge would leave out, and why. Opens every agent, and keeps nothing. Raises: ConfigError."""
    data = config.data.model_copy(update={"ephemeral": True})
    async with open_edge(config.model_copy(update={"data": data})) as edge:
        return edge.left_out


def create_app(config: EdgeConfig) -> Starlette:
    """The edge as an ASGI application for any server; its lifespan opens and closes everything."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with open_edge(config, _take_grpc_port(config)) as edge:
            app.router.default = edge
            yield

    return Starlette(lifespan=lifespan)


def serve(
    config: EdgeConfig,
    load: Callable[[], EdgeConfig] | None = None,
    ready: Ready = lambda _port, _left_out, _has_own_auth: None,
) -> None:
    """Serve until SIGINT or SIGTERM; SIGHUP calls `load` again. Raises: ConfigError."""
    if not config.a2a.enabled:
        logger.warning("a2a.enabled is false: nothing listens")
        return
    runner = asyncio.Runner(loop_factory=new_event_loop)
    code = 0
    try:
        code = run_to_end(runner, _serve(config, load or (lambda: config), ready))
    finally:
        with exiting_despite_threads(code=code):
            runner.close()
    if code:
        raise SystemExit(code)


async def _serve(config: EdgeConfig, load: Callable[[], EdgeConfig], ready: Ready) -> None:
    asyncio.get_running_loop().set_task_factory(contained_task)
    with listening(config.a2a.host, config.a2a.port) as listener, rarer_collections():
        grpc = _take_grpc_port(config)
        async with open_edge(config, grpc) as edge:

            async def reload() -> None:
                if taken := await edge.reload(load):
                    set_up_logging(taken.logging.level, taken.logging.format)
                    freeze_gc()
                    edge.once_replaced_have_left(freeze_gc)

            freeze_gc()
            draining = grpc.draining if grpc else None
            started = partial(_report_ready, ready, edge)
            seconds = {"drain_s": config.a2a.drain_s, "unready_s": config.a2a.unready_s}
            server = Server(edge, edge.runs, started, draining, **seconds)
            async with reloading_on_hangup(reload, server.stop):
                with stopping_on_signals(server, _end_commands), watching_loop(edge.runs.running_agents):
                    await server.serve(sockets=[listener])


def _report_ready(ready: Ready, edge: Edge, port: int) -> None:
    ready(port, edge.left_out, edge.has_own_auth)


def _end_commands() -> None:
    """Kill the agents' commands: they must not outlive an edge that ends at once."""
    if "llamon_agent.adapters.process.running_command" in sys.modules:
        from llamon_agent.adapters.process.running_command import kill_all

        kill_all()


def _take_grpc_port(config: EdgeConfig) -> "GrpcServer | None":
    """A gRPC server that already has its port; None where gRPC is not configured. Raises: ConfigError."""
    wanted = config.a2a.grpc
    if wanted.listen is None:
        return None
    try:
        from llamon_agent.inbound.a2a.bindings.grpc.server import GrpcServer, Tls
    except ModuleNotFoundError as exc:
        raise ConfigError(
            "a2a.grpc.listen: gRPC needs packages that are not installed: install llamon-agent[grpc]."
        ) from exc
    tls = Tls(**dict(wanted.tls)) if wanted.tls else None
    return GrpcServer(listen=wanted.listen, tls=tls, max_message_bytes=config.a2a.max_body_bytes)


def _grpc_port(config: EdgeConfig, grpc: "GrpcServer | None") -> GrpcPort | None:
    """The gRPC port for the cards; its host is the one by which callers know the edge."""
    return None if grpc is None else GrpcPort(port=grpc.port, scheme=config.a2a.grpc.card_scheme)


def _open_webhooks(config: EdgeConfig, runs: RunService, store: PushStore) -> Webhooks | None:
    """What notifies webhooks; None where callers may not register any."""
    push = config.a2a.push
    if not push.enabled:
        return None
    guard = AddressGuard(push.allow)
    sender = Sender(guard, timeout_s=push.timeout_s)
    return Webhooks(runs, store, new_id=new_id, guard=guard, sender=sender, max_per_task=push.max_per_task)


async def _open(storage: Storage, spec: AgentSpec, stack: AsyncExitStack) -> tuple[Agent, SelfDescription]:
    """Open an agent; with it, how it describes itself."""
    agent = await _open_agent(spec, storage, stack)
    if spec.target.adapter not in ("langgraph", "model"):
        return agent, SelfDescription()
    from llamon_agent.adapters.langgraph.agent import LangGraphAgent
    from llamon_agent.adapters.langgraph.load import introduce

    assert isinstance(agent, LangGraphAgent)
    target = spec.target.target if spec.target.adapter == "langgraph" else None
    return agent, introduce(agent.graph, target, agent.use)


async def _open_agent(spec: AgentSpec, storage: Storage, stack: AsyncExitStack) -> Agent:
    match spec.target.adapter:
        case "echo":
            return _echo(spec.target.target)
        case "custom":
            from llamon_agent.adapters.custom.agent import load_custom

            return await load_custom(spec.target.target, prefill_to_lc=prefill_to_lc)
        case "process":
            from llamon_agent.adapters.process.agent import load_process

            return load_process(spec.target.target, **dict(spec.process), environ=os.environ)
        case "model":
            return await _open_model(spec, storage, stack)
        case _:
            return await _open_langgraph(spec, storage, stack)


async def _open_langgraph(spec: AgentSpec, storage: Storage, stack: AsyncExitStack) -> Agent:
    from llamon_agent.adapters.langgraph.agent import LangGraphAgent
    from llamon_agent.adapters.langgraph.load import load_graph
    from llamon_agent.adapters.langgraph.run_values import RunValues
    from llamon_agent.adapters.langgraph.state import StateMapping

    options = spec.langgraph
    mapping = StateMapping(input_key=options.input_key, output_key=options.output_key)
    values = RunValues(context=options.context, configurable=options.configurable, caller_sets=options.caller_sets)
    checkpointer = await storage.open_checkpoints(spec, stack)
    stores = await storage.open_store(spec, stack)
    source = await load_graph(
        spec.target.target,
        checkpointer=checkpointer,
        stores=stores,
        stack=stack,
        mapping=mapping,
        window_size=options.window_size,
        values=values,
        agent=spec.target.name,
    )
    return LangGraphAgent(
        source,
        prefill_to_lc=prefill_to_lc,
        mapping=mapping,
        window_size=options.window_size,
        values=values,
        stores=stores,
    )


async def _open_model(spec: AgentSpec, storage: Storage, stack: AsyncExitStack) -> Agent:
    from llamon_agent.adapters.langgraph.agent import LangGraphAgent

    try:
        from llamon_agent.adapters.model.load import ModelOptions, load_model
    except ModuleNotFoundError as exc:
        raise ConfigError(
            "The model adapter needs LangChain, which is not installed: install llamon-agent[model]."
        ) from exc

    memory = spec.langgraph
    checkpointer = await storage.open_checkpoints(spec, stack)
    graph = load_model(
        spec.target.target,
        ModelOptions(**dict(spec.model)),
        checkpointer=checkpointer,
        window_size=memory.window_size,
    )
    stores = await storage.open_store(spec, stack)
    return LangGraphAgent(graph, prefill_to_lc=prefill_to_lc, window_size=memory.window_size, stores=stores)


def _echo(target: str) -> Agent:
    """The echo agent; its target is the number of pieces that it answers in, by default one."""
    from llamon_agent.adapters.echo import EchoAgent

    if target and not target.isdecimal():
        raise ConfigError("a2a.target: the echo adapter's target is the number of pieces it answers in, such as 1.")
    return EchoAgent(int(target or 1))
