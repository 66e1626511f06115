"""The demo agent called by the official client over a real socket, in its 1.0 and its 0.3 mode."""

import asyncio
import uuid
from typing import Any

import pytest
from a2a.client import Client
from a2a.types.a2a_pb2 import (
    Artifact,
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
from a2a.utils.errors import A2AError, InvalidParamsError, TaskNotCancelableError, TaskNotFoundError
from google.protobuf.json_format import MessageToDict, ParseDict


def unique(prefix: str = "context") -> str:
    return f"{prefix}-{uuid.uuid4()}"


def saying(
    text: str, *, context: str = "", task: str = "", history: list[dict[str, Any]] | None = None
) -> SendMessageRequest:
    message = Message(
        message_id=unique("m"), role=Role.ROLE_USER, parts=[Part(text=text)], context_id=context, task_id=task
    )
    if history is not None:
        ParseDict({"history": history}, message.metadata)
    return SendMessageRequest(message=message)


def turn(role: str, text: str, version: str) -> dict[str, Any]:
    """A turn of history as a host of that version has it."""
    if version == "0.3":
        return {"kind": "message", "messageId": unique(), "role": role, "parts": [{"kind": "text", "text": text}]}
    return {"messageId": unique(), "role": f"ROLE_{role.upper()}", "parts": [{"text": text}]}


def seeded(task: Task) -> int:
    return int(MessageToDict(task.metadata)["history"]["seeded"])


async def events(client: Client, request: SendMessageRequest) -> list[StreamResponse]:
    return [event async for event in client.send_message(request)]


async def answer(client: Client, request: SendMessageRequest) -> Task:
    """The task of a call that waits."""
    [only] = await events(client, request)
    return only.task


def text_of(artifacts: list[Artifact] | Any) -> str:
    return "".join(part.text for artifact in artifacts for part in artifact.parts)


def rebuilt(stream: list[StreamResponse]) -> Task:
    """The task as a host keeps it that follows the stream."""
    task = Task()
    assert stream[0].HasField("task")
    task.CopyFrom(stream[0].task)
    for event in stream[1:]:
        if event.HasField("status_update"):
            task.status.CopyFrom(event.status_update.status)
        else:
            _grow(task, event)
    return task


def _grow(task: Task, event: StreamResponse) -> None:
    update = event.artifact_update
    found = next((a for a in task.artifacts if a.artifact_id == update.artifact.artifact_id), None)
    if found is None:
        found = task.artifacts.add()
        found.artifact_id = update.artifact.artifact_id
    text = text_of([found]) if update.append else ""
    del found.parts[:]
    found.parts.add(text=text + text_of([update.artifact]))


async def test_a_blocking_send_answers_with_the_finished_task(blocking: Client) -> None:
    context = unique()
    task = await answer(blocking, saying("hello there", context=context))
    assert task.status.state == TaskState.TASK_STATE_COMPLETED
    assert not task.status.HasField("message")
    assert task.context_id == context
    assert "hello there" in text_of(task.artifacts)
    assert len(task.artifacts) == 1
    assert len(task.artifacts[0].parts) == 1


async def test_a_stream_rebuilds_the_stored_task(client: Client) -> None:
    stream = await events(client, saying("hello there"))
    task = rebuilt(stream)
    stored = await client.get_task(GetTaskRequest(id=task.id))
    assert text_of(task.artifacts) == text_of(stored.artifacts) != ""
    assert task.status == stored.status
    chunks = [event.artifact_update for event in stream if event.HasField("artifact_update")]
    assert len(chunks) > 1
    assert [chunk.append for chunk in chunks] == [False] + [True] * (len(chunks) - 1)
    assert [chunk.last_chunk for chunk in chunks] == [False] * len(chunks)
    assert stream[-1].HasField("status_update")


async def test_a_context_remembers_without_any_history(blocking: Client) -> None:
    context = unique()
    await answer(blocking, saying("my number is 42", context=context))
    task = await answer(blocking, saying("what is my number?", context=context))
    assert "42" in text_of(task.artifacts)
    stranger = await answer(blocking, saying("what is my number?", context=unique()))
    assert "42" not in text_of(stranger.artifacts)


async def test_history_in_the_message_is_seeded_once(blocking: Client, version: str) -> None:
    context = unique()
    history = [turn("user", "the code word is apple", version), turn("agent", "I will remember it.", version)]
    first = await answer(blocking, saying("what was the code word?", context=context, history=history))
    assert "apple" in text_of(first.artifacts)
    assert seeded(first) == 2
    later = [turn("user", "the code word is pear", version)]
    second = await answer(blocking, saying("what was the code word?", context=context, history=later))
    assert "apple" in text_of(second.artifacts)
    assert seeded(second) == 0


async def test_history_in_the_params_is_seeded_too(blocking: Client, version: str) -> None:
    request = saying("what was the code word?", context=unique())
    ParseDict({"history": [turn("user", "the code word is apple", version)]}, request.metadata)
    assert "apple" in text_of((await answer(blocking, request)).artifacts)


async def test_the_history_is_not_echoed(blocking: Client, version: str) -> None:
    task = await answer(blocking, saying("hi", history=[turn("user", "the code word is apple", version)]))
    assert "apple" not in str(task)


async def test_a_question_is_asked_and_its_answer_goes_on_with_the_task(client: Client) -> None:
    context = unique()
    asked = rebuilt(await events(client, saying("delete report.txt", context=context)))
    assert asked.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
    assert "report.txt" in text_of_message(asked)
    done = rebuilt(await events(client, saying("yes", task=asked.id)))
    assert (done.id, done.context_id) == (asked.id, context)
    assert done.status.state == TaskState.TASK_STATE_COMPLETED
    stored = await client.get_task(GetTaskRequest(id=asked.id))
    assert "report.txt" in text_of(stored.artifacts)


async def test_an_unclear_answer_asks_again_and_no_is_no(client: Client) -> None:
    context = unique()
    asked = rebuilt(await events(client, saying("delete report.txt", context=context)))
    again = rebuilt(await events(client, saying("hmm, what do you think", task=asked.id)))
    assert again.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
    done = rebuilt(await events(client, saying("no", context=context)))
    assert done.id == asked.id
    assert done.status.state == TaskState.TASK_STATE_COMPLETED
    stored = await client.get_task(GetTaskRequest(id=asked.id))
    assert "kept" in text_of(stored.artifacts)


def text_of_message(task: Task) -> str:
    return "".join(part.text for part in task.status.message.parts)


async def background(client: Client, text: str, context: str = "") -> Task:
    """A call that does not wait."""
    request = saying(text, context=context)
    request.configuration.CopyFrom(SendMessageConfiguration(return_immediately=True))
    return await answer(client, request)


async def until(client: Client, task_id: str, state: TaskState) -> Task:
    """Follow the task to that state."""
    async for event in client.subscribe(SubscribeToTaskRequest(id=task_id)):
        current = event.task.status if event.HasField("task") else event.status_update.status
        if current.state == state:
            break
    return await client.get_task(GetTaskRequest(id=task_id))


async def test_a_background_send_answers_at_once_and_the_task_goes_on(blocking: Client, client: Client) -> None:
    task = await background(blocking, "research whales")
    assert task.status.state in (TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING)
    async with asyncio.timeout(20):
        done = await until(client, task.id, TaskState.TASK_STATE_COMPLETED)
    assert text_of(done.artifacts)


async def test_a_subscription_shows_the_task_and_then_what_follows(blocking: Client, client: Client) -> None:
    task = await background(blocking, "research whales")
    async with asyncio.timeout(20):
        stream = [event async for event in client.subscribe(SubscribeToTaskRequest(id=task.id))]
    stored = await client.get_task(GetTaskRequest(id=task.id))
    assert text_of(rebuilt(stream).artifacts) == text_of(stored.artifacts) != ""
    assert rebuilt(stream).status == stored.status


async def test_cancel_stops_the_work_and_the_context_goes_on(blocking: Client, version: str) -> None:
    context = unique()
    task = await background(blocking, "research whales", context)
    canceled = await blocking.cancel_task(CancelTaskRequest(id=task.id))
    assert canceled.status.state == TaskState.TASK_STATE_CANCELED
    stored = await blocking.get_task(GetTaskRequest(id=task.id))
    assert stored.status.state == TaskState.TASK_STATE_CANCELED
    again = await answer(blocking, saying("my number is 7", context=context))
    assert again.status.state == TaskState.TASK_STATE_COMPLETED
    if version == "1.0":
        assert (await blocking.cancel_task(CancelTaskRequest(id=task.id))).status.state == TaskState.TASK_STATE_CANCELED
    else:
        with pytest.raises(TaskNotCancelableError):
            await blocking.cancel_task(CancelTaskRequest(id=task.id))


async def test_a_finished_task_cannot_be_canceled(blocking: Client) -> None:
    task = await answer(blocking, saying("hello"))
    with pytest.raises(TaskNotCancelableError):
        await blocking.cancel_task(CancelTaskRequest(id=task.id))


async def test_a_finished_task_takes_no_message(blocking: Client) -> None:
    task = await answer(blocking, saying("hello"))
    with pytest.raises(A2AError):
        await answer(blocking, saying("more", task=task.id))


async def test_an_unknown_task_is_not_found_for_any_call(blocking: Client) -> None:
    with pytest.raises(TaskNotFoundError):
        await blocking.get_task(GetTaskRequest(id="nope"))
    with pytest.raises(TaskNotFoundError):
        await blocking.cancel_task(CancelTaskRequest(id="nope"))
    with pytest.raises(TaskNotFoundError):
        await answer(blocking, saying("hi", task="nope"))


async def test_a_pair_that_does_not_match_is_refused(blocking: Client) -> None:
    task = await answer(blocking, saying("delete report.txt", context=unique()))
    with pytest.raises(InvalidParamsError):
        await answer(blocking, saying("yes", task=task.id, context=unique()))
    assert (await blocking.get_task(GetTaskRequest(id=task.id))).status.state == TaskState.TASK_STATE_INPUT_REQUIRED


async def test_a_failed_task_says_why_in_its_status_and_its_history(blocking: Client) -> None:
    task = await answer(blocking, saying("fail"))
    assert task.status.state == TaskState.TASK_STATE_FAILED
    assert text_of_message(task)
    assert task.history[-1].parts == task.status.message.parts
    assert task.history[-1].role == Role.ROLE_AGENT
    assert "Error" not in text_of_message(task)


@pytest.mark.parametrize("version", ["1.0"], indirect=True)
async def test_tasks_are_listed_newest_first_page_by_page(blocking: Client) -> None:
    context = unique()
    sent = [(await answer(blocking, saying(f"hello {n}", context=context))).id for n in range(3)]
    seen: list[str] = []
    token = ""
    while True:
        page = await blocking.list_tasks(ListTasksRequest(context_id=context, page_size=2, page_token=token))
        assert page.total_size == 3
        assert not any(task.artifacts for task in page.tasks)
        seen += [task.id for task in page.tasks]
        token = page.next_page_token
        if not token:
            break
    assert seen == sent[::-1]
