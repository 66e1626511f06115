"""Who calls reaches each kind of agent over each binding, and what a caller brings is kept nowhere."""

import json
import logging
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from tests.conformance.sites import BINDINGS, Host, Site, message, site_of
from tests.postgres_server import PostgresServer

from llamon_agent.config.edge import EdgeConfig
from llamon_agent.config.load import load_config

TOKEN, CLAIM, HEADER = "canary-of-token-1", "canary-of-claim-2", "canary-of-header-3"
CANARIES = (TOKEN, CLAIM, HEADER)
HEADERS = {"authorization": f"Bearer {TOKEN}", "x-user-id": HEADER}

GRAPH = f"""
import asyncio
import logging

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt


waiting, traced = asyncio.Event(), []


class Tracer(BaseCallbackHandler):
    def on_chain_start(self, *given, **more):
        traced.append(repr((given, more)))


async def node(state, config):
    text, values = state["messages"][-1].text, config["configurable"]
    user = values["langgraph_auth_user"]
    if text == "wait":
        if not waiting.is_set():
            waiting.set()
            await asyncio.Event().wait()
        rest = "team" in user, dict(values["a2a"]["headers"])
        return {{"messages": [AIMessage(f"{{user.identity}} {{user.permissions}} {{rest}}")]}}
    assert user["team"] == "{CLAIM}", "the claim"
    assert values["a2a"]["headers"]["x-user-id"] == "{HEADER}", "the header"
    if text == "fail":
        raise RuntimeError(f"a node that says {{values}} and {{user}}")
    if text == "ask":
        return {{"messages": [AIMessage(f"{{interrupt('which?')}} by {{user.identity}}")]}}
    return {{"messages": [AIMessage(f"{{text}} by {{user.identity}}")]}}


builder = StateGraph(MessagesState)
builder.add_node("node", node)
builder.add_edge(START, "node")
graph = builder.compile().with_config({{"callbacks": [Tracer()]}})
"""

AUTH = f"""
from langgraph_sdk import Auth

auth = Auth()


@auth.authenticate
async def who(authorization: str | None) -> dict:
    if authorization != "Bearer {TOKEN}":
        raise Auth.exceptions.HTTPException(status_code=401)
    return {{"identity": "ann", "permissions": ["read"], "team": "{CLAIM}"}}
"""

CUSTOM = f"""
def agent(prompt, caller):
    assert caller.headers["x-user-id"] == "{HEADER}", "the header"
    if prompt == "fail":
        raise RuntimeError(f"an agent that says {{caller}} and {{caller.headers}}")
    if prompt == "ask":
        return {{"interrupt": "which?"}}
    return f"{{prompt}} by {{caller.principal}} with {{caller}}"
"""

COMMAND = f"""
import json
import os
import sys

assert os.environ["WHO"] == "{HEADER}", "the header"
match sys.stdin.read():
    case "fail":
        sys.exit("a command that says " + os.environ["ID"])
    case "ask":
        line = {{"interrupt": "which?"}}
    case _:
        line = {{"complete": "hi by " + os.environ["ID"]}}
print(json.dumps(line))
"""


def project(folder: Path, data: dict[str, Any]) -> EdgeConfig:
    """A langgraph.json with an authentication of its own, which gives claims."""
    name = f"caller_{abs(hash(str(folder)))}"
    (folder / f"{name}.py").write_text(AUTH)
    (folder / f"graph_{name}.py").write_text(GRAPH)
    file = folder / "langgraph.json"
    graphs = {"agent": f"./graph_{name}.py:graph"}
    file.write_text(json.dumps({"dependencies": ["."], "graphs": graphs, "auth": {"path": f"./{name}.py:auth"}}))
    return load_config(None, {"a2a": {"target": str(file), "caller_headers": ["X-User-Id"]}, "data": data})


def commands(folder: Path, **data: Any) -> EdgeConfig:
    """A custom agent and a command, behind a token."""
    name = f"custom_{abs(hash(str(folder)))}"
    (folder / f"{name}.py").write_text(CUSTOM)
    (folder / "command.py").write_text(COMMAND)
    caller = {"WHO": "header:x-user-id", "ID": "principal"}
    return EdgeConfig.model_validate(
        {
            "a2a": {"bearer_token": {"ann": TOKEN}, "caller_headers": ["x-user-id"]},
            "agents": {
                "custom": {"adapter": "custom", "target": f"{folder / name}.py:agent"},
                "command": {
                    "adapter": "process",
                    "target": f"{sys.executable} {folder / 'command.py'}",
                    "process": {"caller": caller, "output": "jsonl"},
                },
            },
            "data": {"folder": str(folder / "data"), **data},
        }
    )


@asynccontextmanager
async def host_of(config: EdgeConfig, binding: type[Host]) -> AsyncIterator[tuple[Host, Site]]:
    async with site_of(config) as at:
        yield binding(at, headers=HEADERS), at


def loaded(folder: Path) -> Any:
    """The module of the project's graph."""
    [module] = [
        each
        for each in sys.modules.values()
        if str(folder) in (getattr(each, "__file__", None) or "") and hasattr(each, "traced")
    ]
    return module


def text_of(task: Any) -> str:
    return "".join(part["text"] for artifact in task["artifacts"] for part in artifact["parts"])


async def begin(host: Host, text: str, **more: Any) -> Any:
    return (await host.value("SendMessage", **message("", text, **more)))["task"]


async def converse(host: Host) -> list[str]:
    """One task of each end, and what is recorded of all."""
    done = await begin(host, "hi", contextId="one")
    asked = await begin(host, "ask", contextId="two")
    assert asked["status"]["state"] == "TASK_STATE_INPUT_REQUIRED", asked
    failed = await begin(host, "fail", contextId="three")
    streamed = [
        await host.events("SendStreamingMessage", **message("", text, contextId="four")) for text in ("hi", "fail")
    ]
    assert "hi by ann" in json.dumps(streamed)
    answered = await begin(host, "Rome", taskId=asked["id"])
    assert (text_of(done), text_of(answered)) == ("hi by ann", "Rome by ann")
    assert failed["status"]["state"] == "TASK_STATE_FAILED"
    listed = await host.value("ListTasks", includeArtifacts=True, historyLength=10)
    got = [await host.value("GetTask", id=task["id"], historyLength=10) for task in (done, asked, failed)]
    return [json.dumps(each) for each in (done, asked, failed, answered, listed, *streamed, *got)]


def found_in(texts: list[str]) -> list[str]:
    return [canary for canary in CANARIES if any(canary in text for text in texts)]


def found_in_files(folder: Path) -> list[str]:
    files = [
        file
        for file in folder.rglob("*")
        if file.is_file() and file.suffix != ".py" and "__pycache__" not in file.parts
    ]
    assert any(file.suffix == ".sqlite" for file in files)
    return [canary for canary in CANARIES if any(canary.encode() in file.read_bytes() for file in files)]


def rows_of(url: str) -> Iterator[str]:
    """Every row of every table of a database; bytes in it are hexadecimal."""
    with psycopg.connect(url, autocommit=True) as connection:
        tables = connection.execute("select tablename from pg_tables where schemaname = 'public'").fetchall()
        assert tables
        for (table,) in tables:
            query = sql.SQL("select t::text from {} as t").format(sql.Identifier(table))
            yield from (row[0] for row in connection.execute(query))


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_graph_knows_its_caller_and_files_do_not(
    tmp_path: Path, binding: type[Host], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    folder = tmp_path / "data"
    async with host_of(project(tmp_path, {"folder": str(folder)}), binding) as (host, at):
        records = await converse(host)
        cards = [(await at.http.get(path)).text for path in ("/.well-known/agent-card.json", "/.well-known/agent.json")]
        assert found_in_files(folder) == []
    assert found_in_files(folder) == []
    assert found_in(records) == []
    assert found_in(cards) == []
    traced = loaded(tmp_path).traced
    assert any("ann" in each for each in traced)
    assert found_in(traced) == []
    assert found_in([caplog.text]) == []


async def test_a_database_does_not_know_what_a_caller_brings(
    tmp_path: Path, postgres: PostgresServer, database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with host_of(project(tmp_path, {"postgres": {"url": database_url}}), BINDINGS[0]) as (host, _):
        await converse(host)
        rows = list(rows_of(database_url))
    assert any("ann" in row for row in rows)
    assert [each for each in CANARIES if any(each in row or each.encode().hex() in row for row in rows)] == []
    assert found_in([caplog.text]) == []


async def test_a_run_that_is_taken_up_again_has_its_caller_and_not_what_it_brought(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    config = project(tmp_path, {"folder": str(tmp_path / "data")})
    async with host_of(config, BINDINGS[0]) as (host, _):
        task = await begin(host, "wait", configuration={"returnImmediately": True})
        await loaded(tmp_path).waiting.wait()
        assert found_in_files(tmp_path / "data") == []
    async with host_of(config, BINDINGS[0]) as (host, _):
        *_, last = await host.events("SubscribeToTask", id=task["id"])
        again = await host.value("GetTask", id=task["id"])
    assert text_of(again) == "ann ['read'] (False, {})", last
    assert found_in_files(tmp_path / "data") == []
    assert found_in([*loaded(tmp_path).traced, caplog.text]) == []


@pytest.mark.parametrize("binding", BINDINGS)
async def test_other_agents_know_their_caller(
    tmp_path: Path, binding: type[Host], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with host_of(commands(tmp_path), binding) as (host, _):
        for agent, said in (("custom", "hi by ann with Caller("), ("command", "hi by ann")):
            task = (await host.value("SendMessage", **message("", "hi"), tenant=agent))["task"]
            assert text_of(task).startswith(said)
            asked, failed = [
                (await host.value("SendMessage", **message("", text), tenant=agent))["task"] for text in ("ask", "fail")
            ]
            states = [each["status"]["state"] for each in (asked, failed)]
            assert states == ["TASK_STATE_INPUT_REQUIRED", "TASK_STATE_FAILED"]
            events = await host.events("SendStreamingMessage", **message("", "hi"), tenant=agent)
            assert found_in([json.dumps(each) for each in (task, asked, failed, events)]) == []
        assert found_in_files(tmp_path / "data") == []
    assert found_in([caplog.text]) == []


async def test_a_header_that_is_not_configured_reaches_no_agent(tmp_path: Path) -> None:
    config = commands(tmp_path)
    closed = config.model_copy(update={"a2a": config.a2a.model_copy(update={"caller_headers": ()})})
    async with host_of(closed, BINDINGS[0]) as (host, _):
        task = (await host.value("SendMessage", **message("", "hi"), tenant="command"))["task"]
        assert task["status"]["state"] == "TASK_STATE_FAILED"
