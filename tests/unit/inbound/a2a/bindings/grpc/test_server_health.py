"""The health that is told without being asked for; what a server tells when it is asked is in `test_server`."""

import asyncio
from typing import Any

from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

from llamon_agent.inbound.a2a.bindings.grpc.server import Health


class Watcher:
    """A call that is told statuses."""

    def __init__(self) -> None:
        self.told: asyncio.Queue[Any] = asyncio.Queue()

    async def watch(self, followed: Health, service: str = "") -> None:
        context: Any = self
        await followed.Watch(HealthCheckRequest(service=service), context)

    async def write(self, response: HealthCheckResponse) -> None:
        await self.told.put(response.status)


async def test_who_watches_hears_of_a_change_that_nobody_asked_about() -> None:
    ready = True

    async def is_ready() -> bool:
        return ready

    followed, watcher = Health(["a.Service"], look_every_s=0.01), Watcher()
    async with asyncio.timeout(5), followed.following(is_ready):
        watching = asyncio.create_task(watcher.watch(followed, "a.Service"))
        assert await watcher.told.get() == HealthCheckResponse.SERVING
        ready = False
        assert await watcher.told.get() == HealthCheckResponse.NOT_SERVING
        watching.cancel()
        await asyncio.wait({watching})


async def test_nobody_is_served_by_a_process_that_is_not_ready_from_the_start() -> None:
    async def is_ready() -> bool:
        return False

    followed, watcher = Health([]), Watcher()
    async with asyncio.timeout(5), followed.following(is_ready):
        watching = asyncio.create_task(watcher.watch(followed))
        assert await watcher.told.get() == HealthCheckResponse.NOT_SERVING
        watching.cancel()
        await asyncio.wait({watching})
