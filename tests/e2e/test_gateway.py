"""An edge as the host of another: gateway -> A -> B, real edges all three, called by the official client."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from a2a.client import Client
from a2a.types.a2a_pb2 import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
    TaskState,
)
from google.protobuf.json_format import MessageToDict, ParseDict
from tests.e2e.conftest import ROOT, Edge, connected, running_edge

pytestmark = pytest.mark.timeout(180)
"""Seconds: three edges, one after the other, take a while to start on a busy machine."""


class Chain:
    """The three edges, outermost first."""

    def __init__(self, gateway: Edge, a: Edge, b: Edge) -> None:
        self.gateway, self.a, self.b = gateway, a, b


def hosting(stack: ExitStack, remote: Edge, data: Path) -> Edge:
    return stack.enter_context(
        running_edge("./examples/gateway.py:graph", data=data, env={"REMOTE_AGENT_URL": remote.url})
    )


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chain]:
    folder = tmp_path_factory.mktemp("chain")
    with ExitStack() as stack:
        b = stack.enter_context(running_edge("./examples/demo_agent.py:graph", data=folder / "b"))
        a = hosting(stack, b, folder / "a")
        yield Chain(hosting(stack, a, folder / "gateway"), a, b)


@pytest.fixture
async def outer(chain: Chain, version: str) -> AsyncIterator[Client]:
    """Waits for its answers."""
    async with connected(chain.gateway.url, version, streaming=False) as client:
        yield client


@pytest.fixture
async def following(chain: Chain, version: str) -> AsyncIterator[Client]:
    """Streams its answers."""
    async with connected(chain.gateway.url, version) as client:
        yield client


def new_context() -> str:
    return f"context-{uuid.uuid4()}"


def saying(*parts: Part, context: str = "", task: str = "", waits: bool = True) -> SendMessageRequest:
    message = Message(message_id=uuid.uuid4().hex, role=Role.ROLE_USER, parts=parts, context_id=context, task_id=task)
    return SendMessageRequest(message=message, configuration=SendMessageConfiguration(return_immediately=not waits))


def text(words: str) -> Part:
    return Part(text=words)


def data(value: Any) -> Part:
    part = Part()
    ParseDict(value, part.data)
    return part


async def answer(client: Client, request: SendMessageRequest) -> Task:
    [only] = [event async for event in client.send_message(request)]
    return only.task


def words(task: Task) -> str:
    return "".join(part.text for artifact in task.artifacts for part in artifact.parts)


async def tasks_of(edge: Edge, context: str) -> list[Task]:
    """An edge's tasks of a context, whole, newest first."""
    async with connected(edge.url, "1.0") as client:
        page = await client.list_tasks(ListTasksRequest(context_id=context))
        return [await client.get_task(GetTaskRequest(id=task.id)) for task in page.tasks]


async def at_b(chain: Chain, context: str) -> list[Task]:
    return await tasks_of(chain.b, f"{context}/remote/remote")


def question(task: Task) -> dict[str, object]:
    [asked] = [part for part in task.status.message.parts if part.HasField("data")]
    [one] = MessageToDict(asked.data)["questions"]
    return dict(one["value"])


async def test_a_conversation_goes_through_both_and_on(chain: Chain, outer: Client) -> None:
    context = new_context()
    await answer(outer, saying(text("my number is 42"), context=context))
    task = await answer(outer, saying(text("what is my number?"), context=context))
    assert task.status.state == TaskState.TASK_STATE_COMPLETED
    assert words(task) == "Your number is 42."
    assert len(await at_b(chain, context)) == 2


async def test_words_stream_through_both(following: Client) -> None:
    events = [event async for event in following.send_message(saying(text("one two three four five")))]
    told = [event.artifact_update for event in events if event.HasField("artifact_update")]
    assert len(told) > 1
    assert (
        "".join(part.text for update in told for part in update.artifact.parts) == "You said: one two three four five"
    )


async def test_progress_comes_up(following: Client) -> None:
    events = [event async for event in following.send_message(saying(text("research llamas")))]
    notes = [part.text for event in events for part in event.status_update.status.message.parts]
    assert "Reading … (2 of 5)" in notes


async def test_the_question_comes_up_and_the_answer_goes_down_to_the_same_task(chain: Chain, outer: Client) -> None:
    context = new_context()
    asked = await answer(outer, saying(text("delete report.txt"), context=context))
    assert asked.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
    assert question(asked) == {"question": "Delete report.txt?", "options": ["approve", "reject"]}
    [waiting] = await at_b(chain, context)
    assert waiting.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
    done = await answer(outer, saying(text("yes"), task=asked.id))
    assert done.status.state == TaskState.TASK_STATE_COMPLETED
    assert words(done) == "report.txt is deleted."
    [finished] = await at_b(chain, context)
    assert finished.id == waiting.id
    assert finished.status.state == TaskState.TASK_STATE_COMPLETED


async def test_an_answer_as_data_stays_data(chain: Chain, outer: Client) -> None:
    context = new_context()
    asked = await answer(outer, saying(text("delete report.txt"), context=context))
    done = await answer(outer, saying(data("reject"), task=asked.id))
    assert words(done) == "report.txt is kept, as you rejected it."
    [task] = await at_b(chain, context)
    [last] = [message for message in task.history if message.role == Role.ROLE_USER][1:]
    [typed] = [part for part in last.parts if part.HasField("data")]
    assert list(MessageToDict(typed.data)["answers"].values()) == ["reject"]


async def test_an_unclear_answer_asks_again_and_approves_nothing(chain: Chain, outer: Client) -> None:
    context = new_context()
    asked = await answer(outer, saying(text("delete report.txt"), context=context))
    again = await answer(outer, saying(text("hmm, what do you think"), task=asked.id))
    assert again.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
    assert question(again) == question(asked)
    [waiting] = await at_b(chain, context)
    assert waiting.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
    done = await answer(outer, saying(text("no"), task=asked.id))
    assert words(done) == "report.txt is kept, as you rejected it."


async def test_cancel_at_the_top_stops_the_work_at_the_bottom(chain: Chain, outer: Client, following: Client) -> None:
    context = new_context()
    task = await answer(outer, saying(text("count slowly to 100"), context=context, waits=False))
    async with asyncio.timeout(20):
        async for event in following.subscribe(SubscribeToTaskRequest(id=task.id)):
            if _notes(event):
                break
    canceled = await outer.cancel_task(CancelTaskRequest(id=task.id))
    assert canceled.status.state == TaskState.TASK_STATE_CANCELED
    [bottom] = await at_b(chain, context)
    assert bottom.status.state == TaskState.TASK_STATE_CANCELED


def _notes(event: StreamResponse) -> bool:
    return any("of 100" in part.text for part in event.status_update.status.message.parts)


async def test_a_failure_at_the_bottom_is_a_failure_at_the_top(outer: Client) -> None:
    task = await answer(outer, saying(text("fail")))
    assert task.status.state == TaskState.TASK_STATE_FAILED


async def test_a_canceled_question_is_canceled_below_and_the_next_message_is_no_answer_to_it(
    chain: Chain, outer: Client
) -> None:
    context = new_context()
    asked = await answer(outer, saying(text("delete report.txt"), context=context))
    await outer.cancel_task(CancelTaskRequest(id=asked.id))
    [dropped] = await at_b(chain, context)
    assert dropped.status.state == TaskState.TASK_STATE_CANCELED
    task = await answer(outer, saying(text("approve"), context=context))
    assert words(task) == "You said: approve"
    assert len(await at_b(chain, context)) == 2


@pytest.mark.parametrize("version", ["1.0"])
async def test_the_answer_arrives_though_the_gateway_was_restarted(chain: Chain, version: str, tmp_path: Path) -> None:
    context = new_context()
    with ExitStack() as first:
        gateway = hosting(first, chain.a, tmp_path / "gateway")
        async with connected(gateway.url, version, streaming=False) as client:
            asked = await answer(client, saying(text("delete report.txt"), context=context))
    with ExitStack() as second:
        gateway = hosting(second, chain.a, tmp_path / "gateway")
        async with connected(gateway.url, version, streaming=False) as client:
            done = await answer(client, saying(text("approve"), task=asked.id))
    assert words(done) == "report.txt is deleted."
    assert len(await at_b(chain, context)) == 1


@pytest.mark.parametrize("version", ["1.0"])
async def test_a_gateway_that_keeps_nothing_leaves_no_question_open(chain: Chain, version: str, tmp_path: Path) -> None:
    context = new_context()
    config = tmp_path / "edge.yaml"
    config.write_text(
        f"agents: {{host: {{target: '{ROOT}/examples/gateway.py:graph', langgraph: {{checkpointer: none}}}}}}"
    )
    env = {"REMOTE_AGENT_URL": chain.b.url}
    before = await _states(chain.b)
    with running_edge("--config", str(config), data=tmp_path / "gateway", env=env) as gateway:
        async with connected(f"{gateway.url}/a2a/host", version, streaming=False) as client:
            failed = await answer(client, saying(text("delete report.txt"), context=context))
            done = await answer(client, saying(text("approve"), context=context))
    assert failed.status.state == TaskState.TASK_STATE_FAILED
    assert words(done) == "You said: approve"
    states = [state for task_id, state in (await _states(chain.b)).items() if task_id not in before]
    assert sorted(states) == [TaskState.TASK_STATE_COMPLETED, TaskState.TASK_STATE_CANCELED]


async def _states(edge: Edge) -> dict[str, int]:
    """The newest tasks of an edge, and how they are."""
    async with connected(edge.url, "1.0") as client:
        page = await client.list_tasks(ListTasksRequest(page_size=100))
        return {task.id: task.status.state for task in page.tasks}
