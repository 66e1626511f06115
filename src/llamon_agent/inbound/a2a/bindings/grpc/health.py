"""gRPC's own health service, which says what /readyz says."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import grpc
from grpc_health.v1.health import OVERALL_HEALTH
from grpc_health.v1.health import aio as health
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

_LOOK_EVERY_S = 5.0
"""How late those who watch may hear of a change that nobody has asked about."""


class Health(health.HealthServicer):
    """The health of some services and of the whole, which all share one; not served until it is followed."""

    def __init__(self, services: Sequence[str], *, look_every_s: float = _LOOK_EVERY_S) -> None:
        super().__init__()
        self._names = (OVERALL_HEALTH, *services)
        self._look_every_s = look_every_s
        self._is_ready: Callable[[], Awaitable[bool]] | None = None

    @asynccontextmanager
    async def following(self, is_ready: Callable[[], Awaitable[bool]]) -> AsyncIterator[None]:
        """Tell what is_ready says, while the context lasts."""
        self._is_ready = is_ready
        await self.look()
        looking = asyncio.create_task(self._keep_looking())
        try:
            yield
        finally:
            looking.cancel()
            await asyncio.wait({looking})

    async def look(self) -> None:
        """Find out anew, and tell those who watch. Once `enter_graceful_shutdown` was called it stays as it is."""
        assert self._is_ready is not None
        serves = await self._is_ready()
        for name in self._names:
            await self.set(name, HealthCheckResponse.SERVING if serves else HealthCheckResponse.NOT_SERVING)

    async def Check(  # noqa: N802 -- the library's name
        self, request: HealthCheckRequest, context: "grpc.aio.ServicerContext[HealthCheckRequest, HealthCheckResponse]"
    ) -> HealthCheckResponse:
        await self.look()
        return await super().Check(request, context)

    async def _keep_looking(self) -> None:
        while True:
            await asyncio.sleep(self._look_every_s)
            await self.look()
