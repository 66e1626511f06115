"""Faults of a data folder, as an operator and a caller of `llamon serve` meet them."""

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from a2a.client import Client
from a2a.types.a2a_pb2 import GetTaskRequest, SubscribeToTaskRequest, Task, TaskState
from a2a.utils.errors import InternalError
from tests.e2e.conftest import ROOT, Edge, connected, running_edge
from tests.e2e.test_official_client import answer, saying, text_of
from tests.e2e.test_restart import in_background

DEMO = "./examples/demo_agent.py:graph"
AWAY = "A service behind this agent is not available; try again later."

pytestmark = pytest.mark.timeout(120)  # several edges start, each as slowly as LangGraph is imported


@contextmanager
def no_room(edge: Edge) -> Iterator[None]:
    """No file of the edge may grow, as on a full disk. Its log is shorter than that, and what it has written stays."""
    _, hard = resource.prlimit(edge.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(edge.process.pid, resource.RLIMIT_FSIZE, (16_384, hard))
    yield
    resource.prlimit(edge.process.pid, resource.RLIMIT_FSIZE, (hard, hard))


def refused(*arguments: str) -> tuple[int, str]:
    """How an edge ends that does not come to serve, and what it says."""
    command = [sys.executable, "-m", "llamon_agent", "serve", *arguments, "--listen", "127.0.0.1:0"]
    ended = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=60, env={**os.environ, "NO_COLOR": "1"}, check=False
    )
    assert "Traceback" not in ended.stderr
    return ended.returncode, ended.stderr


async def is_refused(client: Client, text: str, *, task: str = "") -> bool:
    try:
        await answer(client, saying(text, task=task))
    except InternalError as exc:
        return AWAY in str(exc)
    return False


async def task(client: Client, task_id: str) -> Task:
    return await client.get_task(GetTaskRequest(id=task_id))


async def test_a_full_disk_is_logged_ends_current_runs_and_needs_no_restart(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running_edge(DEMO, data=data) as edge:
        async with connected(edge.url, "1.0", streaming=False) as client, connected(edge.url, "1.0") as streaming:
            asked = await answer(client, saying("delete report.txt", context="question"))
            for number in range(5):  # more than what a file may have
                await answer(client, saying(f"my number is {number}", context="memory"))
            working = await in_background(client, "research whales", "work")
            following = streaming.subscribe(SubscribeToTaskRequest(id=working))
            await anext(following)
            with no_room(edge):
                for _ in range(3):
                    assert await is_refused(client, "hello")
                assert await is_refused(client, "yes", task=asked.id)
                async with httpx.AsyncClient(base_url=edge.url) as http:
                    ready = await http.get("/readyz")
                assert (ready.status_code, ready.json()["failing"]) == (503, ["store"])
                assert await task(client, asked.id) == asked
                edge.await_line("its end is tried again")
            *_, last = [event async for event in following]
            assert last.status_update.status.state == TaskState.TASK_STATE_FAILED
            assert text_of([last.status_update.status.message]) == AWAY
            assert (await task(client, working)).status.state == TaskState.TASK_STATE_FAILED
            assert "4" in text_of((await answer(client, saying("what is my number?", context="memory"))).artifacts)
            done = await answer(client, saying("yes", task=asked.id))
            assert done.status.state == TaskState.TASK_STATE_COMPLETED
            again = await answer(client, saying("hello", context="work"))
            assert again.status.state == TaskState.TASK_STATE_COMPLETED
    log = edge.log.read_text()
    assert log.count(f"the task store {data / 'tasks.sqlite'} cannot be written: the disk fails") == 1
    assert log.count(f"the task store {data / 'tasks.sqlite'} can be written again") == 1
    assert "Traceback" not in log


def test_a_folder_in_use_is_refused_with_what_to_do_and_free_when_its_edge_was_killed(tmp_path: Path) -> None:
    data = tmp_path / "data"
    told = f"The data folder {data} is in use by another process: stop that process, or choose another folder."
    with running_edge("--adapter", "echo", data=data) as edge:
        assert refused("--adapter", "echo", "--data", str(data)) == (2, f"llamon: {told}\n")
        (data / "llamon.lock").unlink()
        assert refused("--adapter", "echo", "--data", str(data)) == (2, f"llamon: {told}\n")
        edge.process.kill()
        edge.process.wait(10)
    with running_edge("--adapter", "echo", data=data):
        pass


def test_a_folder_that_cannot_be_written_is_refused_with_what_to_do() -> None:
    code, told = refused("--adapter", "echo", "--data", "/proc/data")
    assert code == 2
    assert told == (
        "llamon: The data folder /proc/data cannot be written: make it writable for this user, or choose another one.\n"
    )


def test_a_damaged_file_is_refused_with_what_to_do_until_a_backup_is_in_its_place(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running_edge(DEMO, data=data):
        pass
    for file in (data / "tasks.sqlite", data / "demo_agent" / "checkpoints.sqlite"):
        backup = file.read_bytes()
        file.write_bytes(backup[: len(backup) // 3])
        code, told = refused(DEMO, "--data", str(data))
        assert code == 2
        assert str(file) in told
        assert "damaged" in told
        assert "a backup in its place" in told
        file.write_bytes(backup)
    with running_edge(DEMO, data=data):
        pass
