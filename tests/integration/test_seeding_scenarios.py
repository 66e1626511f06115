"""History seeding from the wire to the model: a real graph, a real checkpointer, and what the model was really given.

Each scenario is a conversation as a host has it: what it sends, and which messages the model must then see. Both
checkpointers and both dialects must agree. See docs/history.md.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt

from llamon_agent.adapters.langgraph.agent import LangGraphAgent
from llamon_agent.adapters.langgraph.checkpoints.sqlite import CheckpointKind, open_checkpoints
from llamon_agent.config.sections import HistoryConfig
from llamon_agent.inbound.a2a.bindings.jsonrpc.binding import RpcResponse, answer_call
from llamon_agent.inbound.a2a.endpoint import AgentPolicy, Endpoint, RequestHead
from llamon_agent.inbound.a2a.history.converter import prefill_to_lc
from llamon_agent.runs.ports.run import Runtime, Target
from llamon_agent.runs.service import RunService
from llamon_agent.store.memory import MemoryTaskStore
from llamon_agent.testing.scripted import HandClock, counting_ids


class Host:
    """A host that talks to the agent in one dialect, and what the agent's model saw at each of its calls."""

    def __init__(self, dialect: str) -> None:
        self.dialect = dialect
        self.seen: list[list[str]] = []
        self.endpoint: Endpoint | None = None

    def turn(self, spoken: str) -> dict[str, Any]:
        """`user: hello` as an A2A message of the dialect; what is said twice bears one id."""
        role, _, text = spoken.partition(": ")
        if self.dialect == "0.3":
            return {
                "kind": "message",
                "messageId": f"id of {spoken}",
                "role": role,
                "parts": [{"kind": "text", "text": text}],
            }
        return {"messageId": f"id of {spoken}", "role": f"ROLE_{role.upper()}", "parts": [{"text": text}]}

    async def say(
        self,
        text: str,
        *,
        context: str | None = None,
        task: str | None = None,
        history: list[str] | None = None,
        in_params: bool = False,
        metadata: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Send a message and wait; the task."""
        assert self.endpoint is not None
        message = {**self.turn(f"user: {text}"), "contextId": context, "taskId": task, "metadata": metadata}
        params: dict[str, Any] = {"message": message}
        if history is not None:
            (params if in_params else message)["metadata"] = {"history": [self.turn(spoken) for spoken in history]}
        method = "message/send" if self.dialect == "0.3" else "SendMessage"
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        reply = await answer_call(self.endpoint, body.encode(), RequestHead())
        assert isinstance(reply, RpcResponse)
        result = json.loads(reply.body)["result"]
        found: dict[str, Any] = result if self.dialect == "0.3" else result["task"]
        return found


def spoken(messages: Sequence[BaseMessage]) -> list[str]:
    return [f"{'user' if message.type == 'human' else 'agent'}: {message.text}" for message in messages]


def builder(host: Host) -> StateGraph[MessagesState]:
    """A graph whose model notes what it is given; before it deletes, it asks."""

    async def model(state: MessagesState) -> dict[str, list[BaseMessage]]:
        host.seen.append(spoken(state["messages"]))
        await asyncio.sleep(0)
        if state["messages"][-1].text == "delete":
            return {"messages": [AIMessage(f"deleted: {interrupt('Sure?')}")]}
        return {"messages": [AIMessage(f"answer {len(host.seen)}")]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", model)
    graph.add_edge(START, "model")
    graph.add_edge("model", END)
    return graph


@asynccontextmanager
async def talking(dialect: str, saver: BaseCheckpointSaver[str] | None) -> AsyncIterator[Host]:
    host = Host(dialect)
    agent = LangGraphAgent(builder(host).compile(checkpointer=saver), prefill_to_lc=prefill_to_lc)
    runtimes = {"demo": Runtime(Target(name="demo", adapter="langgraph", target=""), agent)}
    async with (
        asyncio.timeout(30),
        RunService(MemoryTaskStore(), runtimes, clock=HandClock(), new_id=counting_ids()) as runs,
    ):
        policy = AgentPolicy(history_readers=HistoryConfig().readers)
        host.endpoint = Endpoint(runs, agent="demo", policy=policy)
        yield host


@pytest.fixture(params=["1.0", "0.3"])
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["memory", "sqlite"])
async def host(request: pytest.FixtureRequest, dialect: str, tmp_path: Path) -> AsyncIterator[Host]:
    kind: CheckpointKind = request.param
    async with open_checkpoints(kind, tmp_path) as saver, talking(dialect, saver) as talked:
        yield talked


class Send(msgspec.Struct, frozen=True):
    """One message of a scenario, what the model then sees, and what the task says of the history."""

    text: str
    context: str | None
    history: list[str] | None
    sees: list[str]
    told: tuple[int, str] | None
    in_params: bool = False


PAST = ["user: q1", "agent: a1"]
MORE = ["user: q1", "agent: a1", "user: q2", "agent: answer 1"]
LONG = [f"{role}: {number}" for number in range(8) for role in ("user", "agent")]

SCENARIOS = {
    "first call": [Send("q2", "c1", PAST, [*PAST, "user: q2"], (2, "cold_start"))],
    "first call, history in the params": [
        Send("q2", "c1", PAST, [*PAST, "user: q2"], (2, "cold_start"), in_params=True)
    ],
    "same context again with more history": [
        Send("q2", "c1", PAST, [*PAST, "user: q2"], (2, "cold_start")),
        Send("q3", "c1", MORE, [*PAST, "user: q2", "agent: answer 1", "user: q3"], (0, "thread_not_empty")),
    ],
    "new context every time": [
        Send("q2", "c1", PAST, [*PAST, "user: q2"], (2, "cold_start")),
        Send("q3", "c2", MORE, [*MORE, "user: q3"], (4, "cold_start")),
        Send("q4", None, PAST, [*PAST, "user: q4"], (2, "cold_start")),
    ],
    "no history": [Send("q1", "c1", None, ["user: q1"], None)],
    "multi-turn without history": [
        Send("q1", "c1", None, ["user: q1"], None),
        Send("q2", "c1", None, ["user: q1", "agent: answer 1", "user: q2"], None),
        Send(
            "q3",
            "c1",
            PAST,
            ["user: q1", "agent: answer 1", "user: q2", "agent: answer 2", "user: q3"],
            (0, "thread_not_empty"),
        ),
    ],
    "only the newest ten are seeded": [Send("now", "c1", LONG, [*LONG[-10:], "user: now"], (10, "cold_start"))],
    "an empty history is no history to tell of": [Send("q1", "c1", [], ["user: q1"], None)],
}


@pytest.mark.parametrize("name", SCENARIOS)
async def test_scenario(host: Host, name: str) -> None:
    for number, send in enumerate(SCENARIOS[name], 1):
        task = await host.say(send.text, context=send.context, history=send.history, in_params=send.in_params)
        assert len(host.seen) == number
        assert host.seen[-1] == send.sees
        history = task.get("metadata", {}).get("history")
        told = None if history is None else (history["seeded"], history["reason"])
        assert told == send.told
        if history is not None and send.history is not None:
            assert history["seeded"] + history["skipped"] == len(send.history)
        assert send.context in (None, task["contextId"])


async def test_an_interrupted_thread_is_left_alone_and_resumed(host: Host) -> None:
    asked = await host.say("delete", context="c1", history=PAST)
    assert host.seen == [[*PAST, "user: delete"]]
    done = await host.say("yes", task=asked["id"], history=MORE)
    assert done["id"] == asked["id"]
    assert host.seen[-1] == [*PAST, "user: delete"]
    await host.say("next", context="c1", history=MORE)
    assert host.seen[-1] == [*PAST, "user: delete", "agent: deleted: yes", "user: next"]


async def test_two_first_turns_at_once_seed_once_and_lose_no_turn(host: Host) -> None:
    sends = [host.say(text, context="c1", history=PAST) for text in ("left", "right")]
    tasks = await asyncio.gather(*sends)
    first, second = host.seen
    assert first[:2] == PAST == second[:2]
    assert second.count("user: q1") == 1
    assert {first[2], second[4]} == {"user: left", "user: right"}
    assert sorted(task["metadata"]["history"]["seeded"] for task in tasks) == [0, 2]


async def test_a_trailing_copy_of_the_message_is_not_seeded_and_is_counted(host: Host) -> None:
    """Some hosts have written the current message into their history already."""
    task = await host.say("q2", context="c1", history=["user: q1", "user: q2"])
    assert host.seen[-1] == ["user: q1", "user: q2"]
    assert task["metadata"]["history"] == {"seeded": 1, "skipped": 1, "reason": "cold_start"}


async def test_a_history_that_is_cut_begins_with_the_user_and_all_of_it_is_counted(host: Host) -> None:
    task = await host.say("now", context="c1", history=LONG[:-1])
    assert host.seen[-1] == [*LONG[6:-1], "user: now"]
    assert task["metadata"]["history"] == {"seeded": 9, "skipped": 6, "reason": "cold_start"}


SHAPES: dict[str, dict[str, Any]] = {
    "role and content": {"history": [{"role": "user", "content": "q1"}, {"role": "assistant", "content": "a1"}]},
    "UIMessage": {
        "history": [
            {"id": "1", "role": "user", "parts": [{"type": "text", "text": "q1"}]},
            {
                "id": "2",
                "role": "assistant",
                "parts": [{"type": "reasoning", "text": "-"}, {"type": "text", "text": "a1"}],
            },
        ]
    },
    "the protobuf of 0.3": {
        "history": [
            {"role": "ROLE_USER", "content": [{"text": "q1"}]},
            {"role": "ROLE_AGENT", "content": [{"text": "a1"}]},
        ]
    },
    "Copilot Studio": {
        "copilotstudio.microsoft.com/a2a/chathistory": [
            {"HasValue": True, "Value": [{"From": "", "Text": "q1"}, {"From": "cr_bot", "Text": "a1"}]}
        ]
    },
}


@pytest.mark.parametrize("shape", SHAPES)
async def test_a_history_in_a_shape_of_a_host_is_seeded_once(host: Host, shape: str) -> None:
    task = await host.say("q2", context="c1", metadata=SHAPES[shape])
    assert host.seen[-1] == [*PAST, "user: q2"]
    assert task["metadata"]["history"] == {"seeded": 2, "skipped": 0, "reason": "cold_start"}
    assert "q1" not in json.dumps(task)
    again = await host.say("q3", context="c1", metadata=SHAPES[shape])
    assert host.seen[-1] == [*PAST, "user: q2", "agent: answer 1", "user: q3"]
    assert again["metadata"]["history"] == {"seeded": 0, "skipped": 2, "reason": "thread_not_empty"}


async def test_a_graph_without_a_checkpointer_is_seeded_every_time(dialect: str) -> None:
    async with talking(dialect, None) as host:
        for _ in range(2):
            await host.say("now", context="c1", history=LONG)
    assert host.seen == [[*LONG[-10:], "user: now"]] * 2
