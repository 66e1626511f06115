"""An edge whose tasks and threads are in a real Postgres: killed and started again, and two at once."""

from pathlib import Path

import pytest
from a2a.types.a2a_pb2 import GetTaskRequest, ListTasksRequest, TaskState
from tests.e2e.conftest import connected, running_edge
from tests.e2e.test_official_client import answer, saying, text_of

DEMO = "./examples/demo_agent.py:graph"

pytestmark = pytest.mark.timeout(180)  # several edges start, each as slowly as LangGraph is imported


def kept_in(url: str) -> dict[str, str]:
    return {"LLAMON_DATA__POSTGRES__URL": url, "LLAMON_DATA__POSTGRES__POOL_MIN": "1"}


async def test_after_a_kill_a_question_is_answered_a_context_remembers_and_all_are_listed(
    tmp_path: Path, database_url: str
) -> None:
    data = tmp_path / "data"
    with running_edge(DEMO, data=data, env=kept_in(database_url)) as edge:
        async with connected(edge.url, "1.0", streaming=False) as client:
            told = await answer(client, saying("my number is 42", context="memory"))
            asked = await answer(client, saying("delete report.txt", context="question"))
        edge.process.kill()
        edge.process.wait(10)
    with running_edge(DEMO, data=data, env=kept_in(database_url)) as edge:
        async with connected(edge.url, "1.0", streaming=False) as client:
            assert await client.get_task(GetTaskRequest(id=asked.id)) == asked
            done = await answer(client, saying("yes", task=asked.id))
            assert done.status.state == TaskState.TASK_STATE_COMPLETED
            recalled = await answer(client, saying("what is my number?", context="memory"))
            assert "42" in text_of(recalled.artifacts)
            listed = await client.list_tasks(ListTasksRequest())
            assert {task.id for task in listed.tasks} == {told.id, asked.id, recalled.id}
    assert not data.exists()


async def test_two_edges_on_one_database_know_each_others_tasks(tmp_path: Path, database_url: str) -> None:
    """A load balancer sends a caller to either edge."""
    with (
        running_edge(DEMO, data=tmp_path / "one", env=kept_in(database_url)) as one,
        running_edge(DEMO, data=tmp_path / "other", env=kept_in(database_url)) as other,
    ):
        async with (
            connected(one.url, "1.0", streaming=False) as first,
            connected(other.url, "1.0", streaming=False) as second,
        ):
            asked = await answer(first, saying("delete report.txt", context="question"))
            done = await answer(second, saying("yes", task=asked.id))
            assert done.status.state == TaskState.TASK_STATE_COMPLETED
            assert (await first.get_task(GetTaskRequest(id=asked.id))).status == done.status


def test_a_missing_database_is_reported_at_the_start(tmp_path: Path) -> None:
    env = kept_in("postgresql://u:secret@127.0.0.1:1/x")
    with (
        pytest.raises(AssertionError, match=r"data\.postgres: the server cannot be reached: start it") as raised,
        running_edge(DEMO, data=tmp_path / "data", env=env),
    ):
        pass
    assert "secret" not in str(raised.value)
