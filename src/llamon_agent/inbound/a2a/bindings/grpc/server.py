"""The gRPC server of an edge: its port, its health service, which says what /readyz says, and how it stops."""

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import msgspec
from grpc_health.v1.health import OVERALL_HEALTH, SERVICE_NAME
from grpc_health.v1.health import aio as health
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import add_HealthServicer_to_server

from llamon_agent.domain.errors import ConfigError
from llamon_agent.inbound.a2a.bindings.grpc.binding import GrpcBinding
from llamon_agent.inbound.a2a.bindings.grpc.reflection import Reflection
from llamon_agent.inbound.a2a.bindings.grpc.services import SERVICES
from llamon_agent.inbound.a2a.bindings.grpc.target import GrpcTarget
from llamon_agent.private_files import warn_of_open_secret

_LOOK_EVERY_S = 5.0
"""How late watchers may get a change that no call has found."""


class Health(health.HealthServicer):
    """The health of some services and of the whole, which all share one; not served until it is followed."""

    def __init__(self, services: Sequence[str], *, look_every_s: float = _LOOK_EVERY_S) -> None:
        super().__init__()
        self._names = (OVERALL_HEALTH, *services)
        self._look_every_s = look_every_s
        self._is_ready: Callable[[], Awaitable[bool]] | None = None

    @asynccontextmanager
    async def following(self, is_ready: Callable[[], Awaitable[bool]]) -> AsyncIterator[None]:
        """Report what is_ready returns, while the context lasts."""
        self._is_ready = is_ready
        await self.look()
        looking = asyncio.create_task(self._keep_looking())
        try:
            yield
        finally:
            looking.cancel()
            await asyncio.wait({looking})

    async def look(self) -> None:
        """Ask again, and send the outcome to the watchers. After `enter_graceful_shutdown` it never changes."""
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


logger = logging.getLogger(__name__)

_GRACE_S = 1.0
"""How long the calls of a stopping server have to end; by then the runs have."""


class Tls(msgspec.Struct, frozen=True, kw_only=True):
    """Files in PEM. Shape: with client_ca only callers whose certificate it has signed are accepted."""

    certificate: Path
    key: Path
    client_ca: Path | None = None


class GrpcServer:
    """A server for both versions, on a port that is taken at once. Shape: port is the one that was bound.

    listen is HOST:PORT, port 0 takes a free one. Needs a running loop. Raises: ConfigError.
    """

    def __init__(self, *, listen: str, tls: Tls | None = None, max_message_bytes: int) -> None:
        self._server = grpc.aio.server(options=_options(max_message_bytes))
        self._health = Health([service.name for service in SERVICES])
        self.port = _bind(self._server, listen, tls)
        self._address = f"{listen.rpartition(':')[0]}:{self.port}"

    @asynccontextmanager
    async def serving(
        self, target: Callable[[], GrpcTarget], is_ready: Callable[[], Awaitable[bool]] | None = None
    ) -> AsyncIterator[None]:
        """Answer calls while the context lasts; it can be entered once.

        Shape: target is called anew for every call, and is_ready for each health answer; None: it is always ready.
        """
        binding = GrpcBinding(target)
        reflection = Reflection([*(service.name for service in SERVICES), SERVICE_NAME], binding.admit)
        self._server.add_generic_rpc_handlers([binding.handler(service) for service in SERVICES])
        self._server.add_generic_rpc_handlers(reflection.handlers())
        add_HealthServicer_to_server(self._health, self._server)
        async with self._health.following(is_ready or _always):
            await self._server.start()
            logger.info("gRPC on %s", self._address)
            try:
                yield
            finally:
                await self.draining()
                await self._server.stop(_GRACE_S)
                await binding.close()

    async def draining(self) -> None:
        """Say from now on that this server takes no more work, while it still answers."""
        await self._health.enter_graceful_shutdown()


async def _always() -> bool:
    return True


def _options(max_message_bytes: int) -> Sequence[tuple[str, int]]:
    """How connections are kept.

    A ping well under the 30 seconds after which some proxies close a quiet stream, and which finds a reader that is
    gone; clients may ping as often as every 10 seconds; a connection without calls is closed after 5 minutes. A second
    process on the same port is an error, as it is for HTTP.
    """
    return [
        ("grpc.max_receive_message_length", max_message_bytes),
        ("grpc.max_send_message_length", -1),
        ("grpc.keepalive_time_ms", 15_000),
        ("grpc.keepalive_timeout_ms", 10_000),
        ("grpc.http2.max_pings_without_data", 0),  # else only two, however long a stream is quiet
        ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
        ("grpc.max_connection_idle_ms", 300_000),
        ("grpc.so_reuseport", 0),
    ]


def _bind(server: grpc.aio.Server, listen: str, tls: Tls | None) -> int:
    """Take the port. Raises: ConfigError."""
    credentials = None if tls is None else _credentials(tls)
    try:
        return server.add_insecure_port(listen) if credentials is None else server.add_secure_port(listen, credentials)
    except RuntimeError as exc:
        raise ConfigError(
            f"a2a.grpc.listen: cannot listen on {listen}: it is in use or not this machine's; choose another."
        ) from exc


def _credentials(tls: Tls) -> grpc.ServerCredentials:
    """Raises: ConfigError: asked of OpenSSL first, because grpcio would only say that it cannot take the port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(tls.certificate, tls.key, password="")
    except OSError as exc:  # ssl.SSLError is one
        raise ConfigError(
            "a2a.grpc.tls: certificate and key must be files in PEM that belong together, the key without a password."
        ) from exc
    warn_of_open_secret(tls.key, "the key of gRPC's certificate")
    client_ca: bytes | None = None
    if tls.client_ca is not None:
        try:
            context.load_verify_locations(tls.client_ca)
        except OSError as exc:
            raise ConfigError("a2a.grpc.tls.client_ca: must be a file with certificates in PEM.") from exc
        client_ca = tls.client_ca.read_bytes()
    pair = (tls.key.read_bytes(), tls.certificate.read_bytes())
    return grpc.ssl_server_credentials([pair], client_ca, require_client_auth=client_ca is not None)
