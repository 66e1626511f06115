"""A caller's chosen request headers on their way over a graph to the next agent: caller -> edge -> edge.

The inner edge refuses each call that lacks the chosen header, or has another. So what reaches it says what was sent,
also with requests that no agent sees, such as a cancel.
"""

import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.conformance.sites import BINDINGS, Host, JsonRpc, Site, message, site_of, state_of

from llamon_agent.config.edge import EdgeConfig
from llamon_agent.config.load import load_config

CHOSEN, OTHER = "canary-of-chosen-1", "canary-of-other-2"
HEADERS = {"X-Request-Id": CHOSEN, "x-other": OTHER}

INNER = """
import asyncio

from langchain_core.messages import AIMessage
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt


async def node(state, config):
    text = state["messages"][-1].text
    if text == "ask":
        text = interrupt("which?")
    if text == "wait":
        get_stream_writer()({"progress": "waiting"})
        await asyncio.Event().wait()
    if text == "fail":
        raise RuntimeError(f"a node that says {config}")
    names = ", ".join(sorted(config["configurable"]["a2a"]["headers"]))
    return {"messages": [AIMessage(f"{text} with {names}")]}


builder = StateGraph(MessagesState)
builder.add_node("node", node)
builder.add_edge(START, "node")
graph = builder.compile()
"""

AUTH = f"""
from langgraph_sdk import Auth

auth = Auth()


@auth.authenticate
async def who(headers: dict) -> dict:
    if headers.get("x-request-id") != "{CHOSEN}" or "x-other" in headers:
        raise Auth.exceptions.HTTPException(status_code=401)
    return {{"identity": "gateway"}}
"""

OUTER = """
from langgraph.graph import START, MessagesState, StateGraph

from llamon_agent.client.langgraph.graph_node import remote_agent_node

builder = StateGraph(MessagesState)
builder.add_node("remote", remote_agent_node({url!r}, forward_headers={names!r}))
builder.add_edge(START, "remote")
graph = builder.compile()
"""


def inner(folder: Path) -> EdgeConfig:
    """A project whose authentication reads the headers."""
    name = f"inner_{abs(hash(str(folder)))}"
    (folder / f"{name}.py").write_text(INNER)
    (folder / f"auth_{name}.py").write_text(AUTH)
    file = folder / "langgraph.json"
    parts = {"graphs": {"agent": f"./{name}.py:graph"}, "auth": {"path": f"./auth_{name}.py:auth"}}
    file.write_text(json.dumps({"dependencies": ["."], **parts}))
    a2a = {"target": str(file), "caller_headers": list(HEADERS)}
    return load_config(None, {"a2a": a2a, "data": {"folder": str(folder / "inner")}})


def outer(folder: Path, url: str, names: tuple[str, ...]) -> EdgeConfig:
    """A graph of the node."""
    file = folder / f"outer_{abs(hash(str(folder)))}.py"
    file.write_text(OUTER.format(url=url, names=names))
    a2a = {"target": f"{file}:graph", "caller_headers": list(HEADERS)}
    return load_config(None, {"a2a": a2a, "data": {"folder": str(folder / "outer")}})


class Chain(msgspec.Struct, frozen=True):
    """Both ends: a host of the outer edge, and one of the inner edge that may see its tasks."""

    host: Host
    below: Host

    async def tasks_below(self) -> list[str]:
        """How the inner edge's tasks are, the oldest first."""
        listed = await self.below.value("ListTasks")
        return [state_of(task) for task in reversed(listed["tasks"])]


@asynccontextmanager
async def chain(
    folder: Path, binding: type[Host] = JsonRpc, names: tuple[str, ...] = ("x-request-ID", "traceparent")
) -> AsyncIterator[Chain]:
    async with site_of(inner(folder)) as below, site_of(outer(folder, below.url, names)) as at:
        yield Chain(host_of(at, binding, HEADERS), host_of(below, JsonRpc, {"X-Request-Id": CHOSEN}))


def host_of(at: Site, binding: type[Host], headers: dict[str, str]) -> Host:
    return binding(at, headers=headers)


def text_of(task: Any) -> str:
    return "".join(part["text"] for artifact in task["artifacts"] for part in artifact["parts"])


async def begin(host: Host, text: str, **more: Any) -> Any:
    return (await host.value("SendMessage", **message("", text, **more)))["task"]


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_chosen_header_goes_on_and_no_other(tmp_path: Path, binding: type[Host]) -> None:
    async with chain(tmp_path, binding) as ends:
        assert text_of(await begin(ends.host, "hi")) == "hi with x-request-id"


async def test_a_chosen_header_goes_on_with_a_stream_and_in_the_background(tmp_path: Path) -> None:
    async with chain(tmp_path) as ends:
        streamed = json.dumps(await ends.host.events("SendStreamingMessage", **message("", "hi")))
        assert "with x-request-id" in streamed
        sent = await ends.host.value("SendMessage", **message("2", "ho", {"returnImmediately": True}))
        await ends.host.events("SubscribeToTask", id=sent["task"]["id"])
        polled = await ends.host.value("GetTask", id=sent["task"]["id"])
        assert text_of(polled) == "ho with x-request-id"


async def test_a_chosen_header_goes_on_with_the_answer_to_a_question(tmp_path: Path) -> None:
    async with chain(tmp_path) as ends:
        asked = await begin(ends.host, "ask")
        assert state_of(asked) == "INPUT_REQUIRED"
        assert text_of(await begin(ends.host, "Rome", taskId=asked["id"])) == "Rome with x-request-id"


async def test_a_chosen_header_goes_on_with_the_cancel_of_a_run(tmp_path: Path) -> None:
    async with chain(tmp_path) as ends:
        async for event in ends.host.follow("SendStreamingMessage", **message("", "wait")):
            if "task" in event:
                task_id = event["task"]["id"]
            if "waiting" in json.dumps(event):
                break
        assert state_of(await ends.host.value("CancelTask", id=task_id)) == "CANCELED"
        assert await ends.tasks_below() == ["CANCELED"]


async def test_a_question_that_was_dropped_is_canceled_with_the_headers_of_the_next_message(tmp_path: Path) -> None:
    async with chain(tmp_path) as ends:
        asked = await begin(ends.host, "ask", contextId="one")
        await ends.host.value("CancelTask", id=asked["id"])
        assert text_of(await begin(ends.host, "hi", contextId="one")) == "hi with x-request-id"
        assert await ends.tasks_below() == ["CANCELED", "COMPLETED"]


@pytest.mark.parametrize("names", [(), ("traceparent",), ("x-other",), ("x-request-id", "x-other")])
async def test_what_is_not_on_the_list_does_not_go_on_and_what_is_does(tmp_path: Path, names: tuple[str, ...]) -> None:
    async with chain(tmp_path, names=names) as ends:
        assert state_of(await begin(ends.host, "hi")) == "FAILED"  # the inner edge has refused it
        assert await ends.tasks_below() == []


async def test_no_value_is_kept_or_logged_by_either_edge(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with chain(tmp_path) as ends:
        asked = await begin(ends.host, "ask", contextId="one")
        ended = [
            await begin(ends.host, "Rome", taskId=asked["id"]),
            await begin(ends.host, "hi", contextId="two"),
            await begin(ends.host, "fail", contextId="three"),
        ]
        assert [state_of(task) for task in ended] == ["COMPLETED", "COMPLETED", "FAILED"]
        shown = json.dumps([asked, *ended, await ends.host.value("ListTasks", includeArtifacts=True)])
        assert_clean(tmp_path, shown, caplog.text)
    assert_clean(tmp_path, shown, caplog.text)


def assert_clean(folder: Path, *texts: str) -> None:
    files = [file for part in ("inner", "outer") for file in (folder / part).rglob("*") if file.is_file()]
    assert sum(file.suffix == ".sqlite" for file in files) >= 4
    for canary in (CHOSEN, OTHER):
        assert [file for file in files if canary.encode() in file.read_bytes()] == []
        assert not any(canary in text for text in texts)
