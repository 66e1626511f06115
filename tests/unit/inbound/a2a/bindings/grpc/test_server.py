"""The server itself: its port, TLS, health and reflection, how it stops; and the official client against it."""

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
import uvloop
from a2a.client import Client, ClientConfig, ClientFactory
from a2a.types import a2a_pb2 as new
from a2a.utils.constants import TransportProtocol
from a2a.utils.errors import TaskNotCancelableError, TaskNotFoundError
from grpc_health.v1 import health_pb2
from grpc_health.v1.health_pb2 import HealthCheckResponse
from grpc_reflection.v1alpha import reflection_pb2
from tests.unit.inbound.a2a.bindings.grpc.calling import NEW, Calling, calling, message, refusal, saying, text_of
from tests.unit.inbound.a2a.bindings.grpc.certificates import Authority

from llamon_agent.domain.errors import ConfigError
from llamon_agent.domain.events import Complete, Delta
from llamon_agent.domain.message import Raw
from llamon_agent.inbound.a2a.bindings.asgi import Admission, Auth
from llamon_agent.inbound.a2a.bindings.grpc.server import GrpcServer, Tls
from llamon_agent.inbound.a2a.bindings.grpc.target import GrpcTarget
from llamon_agent.inbound.a2a.media_types import Modes
from llamon_agent.serving.process import contained_task
from llamon_agent.testing.scripted import Gate, Step

ANSWER: list[Step] = [Delta(text="Hel"), Delta(text="lo"), Complete()]
SERVING, NOT_SERVING = HealthCheckResponse.SERVING, HealthCheckResponse.NOT_SERVING


# The port.


async def test_a_free_port_is_taken_and_reported() -> None:
    async with calling() as it:
        assert it.server.port > 0


async def test_a_port_that_is_taken_is_a_problem_of_the_configuration() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ConfigError, match=r"a2a\.grpc\.listen"):
            GrpcServer(listen=listen, max_message_bytes=1024)


async def test_two_edges_do_not_share_a_port() -> None:
    async with calling() as it:
        with pytest.raises(ConfigError, match=r"a2a\.grpc\.listen"):
            GrpcServer(listen=f"127.0.0.1:{it.server.port}", max_message_bytes=1024)


def test_it_runs_on_the_loop_and_with_the_tasks_that_an_edge_has() -> None:
    async def answered() -> str:
        asyncio.get_running_loop().set_task_factory(contained_task)
        async with calling(ANSWER) as it:
            return text_of((await it.ask(NEW + "SendMessage", saying(), new.SendMessageResponse)).task)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(answered()) == "Hello"


async def test_a_reload_is_met_by_the_next_call() -> None:
    async with calling(ANSWER) as one, calling(ANSWER) as two:
        doors = iter([GrpcTarget(endpoint=it.edge.endpoint, admission=Admission(auth=Auth({}))) for it in (one, two)])
        server = GrpcServer(listen="127.0.0.1:0", max_message_bytes=1024)
        async with (
            server.serving(lambda: next(doors)),
            grpc.aio.insecure_channel(f"127.0.0.1:{server.port}") as channel,
        ):
            both = Calling(one.edge, server, channel)
            for _ in range(2):
                await both.ask(NEW + "SendMessage", saying(), new.SendMessageResponse)
    assert [len(it.edge.agent.turns) for it in (one, two)] == [1, 1]


# Health and reflection.


async def health(it: Calling, service: str = "") -> Any:
    request = health_pb2.HealthCheckRequest(service=service)
    return (await it.ask("/grpc.health.v1.Health/Check", request, HealthCheckResponse)).status


@pytest.mark.parametrize("service", ["", "lf.a2a.v1.A2AService", "a2a.v1.A2AService"])
async def test_health_says_serving_and_then_not(service: str) -> None:
    async with calling() as it:
        assert await health(it, service) == SERVING
        watching = it.follow("/grpc.health.v1.Health/Watch", health_pb2.HealthCheckRequest(), HealthCheckResponse)
        statuses = aiter(watching)
        assert (await anext(statuses)).status == SERVING
        await it.server.draining()
        assert (await anext(statuses)).status == NOT_SERVING
        assert await health(it, service) == NOT_SERVING


async def test_health_is_what_it_is_when_it_is_asked() -> None:
    ready = asyncio.Event()
    ready.set()

    async def is_ready() -> bool:
        return ready.is_set()

    async with calling(is_ready=is_ready) as it:
        watching = it.follow("/grpc.health.v1.Health/Watch", health_pb2.HealthCheckRequest(), HealthCheckResponse)
        statuses = aiter(watching)
        assert (await anext(statuses)).status == SERVING
        for change, status in ((ready.clear, NOT_SERVING), (ready.set, SERVING)):
            change()
            assert await health(it, "lf.a2a.v1.A2AService") == status
            assert (await anext(statuses)).status == status
        await it.server.draining()
        assert await health(it) == NOT_SERVING


async def test_a_draining_server_still_answers() -> None:
    async with calling(ANSWER) as it:
        await it.server.draining()
        assert (await it.ask(NEW + "ListTasks", new.ListTasksRequest(), new.ListTasksResponse)).total_size == 0


REFLECTION = ("grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection")


def reflecting(it: Calling, service: str, *asked: Mapping[str, Any], token: str | None = None) -> Any:
    """The answers to some questions about what there is."""
    request, response = reflection_pb2.ServerReflectionRequest, reflection_pb2.ServerReflectionResponse
    ask: Any = it.channel.stream_stream(
        f"/{service}/ServerReflectionInfo",
        request_serializer=request.SerializeToString,
        response_deserializer=response.FromString,
    )
    metadata = () if token is None else (("authorization", f"Bearer {token}"),)
    return ask(iter([request(**one) for one in asked]), metadata=metadata)


@pytest.mark.parametrize("service", REFLECTION)
async def test_reflection_lists_all_services_and_describes_each(service: str) -> None:
    async with calling() as it:
        [listed] = [answer async for answer in reflecting(it, service, {"list_services": ""})]
        names = {one.name for one in listed.list_services_response.service}
        asked = [{"file_containing_symbol": name} for name in (*names, "a2a.v1.TaskSubscriptionRequest")]
        described = [answer async for answer in reflecting(it, service, *asked)]
    assert names == {"lf.a2a.v1.A2AService", "a2a.v1.A2AService", "grpc.health.v1.Health", *REFLECTION}
    assert all(one.file_descriptor_response.file_descriptor_proto for one in described)


@pytest.mark.parametrize("service", REFLECTION)
async def test_reflection_asks_for_the_token_and_health_does_not(service: str) -> None:
    async with calling(tokens={"ann": "s3cret"}) as it:
        for token in (None, "wrong"):
            refused = await refusal(anext(aiter(reflecting(it, service, {"list_services": ""}, token=token))))
            assert refused.code() is grpc.StatusCode.UNAUTHENTICATED
        answers = [answer async for answer in reflecting(it, service, {"list_services": ""}, token="s3cret")]
        assert answers[0].list_services_response.service
        assert await health(it) == SERVING


# TLS.


@asynccontextmanager
async def secured(it: Calling, tls: Tls, credentials: grpc.ChannelCredentials) -> AsyncIterator[Calling]:
    """Another server in front of the same edge, with TLS, and a channel to it."""
    target = GrpcTarget(endpoint=it.edge.endpoint, admission=Admission(auth=Auth({})))
    server = GrpcServer(listen="localhost:0", tls=tls, max_message_bytes=1024)
    async with (
        server.serving(lambda: target),
        grpc.aio.secure_channel(f"localhost:{server.port}", credentials) as channel,
    ):
        yield Calling(it.edge, server, channel)


async def test_calls_are_taken_over_tls(tmp_path: Path) -> None:
    authority = Authority()
    certificate, key = authority.files(tmp_path, "localhost")
    credentials = grpc.ssl_channel_credentials(authority.pem)
    async with calling(ANSWER) as it, secured(it, Tls(certificate=certificate, key=key), credentials) as safe:
        sent = await safe.ask(NEW + "SendMessage", saying(), new.SendMessageResponse)
        async with grpc.aio.insecure_channel(f"localhost:{safe.server.port}") as plain:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await Calling(it.edge, it.server, plain).ask(NEW + "GetTask", new.GetTaskRequest(id="t"), new.Task)
    assert text_of(sent.task) == "Hello"
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_with_a_ca_for_clients_only_their_certificates_are_let_in(tmp_path: Path) -> None:
    authority = Authority()
    certificate, key = authority.files(tmp_path, "localhost")
    (tmp_path / "ca.pem").write_bytes(authority.pem)
    tls = Tls(certificate=certificate, key=key, client_ca=tmp_path / "ca.pem")
    request = new.ListTasksRequest()
    async with calling() as it:
        known = grpc.ssl_channel_credentials(authority.pem, key.read_bytes(), certificate.read_bytes())
        async with secured(it, tls, known) as safe:
            await safe.ask(NEW + "ListTasks", request, new.ListTasksResponse)
        async with secured(it, tls, grpc.ssl_channel_credentials(authority.pem)) as safe:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await safe.ask(NEW + "ListTasks", request, new.ListTasksResponse)
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE


@pytest.mark.parametrize("wrong", ["certificate", "key", "client_ca"])
@pytest.mark.parametrize("content", [None, b"not a PEM"])
async def test_a_file_that_does_not_do_is_named(tmp_path: Path, wrong: str, content: bytes | None) -> None:
    certificate, key = Authority().files(tmp_path, "localhost")
    given = {"certificate": certificate, "key": key, "client_ca": certificate} | {wrong: tmp_path / "wrong.pem"}
    if content is not None:
        (tmp_path / "wrong.pem").write_bytes(content)
    with pytest.raises(ConfigError, match=r"a2a\.grpc\.tls"):
        GrpcServer(listen="127.0.0.1:0", tls=Tls(**given), max_message_bytes=1024)


# The official client, in both of its versions.


@asynccontextmanager
async def official(it: Calling, version: str) -> AsyncIterator[Client]:
    way = new.AgentInterface(
        url=f"127.0.0.1:{it.server.port}", protocol_binding=TransportProtocol.GRPC, protocol_version=version
    )
    card = new.AgentCard(
        name="n",
        supported_interfaces=[way],
        capabilities=new.AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
    )
    config = ClientConfig(
        grpc_channel_factory=grpc.aio.insecure_channel, supported_protocol_bindings=[TransportProtocol.GRPC]
    )
    async with ClientFactory(config).create(card) as client:
        yield client


@pytest.mark.parametrize("version", ["1.0", "0.3"])
async def test_the_official_client_sends_follows_gets_and_cancels(version: str) -> None:
    gate = Gate()
    async with calling(ANSWER, [Delta(text="x"), gate]) as it, official(it, version) as client:
        events = [event async for event in client.send_message(saying())]
        done = await client.get_task(new.GetTaskRequest(id=events[0].task.id))
        assert (done.status.state, text_of(done)) == (new.TASK_STATE_COMPLETED, "Hello")
        assert [event.WhichOneof("payload") for event in events] == [
            "task",
            *["artifact_update"] * (2 if version == "1.0" else 3),
            "status_update",
        ]
        task_id = await it.begin()
        canceled = await client.cancel_task(new.CancelTaskRequest(id=task_id))
        assert canceled.status.state == new.TASK_STATE_CANCELED
        with pytest.raises(TaskNotCancelableError):
            await client.cancel_task(new.CancelTaskRequest(id=done.id))
        with pytest.raises(TaskNotFoundError):
            await client.get_task(new.GetTaskRequest(id="nope"))


@pytest.mark.parametrize("version", ["1.0", "0.3"])
async def test_the_official_client_sends_files_byte_for_byte(version: str) -> None:
    content = bytes(range(256))
    async with calling(ANSWER, modes=Modes(takes=("*/*",))) as it, official(it, version) as client:
        request = new.SendMessageRequest(message=message())
        request.message.parts.add(raw=content, filename="a.bin", media_type="application/octet-stream")
        events = [event async for event in client.send_message(request)]
        [turn] = it.edge.agent.turns
    assert [part.data for part in turn.message.parts if isinstance(part, Raw)] == [content]
    assert [part.raw for part in events[0].task.history[0].parts if part.raw] == [content]
