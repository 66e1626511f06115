"""The notes agent as its configuration serves it, its model being a server of the test's own."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.model_server import ModelServer, answer, model_server, tool_call

from llamon_agent.app import open_edge
from llamon_agent.config.load import load_config
from llamon_agent.domain.caller import Caller
from llamon_agent.domain.message import Message, Role, Text, texts
from llamon_agent.domain.task import Task, TaskState
from llamon_agent.runs.ports.run import RunRequest
from llamon_agent.runs.service import RunService

ROOT = Path(__file__).parents[3]


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ModelServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    async with model_server() as running:
        yield running


@pytest.fixture
async def runs(server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[RunService]:
    monkeypatch.chdir(ROOT)
    flags = {"data": {"folder": str(tmp_path)}, "agents": {"notes": {"model": {"base_url": server.url}}}}
    async with open_edge(load_config(Path("examples/model_agent.yaml"), flags)) as edge:
        yield edge.runs


async def say(runs: RunService, text: str) -> Task:
    message = Message(message_id=text, role=Role.USER, parts=(Text.of(text),))
    request = RunRequest(caller=Caller(principal="me"), agent="notes", context_id="c", message=message, prompt=text)
    return await (await runs.submit_run(request)).wait_settled(20)


async def test_it_reads_a_note(runs: RunService, server: ModelServer) -> None:
    server.says(tool_call("read_note", '{"name": "groceries"}'), answer("Rice, ", "onions, ", "tea."))
    task = await say(runs, "what do I need?")
    assert task.status.state is TaskState.COMPLETED
    assert texts(task.artifacts[0].parts) == ["Rice, onions, tea."]
    assert server.requests[0]["model"] == "qwen3"
    assert server.requests[1]["messages"][-1]["content"] == "rice, onions, tea"


async def test_it_asks_before_it_deletes(runs: RunService, server: ModelServer) -> None:
    server.says(tool_call("delete_note", '{"name": "groceries"}'), answer("I kept it."))
    asked = await say(runs, "delete the groceries")
    assert asked.status.state is TaskState.INPUT_REQUIRED
    done = await say(runs, "no")
    assert (done.id, done.status.state) == (asked.id, TaskState.COMPLETED)
    assert "rejected" in server.requests[-1]["messages"][-1]["content"]
