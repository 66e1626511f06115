"""What an edge serves, and how that is exchanged for something else while it runs.

Rules:
1. All or nothing: a configuration is taken over when every agent of it is open, in one step without an await. Until
   then, and if anything is wrong with it, the old one serves on. Graphs of a langgraph.json that cannot be opened are
   left out, but not those that are served already.
2. An agent whose runtime is the same stays open, so that what it keeps in memory outlives a reload. One that is
   replaced is closed when its last run has ended.
3. Who was served once can be asked about its tasks as long as the process lives, and takes no more messages.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Set
from contextlib import AsyncExitStack, nullcontext
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from llamon_agent.adapters.imports.path import in_project
from llamon_agent.config.edge import EdgeConfig, Served
from llamon_agent.config.langgraph_json import read_project
from llamon_agent.config.signing import open_signer
from llamon_agent.domain.errors import ConfigError
from llamon_agent.domain.profile import Introduction
from llamon_agent.inbound.a2a.bindings.grpc.target import Door
from llamon_agent.inbound.a2a.bindings.jsonrpc.binding import RpcApp
from llamon_agent.inbound.a2a.cards.site import GrpcPort
from llamon_agent.inbound.a2a.endpoint import Webhooks
from llamon_agent.runs.ports.agent import Agent
from llamon_agent.runs.ports.run import Runtime
from llamon_agent.runs.service import RunService
from llamon_agent.serving.left_out import BROKE, check_failed, graphs_of, tell_left_out, without
from llamon_agent.serving.routes import Backing, Offered, Surface, edge_surface

if TYPE_CHECKING:
    from llamon_agent.wire.cards.signing import Signer

logger = logging.getLogger(__name__)

Opened = tuple[Agent, Introduction]

OpenAgent = Callable[[Served, AsyncExitStack], Awaitable[Opened]]
"""Opens an agent, which lasts as long as the stack. Raises: ConfigError."""


class Hosted:
    """An open agent. It lives in a task of its own, as some of what it holds must be closed where it was opened."""

    agent: Agent
    introduction: Introduction

    def __init__(self, served: Served, opening: Callable[[AsyncExitStack], Awaitable[Opened]]) -> None:
        self.served = served
        self._opening = opening
        self._open: asyncio.Future[Opened] = asyncio.get_running_loop().create_future()
        self._leave = asyncio.Event()
        self._task = asyncio.create_task(self._stay())

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
        self.agent, self.introduction = self._open.result()
        return self

    async def close(self) -> None:
        self._leave.set()
        await self._task

    async def _stay(self) -> None:
        async with AsyncExitStack() as stack:
            self._open.set_result(await self._opening(stack))
            await self._leave.wait()


class Edge:
    """An edge as an ASGI application. Use as an async context manager around the run service's."""

    def __init__(
        self,
        runs: RunService,
        open_agent: OpenAgent,
        *,
        webhooks: Webhooks | None = None,
        grpc: GrpcPort | None = None,
    ) -> None:
        self.runs = runs
        self.left_out: Mapping[str, str] = {}  # graphs that are not served, and why
        self._surface: Surface | None = None
        self._open_agent = open_agent
        self._webhooks = webhooks
        self._grpc = grpc
        self._config: EdgeConfig | None = None
        self._hosted: dict[str, Hosted] = {}
        self._defaults: list[str] = []  # which agents were ever the default one, the present one first
        self._names: list[str] = []  # which agents were ever served
        self._leaving: set[asyncio.Task[None]] = set()
        self._changing = asyncio.Lock()
        self._app: ASGIApp = Starlette()
        self._calls: dict[str, ASGIApp] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        for hosted in self._hosted.values():
            self._retire(hosted)
        if self._leaving:
            await asyncio.wait(self._leaving)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        guard = self._surface and self._surface.guard
        if guard and scope["type"] == "http" and (refusal := guard.refusal(scope)):
            await guard.refuse(refusal, scope, send)
            return
        # Calls are what there is most of: their paths are found at once, however many agents there are.
        is_call = scope["type"] == "http" and scope["method"] == "POST"
        app = self._calls.get(scope["path"], self._app) if is_call else self._app
        await app(scope, receive, send)

    def door(self) -> Door:
        """What a gRPC call meets at this moment."""
        assert self._surface is not None  # who answers calls serves
        return self._surface.door

    async def serve(self, config: EdgeConfig) -> None:
        """Serve what this configuration says from now on. Raises: ConfigError, and then nothing has changed."""
        async with self._changing:
            config = self._within_process(config)
            signer = open_signer(config.a2a)
            project = read_project(config.a2a.project) if config.a2a.project else None
            optional = graphs_of(config, project) - self._hosted.keys()
            with project.importable_project(in_project) if project else nullcontext():
                hosted, left_out = await self._hosts(config, optional)
            tell_left_out(config, left_out)
            self._take_over(without(config, left_out.keys()), hosted, signer)
            self.left_out = left_out

    async def reload(self, load: Callable[[], EdgeConfig]) -> EdgeConfig | None:
        """Serve what is loaded; or, if anything is wrong with it, say so and serve on. The configuration, if it was
        taken.

        Not only our errors: the code of an agent may raise anything, and none of it may end what is served.
        """
        try:
            config = load()
            await self.serve(config)
        except ConfigError as exc:
            for problem in exc.public.splitlines():
                logger.error("the new configuration is not taken: %s", problem)  # noqa: TRY400 - it is not our error
            return None
        except Exception:
            logger.exception("the new configuration is not taken: an agent broke while it was opened")
            return None
        logger.info("the new configuration is taken: %s", ", ".join(self._hosted))
        return config

    def once_replaced_have_left(self, then: Callable[[], None]) -> None:
        """Call it as soon as the agents that were replaced are closed; they stay until their runs have ended."""
        if self._leaving:
            left = asyncio.gather(*self._leaving, return_exceptions=True)
            left.add_done_callback(lambda _: then())

    def _within_process(self, config: EdgeConfig) -> EdgeConfig:
        """The configuration, but for what a process cannot change."""
        old = self._config
        if old is None:
            return config
        fixed = {key: getattr(old.a2a, key) for key in ("enabled", "listen", "push", "grpc", "drain_s", "unready_s")}
        changed = [f"a2a.{key}" for key, value in fixed.items() if getattr(config.a2a, key) != value]
        if changed := [*changed, *(["data"] if config.data != old.data else [])]:
            logger.warning("changed, but only a restart can change it: %s", ", ".join(changed))
        return config.model_copy(update={"a2a": config.a2a.model_copy(update=fixed), "data": old.data})

    async def _hosts(self, config: EdgeConfig, optional: Set[str]) -> tuple[dict[str, Hosted], dict[str, str]]:
        """Every agent, open, and why not, of those who may be left out.

        Raises: ConfigError, with the problems of all of them.
        """
        hosted: dict[str, Hosted] = {}
        failed: dict[str, str] = {}
        try:
            for served in config.served():
                name = served.target.name
                try:
                    hosted[name] = await self._host(served)
                except ConfigError as exc:
                    failed[name] = exc.public
                except Exception:  # an agent's own code, which may raise anything
                    if name not in optional:
                        raise
                    logger.exception("%s broke while it was opened", name)
                    failed[name] = BROKE
            check_failed(config, failed, optional)
        except BaseException:
            await self._close_new(hosted.values())
            raise
        return hosted, failed

    async def _host(self, served: Served) -> Hosted:
        kept = self._hosted.get(served.target.name)
        if kept is not None and kept.served.drives_as(served):
            return kept
        return await Hosted(served, lambda stack: self._open_agent(served, stack)).opened()

    async def _close_new(self, hosted: Iterable[Hosted]) -> None:
        for one in hosted:
            if one not in self._hosted.values():
                await one.close()

    def _take_over(self, config: EdgeConfig, hosted: dict[str, Hosted], signer: "Signer | None") -> None:
        """Let the open agents take what comes from now on."""
        agents = [(served, hosted[served.target.name]) for served in config.served()]
        names = [served.target.name for served, _ in agents]
        replaced = [one for one in self._hosted.values() if one not in hosted.values()]
        self._config, self._hosted = config, hosted
        self._defaults = list(dict.fromkeys([names[0], *self._defaults]))
        self._names = list(dict.fromkeys([*self._names, *names]))
        self.runs.replace_runtimes({served.target.name: Runtime(served.target, one.agent) for served, one in agents})
        offered = Offered(
            agents=[(served, served.introduced(one.introduction)) for served, one in agents],
            defaults=self._defaults,
            gone=[name for name in self._names if name not in names],
        )
        backing = Backing(
            runs=self.runs, started_s=time.time(), webhooks=self._webhooks, grpc=self._grpc, signer=signer
        )
        self._surface = edge_surface(config.a2a, offered, backing)
        self._app = Starlette(routes=self._surface.routes)
        calls = [(route.path, route.app) for route in self._surface.routes if isinstance(route, Route)]
        self._calls = {path: app for path, app in reversed(calls) if isinstance(app, RpcApp)}
        for one in replaced:
            self._retire(one)

    def _retire(self, hosted: Hosted) -> None:
        """Close an agent as soon as its runs have ended."""

        async def leave() -> None:
            await self.runs.idle(hosted.agent)
            await hosted.close()

        leaving = asyncio.create_task(leave())
        self._leaving.add(leaving)
        leaving.add_done_callback(self._left)

    def _left(self, leaving: asyncio.Task[None]) -> None:
        self._leaving.discard(leaving)
        if not leaving.cancelled() and (error := leaving.exception()):
            logger.error("an agent could not be closed properly", exc_info=error)
