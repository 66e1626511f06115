"""How a request becomes a run, and a run a task: a test for each row of what is promised, in its words.

The agent is scripted and everything around it is real: configuration, endpoint, both dialects, run service.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.unit.inbound.a2a.edges import call, frames_of, response_of, results_of

from llamon_agent.config.load import load_config
from llamon_agent.domain.events import ArtifactMade, Cancelled, Complete, Delta, Error, NodeLost, RunEvent
from llamon_agent.domain.message import Text
from llamon_agent.domain.task import Artifact
from llamon_agent.inbound.a2a.bindings.jsonrpc.binding import answer_call
from llamon_agent.inbound.a2a.endpoint import Endpoint, RequestHead
from llamon_agent.runs.decisions import NODE_LOST
from llamon_agent.runs.ports.run import Runtime, Target
from llamon_agent.runs.service import RunService
from llamon_agent.store.memory import MemoryTaskStore
from llamon_agent.testing.scripted import Gate, HandClock, ScriptedAgent, Step, counting_ids

CONFIG = """
a2a:
  node: local
  adapter: custom
  target: my_package.my_agent:agent
  session_id: edge-{context_id}
  timeout: 30
agents:
  helper: {}
"""


class Edge(msgspec.Struct):
    """The edge of one configuration, and the agent in it."""

    target: Target
    agent: ScriptedAgent
    endpoint: Endpoint

    async def call(self, method: str, params: dict[str, Any]) -> Any:
        response = response_of(await answer_call(self.endpoint, call(method, params), RequestHead()))
        result = response.get("result", response)
        return result.get("task", result)

    async def stream(self, method: str, params: dict[str, Any]) -> list[Any]:
        reply = frames_of(await answer_call(self.endpoint, call(method, params), RequestHead()))
        return await results_of(reply)

    async def settled(self, task_id: str) -> Any:
        """The task once nothing happens to it any more."""
        await self.stream("tasks/resubscribe", {"id": task_id})
        return await self.call("tasks/get", {"id": task_id})


@asynccontextmanager
async def edge(folder: Path, *scripts: Sequence[Step], timeout_s: float | None = None) -> AsyncIterator[Edge]:
    file = folder / "edge.yaml"
    file.write_text(CONFIG)
    (spec,) = load_config(file, {}).agent_specs()
    target = spec.target if timeout_s is None else msgspec.structs.replace(spec.target, timeout_s=timeout_s)
    agent = ScriptedAgent(*scripts)
    runtimes = {target.name: Runtime(target, agent)}
    async with asyncio.timeout(5):
        async with RunService(MemoryTaskStore(), runtimes, clock=HandClock(), new_id=counting_ids()) as runs:
            yield Edge(target, agent, Endpoint(runs, agent=target.name, wait_s=5))


def old(*texts: str, blocking: bool | None = None, **more: object) -> dict[str, Any]:
    """Params of message/send and message/stream."""
    parts = [{"kind": "text", "text": text} for text in texts or ("hi",)]
    params: dict[str, Any] = {"message": {"messageId": "m", "role": "user", "parts": parts, **more}}
    return params if blocking is None else {**params, "configuration": {"blocking": blocking}}


def new(*texts: str, immediately: bool | None = None) -> dict[str, Any]:
    """Params of SendMessage."""
    parts = [{"text": text} for text in texts or ("hi",)]
    params: dict[str, Any] = {"message": {"messageId": "m", "role": "ROLE_USER", "parts": parts}}
    return params if immediately is None else {**params, "configuration": {"returnImmediately": immediately}}


def state_of(task: Any) -> str:
    state: str = task["status"]["state"]
    return state.removeprefix("TASK_STATE_").lower()


def reason_of(task: Any) -> str:
    reason: str = task["status"]["message"]["parts"][0]["text"]
    return reason


def text_of(task: Any) -> list[list[str]]:
    """The texts of each artifact."""
    return [[part["text"] for part in artifact["parts"]] for artifact in task.get("artifacts", [])]


# What is submitted.


async def test_text_parts_are_joined_with_a_newline_into_the_prompt(tmp_path: Path) -> None:
    async with edge(tmp_path, [Complete()], [Complete()]) as it:
        await it.call("message/send", old("first", "second"))
        await it.call("SendMessage", new("first", "second"))
    assert [turn.prompt for turn in it.agent.turns] == ["first\nsecond"] * 2


async def test_a_run_is_submitted_to_the_configured_node_adapter_target_and_session(tmp_path: Path) -> None:
    async with edge(tmp_path, [Complete()], [Complete()]) as it:
        await it.call("message/send", old(contextId="c1"))
        await it.call("message/send", old(contextId="c2"))
    assert (it.target.node, it.target.adapter, it.target.target) == ("local", "custom", "my_package.my_agent:agent")
    assert [turn.session_id for turn in it.agent.turns] == ["edge-c1", "edge-c2"]


@pytest.mark.parametrize(
    ("method", "params", "blocking"),
    [
        ("message/send", old(), True),
        ("message/send", old(blocking=True), True),
        ("message/send", old(blocking=False), False),
        ("SendMessage", new(), True),
        ("SendMessage", new(immediately=False), True),
        ("SendMessage", new(immediately=True), False),
    ],
)
async def test_run_metadata_carries_the_source_and_whether_the_call_blocks(
    tmp_path: Path, method: str, params: dict[str, Any], blocking: bool
) -> None:
    gate = Gate()
    async with edge(tmp_path, [gate, Complete()]) as it, asyncio.TaskGroup() as group:
        group.create_task(it.call(method, params))
        await gate.reached()
        gate.open()
    assert it.agent.turns[0].metadata == {"source": "a2a", "blocking": blocking}


# What the run's events do.


async def test_delta_events_accumulate_in_one_text_artifact(tmp_path: Path) -> None:
    script: list[Step] = [Delta(text="Hel"), Delta(text="lo"), Delta(text=" there"), Complete()]
    async with edge(tmp_path, script, script) as it:
        task = await it.call("message/send", old())
        events = await it.stream("message/stream", old())
    assert text_of(task) == [["Hello there"]]
    updates = [event for event in events if event["kind"] == "artifact-update"]
    assert {update["artifact"]["artifactId"] for update in updates} == {task["artifacts"][0]["artifactId"]}
    assert [update["append"] for update in updates] == [False, True, True]
    assert [update["lastChunk"] for update in updates] == [False, False, False]
    assert "".join(update["artifact"]["parts"][0]["text"] for update in updates) == "Hello there"


async def test_artifact_events_do_not_replace_the_text(tmp_path: Path) -> None:
    made = ArtifactMade(artifact=Artifact(artifact_id="a", name="notes", parts=(Text.of("noted"),)))
    async with edge(tmp_path, [Delta(text="Hi"), made, Delta(text="!"), Complete()]) as it:
        assert text_of(await it.call("message/send", old())) == [["Hi!"], ["noted"]]


@pytest.mark.parametrize(
    ("event", "state", "reason"),
    [
        (Complete(), "completed", None),
        (Complete(text="Hello"), "completed", None),
        (Error(public="Out of paper."), "failed", "Out of paper."),
        (Cancelled(), "canceled", None),
        (NodeLost(), "failed", NODE_LOST),
    ],
)
async def test_a_final_event_of_the_run_ends_the_task(
    tmp_path: Path, event: RunEvent, state: str, reason: str | None
) -> None:
    async with edge(tmp_path, [Delta(text="Hel"), event]) as it:
        task = await it.call("message/send", old())
    assert state_of(task) == state
    assert text_of(task) == [["Hello" if event == Complete(text="Hello") else "Hel"]]
    assert (reason_of(task) if "message" in task["status"] else None) == reason


# Waiting or not.


async def test_a_blocking_call_drains_the_run_within_the_call(tmp_path: Path) -> None:
    async with edge(tmp_path, [Delta(text="one"), Delta(text=" two"), Complete()]) as it:
        task = await it.call("message/send", old(blocking=True))
        assert (state_of(task), text_of(task)) == ("completed", [["one two"]])
        assert task == await it.call("tasks/get", {"id": task["id"]})


async def test_a_non_blocking_call_returns_the_working_snapshot_and_drains_in_the_background(tmp_path: Path) -> None:
    gate = Gate()
    async with edge(tmp_path, [gate, Delta(text="done"), Complete()]) as it:
        snapshot = await it.call("message/send", old(blocking=False))
        assert (state_of(snapshot), text_of(snapshot)) == ("working", [])
        await gate.reached()
        gate.open()
        task = await it.settled(snapshot["id"])
    assert (state_of(task), text_of(task)) == ("completed", [["done"]])


# Ending it from outside.


@pytest.mark.parametrize("method", ["tasks/cancel", "CancelTask"])
async def test_cancel_reaches_the_run_and_the_task_ends_canceled(tmp_path: Path, method: str) -> None:
    gate = Gate()
    async with edge(tmp_path, [Delta(text="half"), gate, Complete()]) as it:
        begun = await it.call("message/send", old(blocking=False))
        await gate.reached()
        task = await it.call(method, {"id": begun["id"]})
        assert state_of(task) == "canceled"
        assert it.agent.cancelled == it.agent.turns
        assert (await it.call("tasks/get", {"id": begun["id"]}))["artifacts"][0]["metadata"] == {"incomplete": True}


async def test_a_runs_timeout_ends_it_failed_with_a_reason(tmp_path: Path) -> None:
    async with edge(tmp_path, [Delta(text="half"), Gate()], timeout_s=0.01) as it:
        task = await it.call("message/send", old(blocking=True))
        assert state_of(task) == "failed"
        assert reason_of(task) == "The agent did not finish within 0.01 seconds."
        assert it.agent.cancelled == it.agent.turns
