"""An edge that is killed or stopped, and what its clients find when it is back."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from a2a.client import Client
from a2a.types.a2a_pb2 import (
    GetTaskRequest,
    SendMessageConfiguration,
    SubscribeToTaskRequest,
    TaskState,
)
from google.protobuf.json_format import MessageToDict
from tests.e2e.conftest import connected, running_edge
from tests.e2e.test_official_client import answer, saying, text_of

LLAMON = (sys.executable, "-m", "llamon_agent")
DEMO = "./examples/demo_agent.py:graph"


async def in_background(client: Client, text: str, context: str) -> str:
    request = saying(text, context=context)
    request.configuration.CopyFrom(SendMessageConfiguration(return_immediately=True))
    return (await answer(client, request)).id


@pytest.mark.parametrize("is_compacted", [False, True])
async def test_after_a_kill_a_question_is_answered_and_a_context_remembers(tmp_path: Path, is_compacted: bool) -> None:
    data = tmp_path / "data"
    with running_edge(DEMO, data=data) as edge:
        async with connected(edge.url, "1.0", streaming=False) as client:
            await answer(client, saying("my number is 42", context="memory"))
            asked = await answer(client, saying("delete report.txt", context="question"))
            working = await in_background(client, "research whales", "work")
        edge.process.kill()
        edge.process.wait(10)
    if is_compacted:
        await asyncio.to_thread(subprocess.run, [*LLAMON, "db", "compact", "--data", str(data)], check=True)
    with running_edge(DEMO, data=data) as edge:
        async with connected(edge.url, "1.0") as client:
            following = [event async for event in client.subscribe(SubscribeToTaskRequest(id=working))]
            assert following[0].task.status.state == TaskState.TASK_STATE_WORKING
            assert following[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED
        async with connected(edge.url, "1.0", streaming=False) as client:
            kept = await client.get_task(GetTaskRequest(id=asked.id))
            assert kept == asked
            done = await answer(client, saying("yes", task=asked.id))
            assert done.status.state == TaskState.TASK_STATE_COMPLETED
            assert "42" in text_of((await answer(client, saying("what is my number?", context="memory"))).artifacts)
            finished = await client.get_task(GetTaskRequest(id=working))
            assert MessageToDict(finished.metadata)["run"] == {"attempt": 2}
            assert len(finished.artifacts) == 1
            again = await answer(client, saying("hello again", context="work"))
            assert again.status.state == TaskState.TASK_STATE_COMPLETED


async def test_what_a_stop_does_not_let_finish_goes_on_at_the_next_start(tmp_path: Path) -> None:
    data = tmp_path / "data"
    quick = {"LLAMON_A2A__DRAIN_S": "0"}
    with running_edge(DEMO, data=data, env=quick) as edge:
        async with connected(edge.url, "1.0") as client, connected(edge.url, "1.0", streaming=False) as blocking:
            working = await in_background(blocking, "research whales", "work")
            running = client.subscribe(SubscribeToTaskRequest(id=working))
            await anext(running)
            edge.process.send_signal(signal.SIGTERM)
            states = [event.status_update.status.state for event in [each async for each in running]]
            assert TaskState.TASK_STATE_FAILED not in states
        assert edge.process.wait(20) == 0
    with running_edge(DEMO, data=data) as edge:
        async with connected(edge.url, "1.0") as client:
            following = [event async for event in client.subscribe(SubscribeToTaskRequest(id=working))]
            assert following[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED
        async with connected(edge.url, "1.0", streaming=False) as client:
            finished = await client.get_task(GetTaskRequest(id=working))
            assert text_of(finished.artifacts).startswith("Everything there is to know about whales")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_stop_lets_a_run_finish_and_ends_every_stream(tmp_path: Path, number: signal.Signals) -> None:
    """A rolling update stops an edge while hosts wait for answers."""
    with running_edge(DEMO, "--ephemeral", data=tmp_path / "data") as edge:
        async with connected(edge.url, "1.0") as client, connected(edge.url, "1.0", streaming=False) as blocking:
            asked = await answer(blocking, saying("delete report.txt", context="question"))
            working = await in_background(blocking, "research whales", "work")
            paused = client.subscribe(SubscribeToTaskRequest(id=asked.id))
            await anext(paused)
            running = client.subscribe(SubscribeToTaskRequest(id=working))
            await anext(running)
            edge.process.send_signal(number)
            last = [event async for event in running][-1]
            assert last.status_update.status.state == TaskState.TASK_STATE_COMPLETED
            assert [event async for event in paused] == []
        assert edge.process.wait(20) == 0
