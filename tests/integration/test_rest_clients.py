"""The official client's two HTTP+JSON transports, of 1.0 and of 0.3, against our routes on a socket of loopback."""

import asyncio
import contextlib
import socket
from base64 import b64encode
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
import uvicorn
from a2a.client.transports.base import ClientTransport
from a2a.client.transports.rest import RestTransport
from a2a.compat.v0_3.rest_transport import CompatRestTransport
from a2a.types.a2a_pb2 import (
    AgentCard,
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Role,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskState,
)
from a2a.utils.errors import ContentTypeNotSupportedError, TaskNotCancelableError, TaskNotFoundError
from google.protobuf.json_format import MessageToDict, ParseDict
from starlette.routing import Router
from tests.unit.inbound.a2a.edges import Edge, edge

from llamon_agent.domain.events import Complete, Delta
from llamon_agent.inbound.a2a.bindings.asgi import Admission, Auth
from llamon_agent.inbound.a2a.bindings.rest.binding import rest_routes
from llamon_agent.inbound.a2a.media_types import Modes
from llamon_agent.testing.scripted import Gate, Step

ANSWER: list[Step] = [Delta(text="Hel"), Delta(text="lo"), Complete()]
FILE = bytes(range(256))


class _Server(uvicorn.Server):
    """uvicorn, whose signals belong to the test runner."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def served(it: Edge) -> AsyncIterator[str]:
    """The address of the agent, on a free port until the context ends."""
    app = Router(list(rest_routes(it.endpoint, Admission(auth=Auth({})), path="/a2a")))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(app, lifespan="off", ws="none", log_config=None, timeout_graceful_shutdown=1)
        server = _Server(config)
        async with asyncio.TaskGroup() as group:
            group.create_task(server.serve(sockets=[listener]))
            try:
                yield f"http://127.0.0.1:{listener.getsockname()[1]}/a2a"
            finally:
                server.should_exit = True


@pytest.fixture(params=["1.0", "0.3"])
def version(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


@asynccontextmanager
async def client(it: Edge, version: str) -> AsyncIterator[ClientTransport]:
    """The official client of a version."""
    async with asyncio.timeout(20), served(it) as url, httpx.AsyncClient(timeout=10) as http:
        card = AgentCard()
        card.capabilities.streaming = True
        yield RestTransport(http, card, url) if version == "1.0" else CompatRestTransport(http, card, url)


def message(text: str = "hi", parts: list[Any] | None = None, **more: Any) -> SendMessageRequest:
    sent = {"messageId": "m-1", "role": "ROLE_USER", "parts": parts or [{"text": text}], **more}
    waiting = {"returnImmediately": False, "acceptedOutputModes": ["text/plain"]}
    return ParseDict({"message": sent, "configuration": waiting}, SendMessageRequest())


async def test_a_message_is_sent_and_its_task_read(version: str) -> None:
    async with edge(ANSWER) as it, client(it, version) as transport:
        task = (await transport.send_message(message(contextId="c-1"))).task
        again = await transport.get_task(GetTaskRequest(id=task.id, history_length=1))
    assert (task.context_id, task.status.state) == ("c-1", TaskState.TASK_STATE_COMPLETED)
    assert task.artifacts[0].parts[0].text == "Hello"
    assert again.history[0].role == Role.ROLE_USER
    assert again == task


async def test_a_stream_ends_with_the_answer(version: str) -> None:
    async with edge(ANSWER) as it, client(it, version) as transport:
        told = [event async for event in transport.send_message_streaming(message())]
    kinds = [event.WhichOneof("payload") for event in told]
    wholes = ["artifact_update"] if version == "0.3" else []
    assert kinds == ["task", "artifact_update", "artifact_update", *wholes, "status_update"]
    assert "".join(event.artifact_update.artifact.parts[0].text for event in told[1:3]) == "Hello"
    assert told[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED


async def test_a_running_task_is_followed_and_canceled(version: str) -> None:
    gate = Gate()
    async with edge([Delta(text="a"), gate]) as it, client(it, version) as transport:
        task_id = await it.begin()
        await gate.reached()
        told = transport.subscribe(SubscribeToTaskRequest(id=task_id))
        first = await anext(told)
        canceled = await transport.cancel_task(CancelTaskRequest(id=task_id))
        rest = [event async for event in told]
    assert first.task.id == task_id
    assert canceled.status.state == TaskState.TASK_STATE_CANCELED
    assert rest[-1].status_update.status.state == TaskState.TASK_STATE_CANCELED


async def test_errors_are_what_the_client_knows_them_as(version: str) -> None:
    async with edge(ANSWER) as it, client(it, version) as transport:
        task = (await transport.send_message(message())).task
        with pytest.raises(TaskNotFoundError):
            await transport.get_task(GetTaskRequest(id="nope"))
        with pytest.raises(TaskNotCancelableError):
            await transport.cancel_task(CancelTaskRequest(id=task.id))
        with pytest.raises(ContentTypeNotSupportedError):
            await transport.send_message(message(parts=[{"raw": "AAAA", "mediaType": "image/png"}]))
        with pytest.raises(TaskNotFoundError):
            _ = [event async for event in transport.subscribe(SubscribeToTaskRequest(id="nope"))]


async def test_files_and_data_come_through(version: str) -> None:
    modes = Modes(takes=("*/*",), gives=("*/*",))
    raw = {"raw": b64encode(FILE).decode(), "filename": "f.bin", "mediaType": "image/png"}
    data = {"data": {"n": 1.5, "deep": [None, {"x": "y"}]}}
    async with edge(ANSWER, modes=modes) as it, client(it, version) as transport:
        task = (await transport.send_message(message(parts=[raw, data]))).task
    file, said = task.history[0].parts
    assert (file.raw, file.filename, file.media_type) == (FILE, "f.bin", "image/png")
    assert MessageToDict(said)["data"] == data["data"]


async def test_tasks_are_listed_by_1_0() -> None:
    async with edge(ANSWER, ANSWER) as it, client(it, "1.0") as transport:
        for context in ("a", "b"):
            await transport.send_message(message(contextId=context))
        page = await transport.list_tasks(ListTasksRequest(context_id="b", page_size=5, include_artifacts=True))
    assert (page.total_size, page.page_size, page.tasks[0].context_id) == (1, 5, "b")
