"""A remote agent, called over a real socket."""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any, cast

import pytest
from starlette.responses import Response
from tests.unit.cli.conftest import (
    CARD,
    Agent,
    error,
    message,
    piece,
    result,
    silence,
    status_update,
    stream,
    task,
)
from tests.unit.client.test_rpc import OLD_CARD

from llamon_agent.client.answers import Answer, Begun, RemoteEvent
from llamon_agent.client.errors import (
    BadHeader,
    Busy,
    NobodyThere,
    NoSuchTask,
    NotA2A,
    NotAllowed,
    Refused,
    RemoteError,
    TaskEnded,
    TaskFailed,
    TimedOut,
    Unreached,
)
from llamon_agent.client.remote_agent import RemoteAgent, _Call, _until_settled
from llamon_agent.client.rpc import Connection, Reply
from llamon_agent.client.task_view import AnswerText, TaskView
from llamon_agent.domain.caller import Private
from llamon_agent.domain.errors import ConfigError
from llamon_agent.domain.events import Delta, Progress
from llamon_agent.domain.message import Data, Message
from llamon_agent.domain.task import TaskState
from llamon_agent.wire.v10.codec import Client10

DONE = stream(task("WORKING"), piece("Hello", append=False), status_update("COMPLETED"))


async def events_of(agent: Agent, text: str = "hi") -> list[RemoteEvent]:
    return [event async for event in RemoteAgent(agent.origin).stream(text, context_id="c1")]


def methods(agent: Agent) -> list[str]:
    return [call.body["method"] for call in agent.calls]


async def test_an_answer_is_asked_for_and_given(agent: Agent) -> None:
    agent.says(DONE)
    answer = await RemoteAgent(agent.origin, token="secret").ask("hi", context_id="c1")
    assert (answer.text, answer.state, answer.task_id) == ("Hello", TaskState.COMPLETED, "t1")
    [call] = agent.calls
    assert (call.path, call.body["method"]) == ("/a2a", "SendStreamingMessage")
    assert (call.message["parts"], call.message["contextId"]) == ([{"text": "hi"}], "c1")
    assert call.headers["authorization"] == "Bearer secret"


async def test_a_stream_tells_its_events_in_order(agent: Agent) -> None:
    agent.says(
        stream(
            task("SUBMITTED"),
            status_update("WORKING", message("Reading")),
            piece("Hel", append=False),
            piece("lo"),
            status_update("COMPLETED"),
        )
    )
    *events, answer = await events_of(agent)
    assert events == [
        Begun(task_id="t1", context_id="c1"),
        Progress(text="Reading"),
        Delta(text="Hel"),
        Delta(text="lo"),
    ]
    assert isinstance(answer, Answer)


async def test_an_agent_that_does_not_stream_is_asked_all_the_same(agent: Agent) -> None:
    agent.cards = {"/.well-known/agent-card.json": {**CARD, "capabilities": {}}}
    agent.says(result(task("COMPLETED", "Hello")))
    assert (await RemoteAgent(agent.origin).ask("hi")).text == "Hello"
    assert methods(agent) == ["SendMessage"]


async def test_an_agent_of_old_is_spoken_to_in_its_dialect(agent: Agent) -> None:
    agent.cards = {"/.well-known/agent.json": OLD_CARD}
    agent.says(
        result(
            {
                "kind": "task",
                "id": "t1",
                "contextId": "c1",
                "status": {"state": "completed"},
                "artifacts": [{"artifactId": "a", "parts": [{"kind": "text", "text": "Hello"}]}],
            }
        )
    )
    answer = await RemoteAgent(agent.origin).ask("hi", context_id="c1", history=[("user", "first")])
    assert answer.text == "Hello"
    sent = agent.calls[0]
    assert sent.body["method"] == "message/send"
    [past] = sent.message["metadata"]["history"]
    assert (past["kind"], past["role"], past["parts"]) == ("message", "user", [{"kind": "text", "text": "first"}])


async def test_a_question_is_answered_by_its_id_in_its_task(agent: Agent) -> None:
    asked = message("Delete?", {"data": {"questions": [{"id": "q1", "value": {"question": "Delete?"}}]}})
    agent.says(stream(task("WORKING"), status_update("INPUT_REQUIRED", asked)), DONE)
    remote = RemoteAgent(agent.origin)
    question = await remote.ask("delete it", context_id="c1")
    assert question.asks
    assert question.question == "Delete?"
    done = await remote.answer(question, True)
    assert done.text == "Hello"
    sent = agent.calls[1].message
    assert (sent["taskId"], sent["contextId"]) == ("t1", "c1")
    assert sent["parts"] == [{"data": {"answers": {"q1": True}}}]


async def test_what_was_said_before_the_question_is_not_said_again(agent: Agent) -> None:
    agent.says(
        stream(task("WORKING"), piece("Let me see.", append=False), status_update("INPUT_REQUIRED", message("Sure?"))),
        stream(task("WORKING", "Let me see."), piece("Done.", append=False, artifact="a1"), status_update("COMPLETED")),
    )
    remote = RemoteAgent(agent.origin)
    asked = await remote.ask("go")
    assert asked.text == "Let me see."
    assert (await remote.answer(asked, "yes")).text == "Done."


async def test_parts_are_sent_as_they_are(agent: Agent) -> None:
    agent.says(DONE)
    await RemoteAgent(agent.origin).ask([Data(data={"a": [True]})])
    assert agent.calls[0].message["parts"] == [{"data": {"a": [True]}}]


async def cut() -> AsyncIterator[bytes]:
    """For the end of a stream that breaks."""
    yield b""
    raise ConnectionError


async def test_a_stream_that_ends_early_is_taken_up_once_more(agent: Agent) -> None:
    agent.says(
        stream(task("WORKING"), piece("Hel", append=False)),
        stream(task("WORKING", "Hello"), piece(" again"), status_update("COMPLETED")),
    )
    events = await events_of(agent)
    assert events[1:4] == [Delta(text="Hel"), Delta(text="lo"), Delta(text=" again")]
    assert methods(agent) == ["SendStreamingMessage", "SubscribeToTask"]


async def test_a_stream_that_breaks_is_taken_up_once_more(agent: Agent) -> None:
    agent.says(
        stream(task("WORKING"), piece("Hel", append=False), then=cut),
        stream(task("WORKING", "Hello"), status_update("COMPLETED")),
    )
    assert [event for event in await events_of(agent) if isinstance(event, Delta)] == [
        Delta(text="Hel"),
        Delta(text="lo"),
    ]


async def test_a_task_that_ended_meanwhile_is_looked_at(agent: Agent) -> None:
    agent.says(stream(task("WORKING")), error(-32004, "it has ended"), result(task("COMPLETED", "Hello")["task"]))
    assert (await RemoteAgent(agent.origin).ask("hi")).text == "Hello"
    assert methods(agent) == ["SendStreamingMessage", "SubscribeToTask", "GetTask"]


async def test_a_stream_that_breaks_twice_is_an_error(agent: Agent) -> None:
    agent.says(stream(task("WORKING")), stream(task("WORKING")))
    with pytest.raises(Unreached, match="lost"):
        await RemoteAgent(agent.origin).ask("hi")
    assert len(agent.calls) == 2


@pytest.mark.parametrize(
    ("reply", "kind", "said"),
    [
        (error(-32001, "which task?"), NoSuchTask, "which task?"),
        (error(-32000, "too much"), Busy, "too much"),
        (error(-32602, "params.x is bad"), Refused, "params.x is bad"),
        (
            Response('{"error": {"code": "x", "message": 5}}', media_type="application/json"),
            Refused,
            "5",
        ),
        (Response("", 401), NotAllowed, ""),
        (Response("", 502), Unreached, ""),
        (Response("", 404), NotA2A, ""),
        (Response("<html>", media_type="text/html"), NotA2A, ""),
        (result({"nonsense": 1}), NotA2A, ""),
        (stream(), NotA2A, ""),
    ],
)
async def test_a_refusal_is_told_by_its_kind(agent: Agent, reply: Any, kind: type[RemoteError], said: str) -> None:
    agent.says(reply)
    with pytest.raises(kind) as raised:
        await RemoteAgent(agent.origin).ask("hi")
    assert raised.value.said == said


async def test_what_an_old_agent_said_is_text_whatever_it_sent(agent: Agent) -> None:
    agent.cards = {"/.well-known/agent.json": {**OLD_CARD, "capabilities": {"streaming": True}}}
    agent.says(Response('{"error": {"code": "x", "message": 5}}', media_type="application/json"))
    with pytest.raises(Refused) as raised:
        await RemoteAgent(agent.origin).ask("hi")
    assert raised.value.said == "5"


async def test_a_failed_task_is_an_error_that_has_what_was_said(agent: Agent) -> None:
    agent.says(stream(task("WORKING"), piece("half", append=False), status_update("FAILED", message("out of paper"))))
    with pytest.raises(TaskFailed) as raised:
        await RemoteAgent(agent.origin).ask("hi")
    assert (raised.value.answer.text, raised.value.said) == ("half", "out of paper")


async def test_nobody_there_is_unreached() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(NobodyThere):
        await RemoteAgent(f"http://127.0.0.1:{port}").ask("hi")


async def test_an_agent_that_says_nothing_times_out(agent: Agent) -> None:
    agent.says(stream(task("WORKING"), then=silence))
    with pytest.raises(TimedOut):
        await RemoteAgent(agent.origin, timeout_s=0.2).ask("hi")


async def test_cancel_names_the_task(agent: Agent) -> None:
    agent.says(result(task("CANCELED")["task"]))
    await RemoteAgent(agent.origin).cancel("t1")
    assert agent.calls[0].body["params"]["id"] == "t1"


async def test_there_is_nothing_to_cancel_of_a_task_that_has_ended(agent: Agent) -> None:
    agent.says(error(-32002, "too late"))
    with pytest.raises(TaskEnded):
        await RemoteAgent(agent.origin).cancel("t1")


async def test_history_goes_along_with_every_message_as_the_remote_agent_may_forget(agent: Agent) -> None:
    agent.says(DONE)
    remote = RemoteAgent(agent.origin)
    await remote.ask("one", context_id="c1", history=[("user", "before")])
    await remote.ask("two", context_id="c1", history=[("user", "before")])
    assert methods(agent) == ["SendStreamingMessage"] * 2
    for call in agent.calls:
        assert call.message["metadata"]["history"][0]["parts"] == [{"text": "before"}]


async def test_words_that_a_task_ends_with_are_its_answer(agent: Agent) -> None:
    agent.says(stream(task("WORKING"), status_update("COMPLETED", message("All done."))))
    *_, told, answer = await events_of(agent)
    assert told == Delta(text="All done.")
    assert isinstance(answer, Answer)
    assert answer.text == "All done."


def with_file(content: str) -> Response:
    """An old agent's answer: one file, so encoded."""
    part = {"kind": "file", "file": {"bytes": content, "mimeType": "image/png"}}
    artifact = {"artifactId": "a", "parts": [part]}
    done = {"kind": "task", "id": "t1", "contextId": "c1", "status": {"state": "completed"}, "artifacts": [artifact]}
    return result(done)


async def test_an_answer_that_cannot_be_read_is_no_empty_success(agent: Agent) -> None:
    agent.cards = {"/.well-known/agent.json": OLD_CARD}
    agent.says(with_file("AAAA"), with_file("!!!!"))
    assert len((await RemoteAgent(agent.origin).ask("hi")).artifacts) == 1
    with pytest.raises(NotA2A, match="cannot be read"):
        await RemoteAgent(agent.origin).ask("hi")


def raw(value: str) -> Callable[[], Response]:
    """A stream of one event, which no JSON encoder of ours would write."""
    frame = f'data: {{"jsonrpc": "2.0", "id": "1", "result": {value}}}\n\n'
    return lambda: Response(frame, media_type="text/event-stream")


INFINITE = """{"task": {"id": "t1", "contextId": "c1", "status": {"state": "TASK_STATE_COMPLETED"}, "artifacts":
[{"artifactId": "a", "parts": [{"data": {"x": Infinity}}]}]}}""".replace("\n", " ")


@pytest.mark.parametrize("value", ["[" * 5000 + "]" * 5000, INFINITE])
async def test_what_trips_the_reader_does_not_speak_a2a(agent: Agent, value: str) -> None:
    agent.says(raw(value))
    with pytest.raises(NotA2A):
        await RemoteAgent(agent.origin).ask("hi")


async def test_what_trips_the_reader_of_an_old_agent_does_not_speak_a2a(agent: Agent) -> None:
    agent.cards = {"/.well-known/agent.json": {**OLD_CARD, "capabilities": {"streaming": True}}}
    agent.says(raw("[" * 5000 + "]" * 5000))
    with pytest.raises(NotA2A):
        await RemoteAgent(agent.origin).ask("hi")


@pytest.mark.parametrize("streaming", [True, False])
async def test_an_old_agent_that_is_busy_says_so(agent: Agent, streaming: bool) -> None:
    agent.cards = {"/.well-known/agent.json": {**OLD_CARD, "capabilities": {"streaming": streaming}}}
    agent.says(error(-32000, "too much"))
    with pytest.raises(Busy):
        await RemoteAgent(agent.origin).ask("hi")


class Leaving:
    """A connection to an agent that begins a task and is gone."""

    version, streams = "1.0", True

    async def send(self, message: Message, *, stream: bool) -> AsyncGenerator[Reply]:
        began = json.dumps(task("WORKING")).encode()
        yield Reply(Client10().read_event(began), began)

    async def subscribe(self, task_id: str) -> AsyncGenerator[Reply]:
        for trouble in [NobodyThere()]:
            raise trouble
        yield Reply(Client10().read_event(b""), b"")


async def test_an_agent_that_goes_away_at_work_is_not_one_that_was_never_there() -> None:
    deadline = asyncio.get_running_loop().time() + 5
    call = _Call(parts=(), context_id=None, task_id=None, headers=Private())
    with pytest.raises(Unreached) as raised:
        async for _ in _until_settled(cast("Connection", Leaving()), call, TaskView(AnswerText()), deadline):
            pass
    assert not isinstance(raised.value, NobodyThere)


async def test_without_history_nothing_more_is_asked(agent: Agent) -> None:
    agent.says(DONE)
    await RemoteAgent(agent.origin).ask("hi", history=[("system", "be kind")])
    assert "metadata" not in agent.calls[0].message
    assert len(agent.calls) == 1


async def test_a_card_is_fetched_once_and_anew_after_trouble(agent: Agent) -> None:
    agent.says(DONE, DONE, Response("", 404), DONE)
    remote = RemoteAgent(agent.origin)
    await remote.ask("one")
    await remote.ask("two")
    assert len(agent.fetched) == 1
    with pytest.raises(NotA2A):
        await remote.ask("three")
    await remote.ask("four")
    assert len(agent.fetched) == 2


def test_it_belongs_to_no_event_loop(agent: Agent) -> None:
    agent.says(DONE)
    remote = RemoteAgent(agent.origin)
    assert [asyncio.run(remote.ask("hi")).text for _ in range(2)] == ["Hello", "Hello"]


def test_a_token_that_no_header_can_carry_is_a_mistake_of_configuration() -> None:
    with pytest.raises(ConfigError):
        RemoteAgent("http://127.0.0.1:1", token="a\nb")


ADDED = {"X-Request-Id": "r1", "x-name": "Ren\xe9"}


async def test_added_headers_go_with_every_request_of_their_call_and_with_no_other(agent: Agent) -> None:
    asked = message("Delete?", {"data": {"questions": [{"id": "q1", "value": {"question": "Delete?"}}]}})
    agent.says(
        stream(task("WORKING"), status_update("INPUT_REQUIRED", asked)),
        stream(task("WORKING")),  # breaks off
        error(-32004, "cannot be followed"),
        result(task("COMPLETED", "Hello")["task"]),
        result(task("CANCELED")["task"]),
        DONE,
    )
    remote = RemoteAgent(agent.origin, token="secret")
    question = await remote.ask("hi", headers=ADDED)
    await remote.answer(question, "yes", headers=ADDED)
    await remote.cancel("t1", headers=ADDED)
    await remote.ask("hi")
    *with_them, without = agent.calls
    assert methods(agent) == ["SendStreamingMessage"] * 2 + [
        "SubscribeToTask",
        "GetTask",
        "CancelTask",
        "SendStreamingMessage",
    ]
    for call in with_them:
        assert (call.headers["x-request-id"], call.headers["x-name"]) == ("r1", "Ren\xe9")
        assert call.headers["authorization"] == "Bearer secret"
    assert not {"x-request-id", "x-name"} & set(without.headers)
    assert [set(card.headers) & {"x-request-id", "x-name"} for card in agent.fetched] == [set()]


async def test_authorization_may_be_added_where_there_is_no_token(agent: Agent) -> None:
    agent.says(DONE)
    await RemoteAgent(agent.origin).ask("hi", headers={"Authorization": "Bearer theirs"})
    assert agent.calls[0].headers["authorization"] == "Bearer theirs"


@pytest.mark.parametrize("headers", [{"Authorization": "Bearer x"}, {"A2A-Version": "0.1"}, {"x": "a\r\ny: b"}])
async def test_a_call_with_a_header_that_cannot_be_added_sends_nothing(agent: Agent, headers: dict[str, str]) -> None:
    remote = RemoteAgent(agent.origin, token="secret")
    question = Answer(text="", state=TaskState.INPUT_REQUIRED, task_id="t1")
    for call in (
        remote.ask("hi", headers=headers),
        remote.answer(question, "yes", headers=headers),
        remote.cancel("t1", headers=headers),
    ):
        with pytest.raises(BadHeader):
            await call
    assert (agent.calls, agent.fetched) == ([], [])


@pytest.mark.parametrize("status", [302, 307, 308])
async def test_added_headers_follow_no_redirect(agent: Agent, status: int) -> None:
    agent.says(Response("", status, {"Location": f"{agent.origin.replace('127.0.0.1', 'localhost')}/elsewhere"}))
    with pytest.raises(NotA2A):
        await RemoteAgent(agent.origin).ask("hi", headers=ADDED)
    assert [call.path for call in agent.calls] == ["/a2a"]
