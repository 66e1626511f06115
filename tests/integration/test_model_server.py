"""The model adapter against a real server of OpenAI's API, as callers of the run service see it."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr
from tests.model_server import (
    Connection,
    ModelServer,
    Reply,
    answer,
    calls,
    chunk,
    completion,
    dropping,
    error,
    hanging,
    model_server,
    page,
    stream_of,
    tool_call,
)

from llamon_agent.adapters.langgraph.agent import LangGraphAgent
from llamon_agent.adapters.model.endings import CUT_OFF, NO_CALL, NOTHING, REFUSAL, TOO_MUCH, WITHHELD
from llamon_agent.adapters.model.failures import (
    BROKE_OFF,
    BUSY,
    FAILED,
    NO_ACCESS,
    NO_QUOTA,
    REFUSED,
    TOO_LONG,
    UNKNOWN_MODEL,
    UNREACHABLE,
    UNREADABLE,
)
from llamon_agent.adapters.model.load import ModelOptions, load_model
from llamon_agent.domain.caller import Caller
from llamon_agent.domain.events import StatusUpdate
from llamon_agent.domain.message import Message, Role, Text, texts
from llamon_agent.domain.task import Task, TaskState
from llamon_agent.inbound.a2a.history.converter import prefill_to_lc
from llamon_agent.runs.ports.run import RunRequest, Runtime, Target
from llamon_agent.runs.service import RunService
from llamon_agent.store.memory import MemoryTaskStore
from llamon_agent.testing.scripted import HandClock, counting_ids

KEY = "sk-0123456789abcdef"
TOOLS = f"{Path(__file__).parents[2] / 'examples' / 'model_tools.py'}:tools"


class Talk:
    """A caller that sends messages to the agent, and the server that its model runs on."""

    def __init__(self, server: ModelServer, runs: RunService) -> None:
        self.server = server
        self.runs = runs

    async def say(self, text: str, *replies: Reply, past: tuple[str, ...] = (), context: str = "c") -> Task:
        """Send a message, to be answered with these; the task as it has settled."""
        self.server.replies = list(replies)
        run = await self.runs.submit_run(request(text, past=past, context=context))
        return await run.wait_settled(20)

    def asked(self) -> list[str]:
        """What the model was given last, by role."""
        return [f"{message['role']}: {message.get('content')}" for message in self.server.requests[-1]["messages"]]


def request(text: str, *, past: tuple[str, ...] = (), context: str = "c") -> RunRequest:
    def message(said: str, place: int, role: Role = Role.USER) -> Message:
        return Message(message_id=f"m{place}", role=role, parts=(Text.of(said),))

    roles = (Role.USER, Role.AGENT)
    return RunRequest(
        caller=Caller(principal="me"),
        agent="model",
        context_id=context,
        message=message(text, -1),
        prompt=text,
        prefill=tuple(message(said, place, roles[place % 2]) for place, said in enumerate(past)),
        history_received=len(past),
    )


@asynccontextmanager
async def talking(server: ModelServer, **options: Any) -> AsyncIterator[Talk]:
    given: dict[str, Any] = {"base_url": server.url, "api_key": SecretStr(KEY), "max_retries": 0, **options}
    window_size = given.pop("window_size", None)
    graph = load_model("openai:m", ModelOptions(**given), checkpointer=InMemorySaver(), window_size=window_size)
    agent = LangGraphAgent(graph, prefill_to_lc=prefill_to_lc, window_size=window_size)
    runtimes = {"model": Runtime(Target(name="model", adapter="model", target="openai:m"), agent)}
    async with (
        asyncio.timeout(30),
        RunService(MemoryTaskStore(), runtimes, clock=HandClock(), new_id=counting_ids()) as runs,
    ):
        yield Talk(server, runs)


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ModelServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    async with model_server() as running:
        yield running


@pytest.fixture
async def caller(server: ModelServer) -> AsyncIterator[Talk]:
    async with talking(server) as caller:
        yield caller


def told(task: Task) -> tuple[TaskState, str, str]:
    """How a task has ended: its state, its answer, and what its status says."""
    said = "".join(text for artifact in task.artifacts for text in texts(artifact.parts))
    status = task.status.message
    return task.status.state, said, "" if status is None else "".join(texts(status.parts))


# -- answers


async def test_an_answer_comes_piece_by_piece(caller: Talk) -> None:
    task = await caller.say("hi", answer("Hel", "lo"))
    assert told(task) == (TaskState.COMPLETED, "Hello", "")
    assert caller.server.requests[0]["stream"] is True
    assert caller.server.requests[0]["model"] == "m"
    assert caller.server.keys == [KEY]


async def test_a_server_that_cannot_stream_is_not_asked_to(server: ModelServer) -> None:
    async with talking(server, streaming=False) as caller:
        assert told(await caller.say("hi", answer("Hel", "lo"))) == (TaskState.COMPLETED, "Hello", "")
        assert not server.requests[0].get("stream")
        task = await caller.say("again", answer("half", finish="length"))
        assert told(task) == (TaskState.FAILED, "half", TOO_MUCH)


async def test_the_model_gets_what_the_configuration_says(server: ModelServer) -> None:
    async with talking(server, system_prompt="Be brief.", temperature=0.5, tools=TOOLS) as caller:
        await caller.say("hi", answer("Hello"))
    assert caller.asked() == ["system: Be brief.", "user: hi"]
    assert server.requests[0]["temperature"] == 0.5
    names = [each["function"]["name"] for each in server.requests[0]["tools"]]
    assert names == ["days_between", "read_note", "delete_note"]


async def test_history_is_seeded_once_and_the_conversation_is_remembered(caller: Talk) -> None:
    await caller.say("q2", answer("a2"), past=("q1", "a1"))
    assert caller.asked() == ["user: q1", "assistant: a1", "user: q2"]
    await caller.say("q3", answer("a3"), past=("q1", "a1"))
    assert caller.asked() == ["user: q1", "assistant: a1", "user: q2", "assistant: a2", "user: q3"]


async def test_a_window_bounds_what_the_model_is_given(server: ModelServer) -> None:
    async with talking(server, window_size=2) as caller:
        for number in range(3):
            await caller.say(f"q{number}", answer(f"a{number}"))
    assert caller.asked() == ["user: q2"]


async def test_no_answer_is_a_failure_as_a_refusal_in_a_stream_looks_like_one(caller: Talk) -> None:
    refusal = stream_of(chunk({"content": None, "refusal": "I will not."}), chunk({}, "stop"), "data: [DONE]\n\n")
    assert told(await caller.say("hi", refusal)) == (TaskState.FAILED, "", NOTHING)
    assert told(await caller.say("hi", answer())) == (TaskState.FAILED, "", NOTHING)


async def test_a_refusal_in_one_piece_is_told(server: ModelServer) -> None:
    async with talking(server, streaming=False) as caller:

        async def refuse(connection: Connection) -> None:
            await connection.head(200, "application/json")
            message = {"content": None, "refusal": "I will not."}
            await connection.write(completion(message, "stop"), more=False)

        assert told(await caller.say("hi", refuse)) == (TaskState.FAILED, "", REFUSAL)


async def test_after_a_tool_a_model_may_have_nothing_to_say(server: ModelServer) -> None:
    async with talking(server, tools=TOOLS) as caller:
        task = await caller.say("read", tool_call("read_note", '{"name": "x"}'), answer())
    assert told(task) == (TaskState.COMPLETED, "", "")


async def test_a_circle_of_tool_calls_ends_and_the_conversation_goes_on(server: ModelServer) -> None:
    async with talking(server, tools=TOOLS, max_calls=2) as caller:
        circle = [tool_call("read_note", '{"name": "x"}')] * 3
        state, _, public = told(await caller.say("read", *circle))
        assert (state, len(server.requests)) == (TaskState.FAILED, 2)
        assert "called 2 times" in public
        assert told(await caller.say("again", answer("Hello"))) == (TaskState.COMPLETED, "Hello", "")


async def test_a_tool_is_called_and_its_result_reaches_the_model(server: ModelServer) -> None:
    async with talking(server, tools=TOOLS) as caller:
        dates = '{"first": "2026-01-01", "second": "2026-03-01"}'
        task = await caller.say("how long?", tool_call("days_between", dates), answer("59 days"))
    assert told(task) == (TaskState.COMPLETED, "59 days", "")
    assert caller.asked()[-1] == "tool: 59"


@pytest.mark.parametrize(("reply", "asks"), [("yes", 2), ("no", 2)])
async def test_a_tool_that_needs_approval_asks_first(server: ModelServer, reply: str, asks: int) -> None:
    async with talking(server, tools=TOOLS, approve=("delete_note",)) as caller:
        task = await caller.say("delete x", tool_call("delete_note", '{"name": "x"}'))
        assert task.status.state is TaskState.INPUT_REQUIRED
        assert "delete_note" in told(task)[2]
        done = await caller.say(reply, answer("Well."))
        assert (done.id, told(done)) == (task.id, (TaskState.COMPLETED, "Well.", ""))
        assert len(server.requests) == asks
        result = caller.asked()[-1]
        assert (result == "tool: There was no note called x.") is (reply == "yes")


# -- failures: each is told in our words, and nothing that the provider said


@pytest.mark.parametrize(
    ("reply", "public"),
    [
        (error(400), REFUSED),
        (error(400, "context_length_exceeded", code="context_length_exceeded"), TOO_LONG),
        (error(401, f"Incorrect API key provided: {KEY}"), NO_ACCESS),
        (error(403), NO_ACCESS),
        (error(404, code="model_not_found"), UNKNOWN_MODEL),
        (error(429), BUSY),
        (error(429, code="insufficient_quota"), NO_QUOTA),
        (error(500), FAILED),
        (error(503), BUSY),
        (page("<html>Welcome</html>"), UNREADABLE),
        (dropping(), UNREACHABLE),
        (stream_of('data: {"error": {"message": "secret"}}\n\n'), FAILED),
        (stream_of("data: {bad\n\n"), UNREADABLE),
        (stream_of("data: 3\n\n"), UNREADABLE),
        (stream_of('data: {"choices": [{"index": 0}]}\n\n'), UNREADABLE),
        (stream_of(), UNREADABLE),
        (stream_of("data: [DONE]\n\n"), UNREADABLE),
    ],
)
async def test_a_failure_is_reported_with_our_text(caller: Talk, reply: Reply, public: str) -> None:
    task = await caller.say("hi", reply)
    assert told(task) == (TaskState.FAILED, "", public)
    # the conversation goes on
    assert told(await caller.say("again", answer("Hello"))) == (TaskState.COMPLETED, "Hello", "")


async def test_a_server_that_is_not_there_is_told(server: ModelServer) -> None:
    async with talking(server, base_url="http://127.0.0.1:9/v1") as caller:
        assert told(await caller.say("hi")) == (TaskState.FAILED, "", UNREACHABLE)


@pytest.mark.parametrize(
    ("reply", "public"),
    [
        (dropping(chunk({"content": "Hel"})), BROKE_OFF),
        (stream_of(chunk({"content": "Hel"})), CUT_OFF),
        (stream_of(chunk({"content": "Hel"}), "data: [DONE]\n\n"), CUT_OFF),
        (stream_of(chunk({"content": "Hel"}), "data: {bad\n\n"), UNREADABLE),
        (stream_of(chunk({"content": "Hel"}), 'data: {"error": {"message": "no"}}\n\n'), FAILED),
        (answer("Hel", finish="length"), TOO_MUCH),
        (answer("Hel", finish="content_filter"), WITHHELD),
    ],
    ids=["dropped", "no finish reason", "done without one", "bad JSON", "error event", "length", "filter"],
)
async def test_half_an_answer_fails_and_is_marked_as_incomplete(server: ModelServer, reply: Reply, public: str) -> None:
    async with talking(server, max_retries=2) as caller:
        task = await caller.say("hi", reply)
        assert told(task) == (TaskState.FAILED, "Hel", public)
        assert task.artifacts[0].metadata == {"incomplete": True}
        assert len(server.requests) == 1
        await caller.say("again", answer("Hello"))
        assert caller.asked() == ["user: hi", "user: again"]


@pytest.mark.parametrize(
    "reply",
    [
        stream_of(chunk(calls("delete_note", '{"name": "x"}'))),
        tool_call("delete_note", '{"name": "x', finish="length"),
        tool_call("delete_note", '{"name": "x'),
    ],
    ids=["no finish reason", "length", "half its arguments"],
)
async def test_half_a_tool_call_is_never_carried_out(server: ModelServer, reply: Reply) -> None:
    async with talking(server, tools=TOOLS) as caller:
        task = await caller.say("delete x", reply)
    assert told(task)[2] in (CUT_OFF, TOO_MUCH, NO_CALL)
    assert len(server.requests) == 1


# -- trying again


async def test_a_busy_server_is_left_alone_as_long_as_it_asks_and_tried_again(server: ModelServer) -> None:
    async with talking(server, max_retries=2) as caller:
        busy = error(429, retry_after="0.01")
        assert told(await caller.say("hi", busy, busy, answer("Hello"))) == (TaskState.COMPLETED, "Hello", "")
    assert len(server.requests) == 3


async def test_trying_again_has_an_end(server: ModelServer) -> None:
    async with talking(server, max_retries=2) as caller:
        assert told(await caller.say("hi", error(429, retry_after="0"))) == (TaskState.FAILED, "", BUSY)
    assert len(server.requests) == 3  # and not nine, as if the client tried again too


async def test_a_server_that_wants_to_be_left_alone_for_long_is_not_waited_for(server: ModelServer) -> None:
    async with talking(server, max_retries=2) as caller:
        assert told(await caller.say("hi", error(429, retry_after="3600"))) == (TaskState.FAILED, "", BUSY)
    assert len(server.requests) == 1


# -- cancel


@pytest.mark.parametrize("first", [(), (chunk({"content": "Hel"}),)], ids=["silent", "speaking"])
async def test_a_cancel_hangs_up_on_the_server(caller: Talk, first: tuple[str, ...]) -> None:
    caller.server.says(hanging(*first))
    run = await caller.runs.submit_run(request("hi"))
    async with asyncio.timeout(5):
        await caller.server.waiting.wait()
        if first:
            await heard(caller, run.task.id)
        task = await caller.runs.cancel_run("me", "model", run.task.id, again_ok=True)
        assert told(task)[:2] == (TaskState.CANCELED, "Hel" if first else "")
        await caller.server.hung_up.wait()
    await caller.say("again", answer("Hello"))
    assert caller.asked() == ["user: hi", "user: again"]


async def heard(caller: Talk, task_id: str) -> None:
    """Wait until a piece of the answer has reached the callers."""
    subscription = await caller.runs.subscribe("me", "model", task_id, after_seq=None, ended_ok=True)
    async for event in subscription:
        if told_text(event):
            return


def told_text(event: Any) -> bool:
    return not isinstance(event, StatusUpdate) and "Hel" in msgspec.json.encode(event).decode()


# -- keys


async def test_no_key_is_sent_or_logged(server: ModelServer, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        async with talking(server, max_retries=1) as caller:
            for reply in (error(401, f"bad key {KEY}"), error(429, f"too many calls with {KEY}", retry_after="0")):
                task = await caller.say("hi", reply)
                assert KEY not in msgspec.json.encode(task).decode()
    assert "bad key ***" in caplog.text
    assert KEY not in caplog.text
