"""The word counter, a command line that a real edge serves, called by the official client in both of its modes."""

from collections.abc import AsyncIterator, Iterator

import pytest
from a2a.client import Client
from a2a.types.a2a_pb2 import GetTaskRequest, Message, Part, Role, SendMessageRequest, Task, TaskState
from google.protobuf.json_format import MessageToDict
from tests.e2e.conftest import Edge, connected, running_edge


@pytest.fixture(scope="module")
def edge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Edge]:
    data = tmp_path_factory.mktemp("edge") / "data"
    with running_edge("--config", "examples/process_agent.yaml", data=data) as running:
        yield running


@pytest.fixture
async def client(edge: Edge, version: str) -> AsyncIterator[Client]:
    async with connected(edge.url, version, streaming=False) as client:
        yield client


async def answer(client: Client, text: str, *, task: str = "") -> Task:
    message = Message(message_id=text, role=Role.ROLE_USER, parts=[Part(text=text)], task_id=task)
    [only] = [event async for event in client.send_message(SendMessageRequest(message=message))]
    return only.task


async def test_a_command_answers_with_text_and_data(client: Client) -> None:
    task = await answer(client, "one two two")
    stored = await client.get_task(GetTaskRequest(id=task.id))
    assert stored.status.state == TaskState.TASK_STATE_COMPLETED
    shown = {artifact.name: MessageToDict(artifact.parts[0]) for artifact in stored.artifacts}
    assert shown["words"]["data"] == {"one": 1, "two": 2}
    assert "3 words, 2 of them different." in [part.text for made in stored.artifacts for part in made.parts]


async def test_a_command_asks_and_takes_the_answer(client: Client) -> None:
    asked = await answer(client, "count")
    assert asked.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
    assert asked.status.message.parts[0].text == "Which text shall I count?"
    answered = await answer(client, "just this", task=asked.id)
    assert (answered.id, answered.status.state) == (asked.id, TaskState.TASK_STATE_COMPLETED)


async def test_a_command_that_fails_says_why(client: Client) -> None:
    failed = await answer(client, " ")
    assert failed.status.state == TaskState.TASK_STATE_FAILED
    assert failed.status.message.parts[0].text == "Send me a text to count."
