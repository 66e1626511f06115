"""What a host sees of the whole edge, where several parts make the behaviour together."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import MessagesState
from tests.unit.adapters.langgraph.scripted import node_graph
from tests.unit.inbound.a2a.edges import call, edge, frames_of, message_03, message_10, response_of, results_of
from typing_extensions import override

from llamon_agent.adapters.langgraph.agent import LangGraphAgent
from llamon_agent.domain.events import Complete, Delta, Interrupt, Question
from llamon_agent.domain.task import Task
from llamon_agent.inbound.a2a.bindings.jsonrpc.binding import answer_call
from llamon_agent.inbound.a2a.endpoint import Endpoint, RequestHead
from llamon_agent.inbound.a2a.history.converter import prefill_to_lc
from llamon_agent.inbound.a2a.media_types import Modes
from llamon_agent.runs.ports.agent import Turn
from llamon_agent.runs.ports.run import Runtime, Target
from llamon_agent.runs.ports.store import IdempotencyKey
from llamon_agent.runs.service import RunService
from llamon_agent.store.memory import MemoryTaskStore
from llamon_agent.testing.scripted import Gate, HandClock, ScriptedAgent, Step, counting_ids

QUESTION = Interrupt(text="Sure?", questions=(Question(id="q", value="Sure?"),))


async def repeat(state: MessagesState) -> dict[str, list[AIMessage]]:
    """Says what it was given."""
    return {"messages": [AIMessage(json.dumps([str(message.text) for message in state["messages"]]))]}


async def spoil(state: MessagesState) -> dict[str, list[AIMessage]]:
    """Says what it was given, and then changes it in place, as some nodes do."""
    said = await repeat(state)
    for message in state["messages"]:
        message.content = "spoiled"
    return said


@asynccontextmanager
async def answering(node: Callable[[MessagesState], Awaitable[dict[str, list[AIMessage]]]]) -> AsyncIterator[Endpoint]:
    """An edge in front of a real graph with a memory."""
    agent = LangGraphAgent(node_graph(node), prefill_to_lc=prefill_to_lc)
    runtimes = {"demo": Runtime(Target(name="demo", adapter="langgraph", target=""), agent)}
    async with (
        asyncio.timeout(10),
        RunService(MemoryTaskStore(), runtimes, clock=HandClock(), new_id=counting_ids()) as runs,
    ):
        yield Endpoint(runs, agent="demo")


async def told(endpoint: Endpoint, text: str, **more: object) -> tuple[Any, list[str]]:
    """A blocking send: the task, and what the graph was given."""
    response = response_of(await answer_call(endpoint, call("message/send", message_03(text, **more)), RequestHead()))
    task = response["result"]
    said: list[str] = json.loads(task["artifacts"][0]["parts"][0]["text"])
    return task, said


class HeldStore(MemoryTaskStore):
    """A store whose writes of an end wait until they are let go."""

    def __init__(self) -> None:
        super().__init__()
        self.ending = asyncio.Event()
        self.may_end = asyncio.Event()

    @override
    async def save(
        self, task: Task, *, expect: int, turn: Turn | None = None, key: IdempotencyKey | None = None
    ) -> None:
        if task.is_terminal:
            self.ending.set()
            await self.may_end.wait()
        await super().save(task, expect=expect, turn=turn, key=key)


async def test_hanging_up_while_the_end_is_being_recorded_loses_nothing() -> None:
    store, agent = HeldStore(), ScriptedAgent([Delta(text="Hello"), Complete()])
    runtimes = {"demo": Runtime(Target(name="demo", adapter="scripted", target=""), agent)}
    async with asyncio.timeout(5), RunService(store, runtimes, clock=HandClock(), new_id=counting_ids()) as runs:
        endpoint = Endpoint(runs, agent="demo")
        dropped = frames_of(await answer_call(endpoint, call("message/stream", message_03()), RequestHead()))
        await store.ending.wait()
        dropped.close()
        [task] = response_of(await answer_call(endpoint, call("ListTasks", {}), RequestHead()))["result"]["tasks"]
        following = frames_of(await answer_call(endpoint, call("tasks/resubscribe", {"id": task["id"]}), RequestHead()))
        store.may_end.set()
        ending = (await results_of(following))[-1]
        got = response_of(await answer_call(endpoint, call("tasks/get", {"id": task["id"]}), RequestHead()))["result"]
    assert ending["status"] == got["status"]
    assert (got["status"]["state"], got["artifacts"][0]["parts"][0]["text"]) == ("completed", "Hello")


@pytest.mark.parametrize("at_once", [False, True])
async def test_one_message_id_twice_is_two_turns_and_neither_replaces_the_other(at_once: bool) -> None:
    """add_messages replaces a message by one of the same id, in its place, and hosts reuse ids."""
    async with answering(repeat) as endpoint:
        sends = [told(endpoint, text, messageId="same", contextId="c1") for text in ("one", "two")]
        (one, _), (two, _) = await asyncio.gather(*sends) if at_once else [await send for send in sends]
        _, said = await told(endpoint, "three", messageId="same", contextId="c1")
    assert one["id"] != two["id"]
    assert said[::2] == ["one", "two", "three"]


async def test_a_node_that_spoils_its_input_does_not_reach_the_task() -> None:
    past = message_03("past")["message"]
    async with answering(spoil) as endpoint:
        task, said = await told(endpoint, "as it was sent", messageId="now", metadata={"history": [past]})
    assert said == ["past", "as it was sent"]
    assert [message["parts"] for message in task["history"]] == [[{"kind": "text", "text": "as it was sent"}]]


@pytest.mark.parametrize("dialect", ["0.3", "1.0"])
async def test_chunks_are_one_artifact_and_its_snapshot_one_text(dialect: str) -> None:
    async with edge([*(Delta(text=text) for text in ("Hel", "lo", " wor", "ld")), Complete()]) as it:
        if dialect == "0.3":
            results = await results_of(await it.open("message/stream", message_03()))
            chunks = [result for result in results if result["kind"] == "artifact-update"]
        else:
            results = await results_of(await it.open("SendStreamingMessage", message_10()))
            chunks = [result["artifactUpdate"] for result in results if "artifactUpdate" in result]
        task = await it.ask("tasks/get", {"id": await it.only_task()})
    assert len({chunk["artifact"]["artifactId"] for chunk in chunks}) == 1
    assert [chunk.get("append", False) for chunk in chunks] == [False, True, True, True]
    assert [chunk.get("lastChunk", False) for chunk in chunks] == [False] * 4
    assert [chunk["artifact"]["parts"][0]["text"] for chunk in chunks] == ["Hel", "lo", " wor", "ld"]
    assert [[part["text"] for part in artifact["parts"]] for artifact in task["artifacts"]] == [["Hello world"]]


@pytest.mark.parametrize(
    ("method", "configuration", "state"),
    [
        ("message/send", {"blocking": True}, "completed"),
        ("message/send", {"blocking": False}, "working"),
        ("message/send", {}, "completed"),
        ("SendMessage", {"returnImmediately": False}, "TASK_STATE_COMPLETED"),
        ("SendMessage", {"returnImmediately": True}, "TASK_STATE_WORKING"),
        ("SendMessage", {}, "TASK_STATE_COMPLETED"),
    ],
)
async def test_a_send_waits_unless_it_asks_not_to(method: str, configuration: dict[str, bool], state: str) -> None:
    gate = Gate()
    params = message_03() if method == "message/send" else message_10()
    async with asyncio.timeout(5), edge([Delta(text="hi"), gate, Complete()]) as it:
        asking = asyncio.create_task(it.ask(method, {**params, "configuration": configuration}))
        await gate.reached()
        if state.lower().endswith("working"):
            answer = await asking
            gate.open()
        else:
            gate.open()
            answer = await asking
    assert answer.get("task", answer)["status"]["state"] == state


@pytest.mark.parametrize(
    ("method", "version", "code"),
    [
        ("message/send", "2.0", -32009),
        ("message/stream", "2.0", -32009),
        ("SendStreamingMessage", "not a version", -32009),
        ("message/send", "1.0", -32601),
        ("message/stream", "1.0.0", -32601),
        ("SendStreamingMessage", "0.3", -32601),
    ],
)
async def test_a_version_that_does_not_fit_is_refused_in_plain_json(method: str, version: str, code: int) -> None:
    params = message_03() if method.startswith("message/") else message_10()
    async with edge() as it:
        refused = await it.ask(method, params, RequestHead(version=version))
        assert refused["error"]["code"] == code
        assert it.agent.turns == []


async def test_parts_cross_the_dialects_byte_for_byte() -> None:
    blob = "AAEC/f7/"
    sent = [
        {"kind": "text", "text": "안녕"},
        {"kind": "file", "file": {"bytes": blob, "mimeType": "image/png", "name": "a.png"}},
        {"kind": "data", "data": {"none": None, "big": 9007199254740993}},
    ]
    async with edge([Complete()], [Complete()], modes=Modes(takes=("*/*",))) as it:
        old = await it.ask("message/send", message_03(parts=sent, metadata=None))
        read = await it.ask("GetTask", {"id": old["id"]})
        new = await it.ask("SendMessage", message_10(parts=read["history"][0]["parts"]))
        back = await it.ask("tasks/get", {"id": new["task"]["id"]})
    assert read["history"][0]["parts"] == [
        {"text": "안녕"},
        {"raw": blob, "mediaType": "image/png", "filename": "a.png"},
        {"data": {"none": None, "big": 9007199254740993}},
    ]
    assert back["history"][0]["parts"] == sent


@pytest.mark.parametrize(("ending", "state"), [(Complete(text="Hello"), "completed"), (QUESTION, "input-required")])
async def test_a_stream_says_completed_or_input_required_and_then_ends(ending: Step, state: str) -> None:
    async with edge([ending], [ending]) as it:
        old = await results_of(await it.open("message/stream", message_03(contextId="c1")))
        new = await results_of(await it.open("SendStreamingMessage", message_10(contextId="c2")))
    assert [result["final"] for result in old if "final" in result] == [True]
    assert (old[-1]["final"], old[-1]["status"]["state"]) == (True, state)
    assert new[-1]["statusUpdate"]["status"]["state"] == f"TASK_STATE_{state.upper().replace('-', '_')}"
    assert not any("final" in result.get("statusUpdate", {}) for result in new)


GET = b'"jsonrpc":"2.0","method":"tasks/get","params":{"id":"none"}'


@pytest.mark.parametrize(
    ("body", "code", "call_id"),
    [
        (b'{"id":1,"method":"tasks/get","params":{"id":"none"}}', -32600, 1),
        *((b'{"id":%b,%b}' % (wrong, GET), -32600, None) for wrong in (b"{}", b"[]", b"true")),
        *(
            (b'{"id":%b,%b}' % (right, GET), -32001, json.loads(right))
            for right in (b"null", b"1.5", b"9007199254740993")
        ),
        (b'{"id":%b,%b}' % (b"9" * 5000, GET), -32700, None),
        (b'{"id":"\\ud800",%b}' % GET, -32700, None),
        (b'{"id":1,"jsonrpc":"2.0","method":"tasks/get","params":"x"}', -32602, 1),
        (b'{"id":1,"jsonrpc":"2.0","method":"tasks/get","method":"tasks/cancel","params":{"id":"none"}}', -32600, None),
        (b'{"id":1,"jsonrpc":"2.0","method":"tasks/get","params":{"id":NaN}}', -32700, None),
        (b'{"id":1,"jsonrpc":"2.0","method":"tasks/get","params":{"id":"none","metadata":{"a":1e999}}}', -32700, None),
        (b"{", -32700, None),
        (b'{"id":1,"method":"\xff"}', -32700, None),
        (b"[" * 50_000, -32700, None),
        (b"[" * 50_000 + b"]" * 50_000, -32700, None),
        *((batch, -32600, None) for batch in (b"[]", b"[1]", b'[{"id":1,%b},{%b}]' % (GET, GET))),
    ],
    ids=lambda value: value[:60].decode("latin-1") if isinstance(value, bytes) else None,
)
async def test_an_odd_body_gets_its_code_and_the_only_id_that_is_sure(body: bytes, code: int, call_id: object) -> None:
    async with edge() as it:
        response = response_of(await answer_call(it.endpoint, body, RequestHead()))
    assert (response["error"]["code"], response["id"]) == (code, call_id)
    assert response["error"]["message"].isascii()
    assert "msgspec" not in response["error"]["message"]
