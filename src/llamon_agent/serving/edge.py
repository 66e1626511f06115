"""What an edge serves, and how a reload replaces it while the edge runs.

Rules:
1. All or nothing: a new configuration takes effect when all its agents are open, in one step without an await. Until
   then, and if anything is wrong with it, the old one stays in effect. Graphs of a langgraph.json that cannot be opened
   are left out, but not those that are served already.
2. An agent whose runtime is unchanged stays open, so that what it keeps in memory survives a reload. An agent that is
   replaced is closed when its last run has ended.
3. Callers can ask for the tasks of an agent that is no longer served as long as the process lives. It takes no more
   messages.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Set
from contextlib import AsyncExitStack, nullcontext
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from llamon_agent.adapters.imports.path import in_project
from llamon_agent.config.edge import AgentSpec, EdgeConfig
from llamon_agent.config.langgraph_json import read_project
from llamon_agent.config.signing import open_signer
from llamon_agent.domain.errors import ConfigError
from llamon_agent.domain.profile import SelfDescription
from llamon_agent.inbound.a2a.bindings.grpc.target import GrpcTarget
from llamon_agent.inbound.a2a.cards.site import GrpcPort
from llamon_agent.inbound.a2a.endpoint import Webhooks
from llamon_agent.runs.ports.agent import Agent
from llamon_agent.runs.ports.run import Runtime
from llamon_agent.runs.service import RunService
from llamon_agent.serving.cors import Cors
from llamon_agent.serving.left_out import BROKE, check_failed, graphs_of, log_left_out, without
from llamon_agent.serving.project_auth import open_project_auth
from llamon_agent.serving.routes import AgentSet, EdgeRoutes, EdgeServices, build_routes

if TYPE_CHECKING:
    from llamon_agent.adapters.langgraph.auth import ProjectAuth
    from llamon_agent.wire.cards.signing import Signer

logger = logging.getLogger(__name__)

OpenedAgent = tuple[Agent, SelfDescription]

AgentOpener = Callable[[AgentSpec, AsyncExitStack], Awaitable[OpenedAgent]]
"""Opens an agent, which stays open as long as the stack. Raises: ConfigError."""


class OpenAgent:
    """An open agent, in an asyncio task of its own: some resources must be closed by the task that opened them."""

    agent: Agent
    self_description: SelfDescription

    def __init__(self, spec: AgentSpec, opening: Callable[[AsyncExitStack], Awaitable[OpenedAgent]]) -> None:
        self.spec = spec
        self._opening = opening
        self._open: asyncio.Future[OpenedAgent] = asyncio.get_running_loop().create_future()
        self._closing = asyncio.Event()
        self._task = asyncio.create_task(self._stay_open())

    async def opened(self) -> Self:
        """Wait until it is open. Raises: ConfigError."""
        either: set[asyncio.Future[Any]] = {self._task, self._open}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self._task.cancel()
            raise
        if not self._open.done():
            await self._task
        self.agent, self.self_description = self._open.result()
        return self

    async def close(self) -> None:
        self._closing.set()
        await self._task

    async def _stay_open(self) -> None:
        async with AsyncExitStack() as stack:
            self._open.set_result(await self._opening(stack))
            await self._closing.wait()


class Edge:
    """An edge as an ASGI application. Use as an async context manager around the run service's."""

    def __init__(
        self,
        runs: RunService,
        open_agent: AgentOpener,
        *,
        webhooks: Webhooks | None = None,
        grpc: GrpcPort | None = None,
    ) -> None:
        self.runs = runs
        self.left_out: Mapping[str, str] = {}  # graphs that are not served, and why
        self.has_own_auth = False  # whether the authentication of a project guards it
        self._routes: EdgeRoutes | None = None
        self._open_agent = open_agent
        self._webhooks = webhooks
        self._grpc = grpc
        self._config: EdgeConfig | None = None
        self._agents: dict[str, OpenAgent] = {}
        self._defaults: list[str] = []  # the default agent, and then those that were the default earlier
        self._names: list[str] = []  # all agents that this process has served
        self._retiring: set[asyncio.Task[None]] = set()
        self._reload_lock = asyncio.Lock()
        self._app: ASGIApp = Starlette()
        self._cors: Cors | None = None
        self._rpc_apps: Mapping[str, ASGIApp] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        for agent in self._agents.values():
            self._retire(agent)
        if self._retiring:
            await asyncio.wait(self._retiring)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        guard = self._routes and self._routes.guard
        if guard and scope["type"] == "http" and (refusal := guard.refusal(scope)):
            await guard.refuse(refusal, scope, send)
        elif self._cors and scope["type"] == "http" and self._cors.concerns(scope):
            await self._cors(scope, receive, send)
        else:
            await self._dispatch(scope, receive, send)

    async def _dispatch(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Nearly every request is a call of JSON-RPC, whose path is looked up without the router.
        is_call = scope["type"] == "http" and scope["method"] == "POST"
        app = self._rpc_apps.get(scope["path"], self._app) if is_call else self._app
        await app(scope, receive, send)

    def grpc_target(self) -> GrpcTarget:
        """What answers a gRPC call at this moment."""
        assert self._routes is not None  # gRPC starts after `serve`
        return self._routes.grpc_target

    async def serve(self, config: EdgeConfig) -> None:
        """Serve this configuration from now on. Raises: ConfigError, and then nothing has changed."""
        async with self._reload_lock:
            config = self._without_fixed_changes(config)
            signer = open_signer(config.a2a)
            project = read_project(config.a2a.project) if config.a2a.project else None
            optional = graphs_of(config, project) - self._agents.keys()
            with project.importable_project(in_project) if project else nullcontext():
                own_auth = await open_project_auth(config.a2a, project)
                agents, left_out = await self._open_all(config, optional)
            log_left_out(config, left_out)
            self._take_effect(without(config, left_out.keys()), agents, signer, own_auth)
            self.left_out = left_out

    async def reload(self, load: Callable[[], EdgeConfig]) -> EdgeConfig | None:
        """Load a configuration and serve it; if anything is wrong with it, log that and keep the old one.

        Returns the new configuration, None where it was not taken. Every exception is caught: the code of an agent may
        raise anything, and the edge must not stop for it.
        """
        try:
            config = load()
            await self.serve(config)
        except ConfigError as exc:
            for problem in exc.public.splitlines():
                logger.error("the new configuration is not taken: %s", problem)  # noqa: TRY400 - the person's error, not ours
            return None
        except Exception:
            logger.exception("the new configuration is not taken: an agent broke while it was opened")
            return None
        logger.info("the new configuration is taken: %s", ", ".join(self._agents))
        return config

    def once_replaced_have_left(self, then: Callable[[], None]) -> None:
        """Call it as soon as the agents that were replaced are closed; they stay until their runs have ended."""
        if self._retiring:
            left = asyncio.gather(*self._retiring, return_exceptions=True)
            left.add_done_callback(lambda _: then())

    def _without_fixed_changes(self, config: EdgeConfig) -> EdgeConfig:
        """The configuration, except what only a restart can change: that stays as it is."""
        old = self._config
        if old is None:
            return config
        fixed = {key: getattr(old.a2a, key) for key in ("enabled", "listen", "push", "grpc", "drain_s", "unready_s")}
        changed = [f"a2a.{key}" for key, value in fixed.items() if getattr(config.a2a, key) != value]
        if changed := [*changed, *(["data"] if config.data != old.data else [])]:
            logger.warning("changed, but only a restart can change it: %s", ", ".join(changed))
        return config.model_copy(update={"a2a": config.a2a.model_copy(update=fixed), "data": old.data})

    async def _open_all(self, config: EdgeConfig, optional: Set[str]) -> tuple[dict[str, OpenAgent], dict[str, str]]:
        """Open every agent; those that are open, and for the optional ones that are not, the reason.

        Raises: ConfigError, with the problems of all of them.
        """
        agents: dict[str, OpenAgent] = {}
        failed: dict[str, str] = {}
        try:
            for spec in config.agent_specs():
                name = spec.target.name
                try:
                    agents[name] = await self._open(spec)
                except ConfigError as exc:
                    failed[name] = exc.public
                except Exception:  # an agent's own code, which may raise anything
                    if name not in optional:
                        raise
                    logger.exception("%s broke while it was opened", name)
                    failed[name] = BROKE
            check_failed(config, failed, optional)
        except BaseException:
            await self._close_new(agents.values())
            raise
        return agents, failed

    async def _open(self, spec: AgentSpec) -> OpenAgent:
        kept = self._agents.get(spec.target.name)
        if kept is not None and kept.spec.has_same_runtime_as(spec):
            return kept
        return await OpenAgent(spec, lambda stack: self._open_agent(spec, stack)).opened()

    async def _close_new(self, agents: Iterable[OpenAgent]) -> None:
        for one in agents:
            if one not in self._agents.values():
                await one.close()

    def _take_effect(
        self,
        config: EdgeConfig,
        opened: dict[str, OpenAgent],
        signer: "Signer | None",
        own_auth: "ProjectAuth | None",
    ) -> None:
        """From now on these agents take the calls."""
        agents = [(spec, opened[spec.target.name]) for spec in config.agent_specs()]
        names = [spec.target.name for spec, _ in agents]
        replaced = [one for one in self._agents.values() if one not in opened.values()]
        self._config, self._agents = config, opened
        self._defaults = list(dict.fromkeys([names[0], *self._defaults]))
        self._names = list(dict.fromkeys([*self._names, *names]))
        self.runs.replace_runtimes({spec.target.name: Runtime(spec.target, one.agent) for spec, one in agents})
        self.has_own_auth = own_auth is not None
        reads_bearer = own_auth is not None and own_auth.reads_bearer
        profiles = [spec.introduced(one.self_description) for spec, one in agents]
        agent_set = AgentSet(
            agents=[
                (spec, replace(profile, bearer=profile.bearer or reads_bearer))
                for (spec, _), profile in zip(agents, profiles, strict=True)
            ],
            defaults=self._defaults,
            gone=[name for name in self._names if name not in names],
        )
        services = EdgeServices(
            runs=self.runs,
            started_s=time.time(),
            webhooks=self._webhooks,
            grpc=self._grpc,
            signer=signer,
            own_auth=own_auth,
        )
        self._routes = build_routes(config.a2a, agent_set, services)
        self._app = Starlette(routes=self._routes.routes)
        self._cors = Cors(self._dispatch, config.a2a, self._routes.public) if config.a2a.cors_origins else None
        self._rpc_apps = self._routes.rpc_apps
        for one in replaced:
            self._retire(one)

    def _retire(self, agent: OpenAgent) -> None:
        """Close an agent as soon as its runs have ended."""

        async def close_when_idle() -> None:
            await self.runs.idle(agent.agent)
            await agent.close()

        retiring = asyncio.create_task(close_when_idle())
        self._retiring.add(retiring)
        retiring.add_done_callback(self._retired)

    def _retired(self, retiring: asyncio.Task[None]) -> None:
        self._retiring.discard(retiring)
        if not retiring.cancelled() and (error := retiring.exception()):
            logger.error("an agent could not be closed properly", exc_info=error)
