"""Our own client against our own edge, over each binding and in each version that it speaks."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest
from tests.conformance.sites import site

from llamon_agent.client.agent_url import AgentUrl
from llamon_agent.client.answers import Answer, Begun
from llamon_agent.client.card import Interface
from llamon_agent.client.errors import NoSuchTask, Refused, TaskEnded
from llamon_agent.client.remote_agent import RemoteAgent
from llamon_agent.client.rpc import Connection, new_message, open_http
from llamon_agent.client.task_view import AnswerText, TaskView
from llamon_agent.domain.events import Delta, Snapshot
from llamon_agent.domain.message import Data, Message, Raw, Text, Url
from llamon_agent.domain.task import TaskState


@pytest.fixture(params=["JSONRPC", "HTTP+JSON"])
def binding(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


@pytest.fixture(params=["1.0", "0.3"])
def version(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


@asynccontextmanager
async def connected(binding: str, version: str) -> AsyncIterator[Connection]:
    """A connection to the conformance agent that is held to one interface."""
    async with asyncio.timeout(30), site() as at, open_http(AgentUrl(at.url), None) as http:
        yield Connection(http, Interface(f"{at.url}/a2a", binding, version), None)


def asking(scenario: str, *parts: Text | Raw | Url | Data, task_id: str | None = None) -> Message:
    """A message for one of the conformance agent's scenarios, which its id names."""
    message = new_message(parts or (Text.of("hi"),), context_id=None, task_id=task_id)
    return msgspec.structs.replace(message, message_id=f"{scenario}-{message.message_id}")


async def view_of(agent: Connection, message: Message, *, stream: bool) -> tuple[TaskView, Answer]:
    text = AnswerText()
    view = TaskView(text)
    async for reply in agent.send(message, stream=stream):
        list(view.apply(reply.event))
    return view, view.answer(str(text))


@pytest.mark.parametrize("stream", [True, False])
async def test_a_message_is_answered(binding: str, version: str, stream: bool) -> None:
    async with connected(binding, version) as agent:
        view, answer = await view_of(agent, asking("tck-complete-task"), stream=stream)
        assert answer.task_id is not None
        again = (await agent.get(answer.task_id)).event
    assert (answer.text, answer.state) == ("Hello from TCK", TaskState.COMPLETED)
    assert view.is_over
    assert isinstance(again.event, Snapshot)
    assert (again.event.task.id, again.event.task.status) == (answer.task_id, view.status)
    assert again.context_id == answer.context_id


async def test_a_message_may_be_the_answer(binding: str, version: str) -> None:
    async with connected(binding, version) as agent:
        view, answer = await view_of(agent, asking("tck-message-response"), stream=False)
    assert view.is_reply
    assert (answer.text, answer.task_id) == ("Direct message response", None)


@pytest.mark.parametrize(
    ("scenario", "part"),
    [
        ("tck-artifact-file", Raw(data=b"Generated file content", media_type="text/plain", filename="output.txt")),
        ("tck-artifact-data", Data(data={"key": "value", "count": 42})),
    ],
)
async def test_files_and_data_come_as_they_are(binding: str, version: str, scenario: str, part: Raw | Data) -> None:
    async with connected(binding, version) as agent:
        _, answer = await view_of(agent, asking(scenario), stream=True)
    assert [part for artifact in answer.artifacts for part in artifact.parts] == [part]


async def test_files_and_data_go_as_they_are(binding: str, version: str) -> None:
    parts = (
        Text.of("see"),
        Raw(data=bytes(range(256)), media_type="image/png", filename="a.png"),
        Url(url="https://h/x", media_type="text/plain"),
        Data(data={"n": 2**53 + 1}),
        Data(data=[None, 1.5]),
    )
    async with connected(binding, version) as agent:
        message = asking("tck-complete-task", *parts)
        [reply] = [reply async for reply in agent.send(message, stream=False)]
    assert isinstance(reply.event.event, Snapshot)
    assert reply.event.event.task.history[0].parts == parts


async def test_a_task_in_the_background_is_followed_and_canceled(binding: str, version: str) -> None:
    async with connected(binding, version) as agent:
        [began] = [reply async for reply in agent.send(asking("llamon-hold"), stream=False, blocking=False)]
        assert began.event.task_id is not None
        view = TaskView(AnswerText())
        following = agent.subscribe(began.event.task_id)
        assert [one for one in view.apply((await anext(following)).event) if isinstance(one, Begun)]
        canceled = TaskView(AnswerText())
        list(canceled.apply((await agent.cancel(began.event.task_id)).event))
        async for reply in following:
            list(view.apply(reply.event))
    assert canceled.state is view.state is TaskState.CANCELED


async def test_a_question_is_answered_in_its_task(binding: str, version: str) -> None:
    async with connected(binding, version) as agent:
        _, asked = await view_of(agent, asking("tck-input-required"), stream=False)
        assert (asked.asks, asked.question) == (True, "What else do you need?")
        _, answer = await view_of(agent, asking("tck-input-required", task_id=asked.task_id), stream=False)
    assert answer.task_id == asked.task_id


async def test_errors_are_told_by_their_kind(binding: str, version: str) -> None:
    async with connected(binding, version) as agent:
        _, answer = await view_of(agent, asking("tck-complete-task"), stream=False)
        assert answer.task_id is not None
        with pytest.raises(NoSuchTask) as raised:
            await agent.get("no-such")
        assert raised.value.said
        with pytest.raises(NoSuchTask):
            [reply async for reply in agent.subscribe("no such")]
        with pytest.raises(TaskEnded):
            await agent.cancel(answer.task_id)
        with pytest.raises(Refused) as refused:
            await view_of(agent, asking("tck-complete-task", task_id=answer.task_id), stream=True)
        assert refused.value.code is not None


async def test_a_remote_agent_speaks_what_its_card_offers() -> None:
    async with asyncio.timeout(30), site() as at:
        events = [event async for event in RemoteAgent(at.url).stream([Text.of("hi")])]
    assert isinstance(events[-1], Answer)
    assert "".join(event.text for event in events if isinstance(event, Delta)) == events[-1].text
