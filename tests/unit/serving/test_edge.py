"""What an edge serves can be exchanged while it runs, and nothing that goes on is lost by it."""

import asyncio
import json
import logging
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.unit.inbound.a2a.edges import call, message_03

from llamon_agent.config.edge import AgentSpec, EdgeConfig
from llamon_agent.domain.errors import ConfigError
from llamon_agent.domain.events import Complete, Interrupt
from llamon_agent.domain.profile import SelfDescription, Skill
from llamon_agent.runs.ports.agent import Agent
from llamon_agent.runs.service import RunService
from llamon_agent.serving.edge import Edge
from llamon_agent.serving.left_out import BROKE
from llamon_agent.store.memory import MemoryTaskStore
from llamon_agent.testing.scripted import Gate, HandClock, ScriptedAgent, counting_ids

ASK = Interrupt(text="Sure?", questions=())
DONE = [Complete(text="done")]
CARD = ".well-known/agent-card.json"


class Opening:
    """Opens scripted agents by their targets; a target `m:wrong` cannot be opened, and `m:broken` breaks."""

    def __init__(self, agents: Mapping[str, ScriptedAgent]) -> None:
        self.agents = agents
        self.opened: list[str] = []
        self.closed: list[str] = []
        self.has_closed = asyncio.Event()
        self.in_tasks: dict[str, set[asyncio.Task[Any] | None]] = {}

    async def __call__(self, spec: AgentSpec, stack: AsyncExitStack) -> tuple[Agent, SelfDescription]:
        target = spec.target.target
        if target == "m:wrong":
            raise ConfigError("It is wrong.\nIt is wrong twice.")
        if target == "m:broken":
            raise RuntimeError("a secret")
        self.opened.append(target)
        self.in_tasks[target] = {asyncio.current_task()}
        stack.callback(self._close, target)
        told = SelfDescription(
            name="Graph", description="Told.", skills=(Skill(id="t", name="T", description="Tool."),)
        )
        return self.agents.get(target) or ScriptedAgent(), told

    def _close(self, target: str) -> None:
        self.closed.append(target)
        self.has_closed.set()
        self.in_tasks[target].add(asyncio.current_task())


def config(*names: str, data: Mapping[str, Any] | None = None, **a2a: Any) -> EdgeConfig:
    """Agents by name, or as name=target. Their targets are m:NAME."""
    agents = {name.partition("=")[0]: {"target": f"m:{name.rpartition('=')[2]}"} for name in names}
    sections = {"a2a": {"adapter": "custom", **a2a}, "agents": agents, "data": data or {}}
    return EdgeConfig.model_validate(sections)


class Running:
    """An edge that runs, and a client of it."""

    def __init__(self, edge: Edge, opening: Opening, http: httpx2.AsyncClient) -> None:
        self.edge = edge
        self.opening = opening
        self.http = http

    async def ask(self, path: str, method: str, params: object) -> Any:
        response = (await self.http.post(path, content=call(method, params))).json()
        return response.get("result", response)

    async def send(self, path: str = "/a2a", *, waits: bool = True, **more: object) -> Any:
        params = message_03(**more) | {"configuration": {"blocking": waits}}
        return await self.ask(path, "message/send", params)

    async def names(self) -> list[str]:
        return [agent["name"] for agent in (await self.http.get("/agents")).json()["agents"]]


@asynccontextmanager
async def running(first: EdgeConfig, **agents: ScriptedAgent) -> AsyncIterator[Running]:
    opening = Opening({f"m:{name}": agent for name, agent in agents.items()})
    runs = RunService(MemoryTaskStore(), {}, clock=HandClock(), new_id=counting_ids())
    async with asyncio.timeout(10), Edge(runs, opening) as edge:
        await edge.serve(first)
        async with (
            runs,
            httpx2.AsyncClient(transport=httpx2.ASGITransport(app=edge), base_url="http://localhost") as http,
        ):
            yield Running(edge, opening, http)


# Several agents.


async def test_the_default_path_is_the_first_agents_and_each_has_its_own() -> None:
    async with running(config("one", "two"), one=ScriptedAgent(DONE, DONE), two=ScriptedAgent(DONE)) as it:
        for path in ("/a2a", "/a2a/one", "/a2a/two/"):
            assert (await it.send(path))["status"]["state"] == "completed"
        assert await it.names() == ["one", "two"]
        assert len(it.opening.agents["m:two"].turns) == 1
        assert (await it.http.get("/health")).status_code == 200


@pytest.mark.parametrize(
    ("place", "url"),
    [("/", "/a2a"), ("/a2a/", "/a2a"), ("/a2a/one/", "/a2a/one"), ("/a2a/two/", "/a2a/two")],
)
async def test_every_agent_has_its_cards_below_its_path_and_the_default_one_at_the_root(place: str, url: str) -> None:
    async with running(config("one", "two")) as it:
        for name in (CARD, ".well-known/agent.json"):
            assert (await it.http.get(place + name)).json()["url"] == f"http://localhost{url}"


async def test_an_agent_at_the_root_leaves_room_for_the_list() -> None:
    async with running(config("one", "two", path="/"), one=ScriptedAgent(DONE), two=ScriptedAgent(DONE)) as it:
        assert (await it.send("/"))["status"]["state"] == "completed"
        assert (await it.send("/two"))["status"]["state"] == "completed"
        assert await it.names() == ["one", "two"]
        assert "/two" in (await it.http.get("/")).text
        assert (await it.http.post("/three", content=b"{}")).status_code == 404


async def test_a_task_of_one_agent_is_unknown_to_the_others() -> None:
    async with running(config("one", "two"), one=ScriptedAgent(DONE)) as it:
        task = await it.send("/a2a/one")
        assert (await it.ask("/a2a", "tasks/get", {"id": task["id"]}))["id"] == task["id"]
        assert (await it.ask("/a2a/two", "tasks/get", {"id": task["id"]}))["error"]["code"] == -32001


async def test_a_message_chooses_an_agent_only_where_it_may() -> None:
    two = ScriptedAgent(DONE)
    async with running(config("one", "two"), one=ScriptedAgent(DONE), two=two) as it:
        assert (await it.send(metadata={"agent": "two"}))["status"]["state"] == "completed"
        assert two.turns == []
        await it.edge.serve(config("one", "two", routing={"allow": ["two"]}))
        task = await it.send(metadata={"agent": "two"})
        assert (await it.ask("/a2a", "tasks/get", {"id": task["id"]}))["id"] == task["id"]
    assert len(two.turns) == 1


async def test_a_card_contains_the_agents_own_description() -> None:
    async with running(config("one")) as it:
        card = (await it.http.get(f"/{CARD}")).json()
    assert (card["name"], card["description"], card["skills"][0]["id"]) == ("Graph", "Told.", "t")


# Exchange.


async def test_what_is_served_can_be_exchanged() -> None:
    async with running(config("one", "two"), one=ScriptedAgent(DONE), three=ScriptedAgent(DONE)) as it:
        task = await it.send("/a2a/one")
        assert (
            await it.edge.reload(lambda: config("one", "three", bearer_token="s3cret", public_url="https://p"))
            is not None
        )
        assert await it.names() == ["one", "three"]
        assert (await it.http.post("/a2a/three", content=b"{}")).status_code == 401
        it.http.headers["authorization"] = "Bearer s3cret"
        assert (await it.send("/a2a/three"))["status"]["state"] == "completed"
        assert (await it.ask("/a2a/one", "tasks/get", {"id": task["id"]}))["id"] == task["id"]
        card = (await it.http.get(f"/a2a/three/{CARD}")).json()
        assert (card["url"], "securitySchemes" in card) == ("https://p/a2a/three", True)
        assert it.opening.opened == ["m:one", "m:two", "m:three"]


async def test_an_agent_that_drives_the_same_stays_open_with_what_it_remembers() -> None:
    async with running(config("one"), one=ScriptedAgent([ASK], DONE)) as it:
        task = await it.send()
        again = config("one", timeout=7.0, artifacts="single")
        await it.edge.reload(lambda: again)
        assert (await it.send(taskId=task["id"]))["status"]["state"] == "completed"
        assert it.opening.opened == ["m:one"]
        assert it.opening.closed == []


async def test_runs_finish_with_the_agent_they_began_with_which_is_closed_after_the_last() -> None:
    gate = Gate()
    async with running(config("one=old"), old=ScriptedAgent([gate, *DONE]), new=ScriptedAgent(DONE)) as it:
        task = await it.send(waits=False)
        await gate.reached()
        await it.edge.reload(lambda: config("one=new"))
        assert (await it.send())["status"]["state"] == "completed"
        assert it.opening.closed == []
        gate.open()
        await it.opening.has_closed.wait()
        assert (await it.ask("/a2a", "tasks/get", {"id": task["id"]}))["status"]["state"] == "completed"
    assert it.opening.closed == ["m:old", "m:new"]


async def test_who_wants_to_know_is_told_when_the_agents_that_were_replaced_have_left() -> None:
    gate, told = Gate(), asyncio.Event()
    async with running(config("one=old"), old=ScriptedAgent([gate, *DONE])) as it:
        await it.send(waits=False)
        await gate.reached()
        await it.edge.reload(lambda: config("one=new"))
        it.edge.once_replaced_have_left(lambda: told.set() if it.opening.closed == ["m:old"] else None)
        assert not told.is_set()
        gate.open()
        await told.wait()


async def test_every_agent_is_closed_by_the_task_that_opened_it() -> None:
    async with running(config("one", "two")) as it:
        await it.edge.reload(lambda: config("two=three"))
    assert sorted(it.opening.closed) == ["m:one", "m:three", "m:two"]
    assert all(len(tasks) == 1 for tasks in it.opening.in_tasks.values())


async def test_the_tasks_of_an_agent_that_was_removed_can_be_read_and_take_no_messages() -> None:
    async with running(config("one", "two"), two=ScriptedAgent([ASK])) as it:
        task = await it.send("/a2a/two")
        await it.edge.reload(lambda: config("one"))
        assert (await it.ask("/a2a/two", "tasks/get", {"id": task["id"]}))["status"]["state"] == "input-required"
        refusal = await it.send("/a2a/two", taskId=task["id"])
        assert refusal["error"]["code"] == -32004
        assert "not served any more" in refusal["error"]["message"]
        assert (await it.http.get(f"/a2a/two/{CARD}")).status_code == 404
        assert await it.names() == ["one"]
        assert (await it.ask("/a2a/two", "tasks/cancel", {"id": task["id"]}))["status"]["state"] == "canceled"


async def test_an_agent_that_comes_back_takes_its_tasks_up_again() -> None:
    async with running(config("one", "two"), two=ScriptedAgent([ASK], DONE)) as it:
        task = await it.send("/a2a/two")
        for names in (("one",), ("one", "two")):
            await it.edge.serve(config(*names))
        assert (await it.send("/a2a/two", taskId=task["id"]))["status"]["state"] == "completed"


async def test_the_tasks_of_the_former_default_agent_are_still_found_at_the_default_path() -> None:
    async with running(config("one", "two"), one=ScriptedAgent([ASK], DONE), two=ScriptedAgent(DONE)) as it:
        task = await it.send()
        await it.edge.reload(lambda: config("one", "two", agent="two"))
        assert (await it.http.get(f"/{CARD}")).json()["url"] == "http://localhost/a2a"
        assert (await it.send(taskId=task["id"]))["id"] == task["id"]
        await it.send()
        assert len(it.opening.agents["m:two"].turns) == 1


# What cannot be.


async def test_a_configuration_with_anything_wrong_changes_nothing_and_every_problem_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with running(config("one", "two"), one=ScriptedAgent(DONE)) as it:
        assert await it.edge.reload(lambda: config("new", "a=wrong", "b=wrong")) is None
        assert await it.names() == ["one", "two"]
        assert (await it.send())["status"]["state"] == "completed"
        assert (it.opening.opened, it.opening.closed) == (["m:one", "m:two", "m:new"], ["m:new"])
    told = [record.getMessage().partition(": ")[2] for record in caplog.records]
    assert told == [f"agents.{name}: It is wrong{more}." for name in "ab" for more in ("", " twice")]


async def test_a_file_that_cannot_be_loaded_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def load() -> EdgeConfig:
        raise ConfigError("edge.yaml:1: one\nedge.yaml:2: two")

    async with running(config("one")) as it:
        assert await it.edge.reload(load) is None
        assert await it.names() == ["one"]
    assert [record.getMessage()[-3:] for record in caplog.records] == ["one", "two"]


async def test_an_agent_that_breaks_while_it_is_opened_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async with running(config("one"), one=ScriptedAgent(DONE)) as it:
        assert await it.edge.reload(lambda: config("new", "one=broken")) is None
        assert (await it.send())["status"]["state"] == "completed"
        assert it.opening.closed == ["m:new"]
    assert "an agent broke while it was opened" in caplog.text


async def test_a_project_whose_graphs_cannot_be_opened_sets_no_variable(tmp_path: Path) -> None:
    project = tmp_path / "langgraph.json"
    project.write_text('{"graphs": {"a": "m:wrong"}, "env": {"LG_EDGE": "set"}, "dependencies": ["."]}')
    path = list(sys.path)
    wrong = config("a=wrong", adapter="langgraph", target=str(project))
    async with running(config("one")) as it:
        assert await it.edge.reload(lambda: wrong) is None
    assert "LG_EDGE" not in os.environ
    assert sys.path == path


def project_of(folder: Path, *more: str, **graphs: str) -> EdgeConfig:
    """A langgraph.json with these graphs by their targets, and further agents as `config` takes them."""
    file = folder / "langgraph.json"
    file.write_text(json.dumps({"graphs": {name: f"m:{target}" for name, target in graphs.items()}}))
    agents = {**{name: {"target": f"m:{target}"} for name, target in graphs.items()}, **config(*more).agents}
    return EdgeConfig.model_validate({"a2a": {"target": str(file)}, "agents": agents})


async def test_graphs_of_a_project_that_cannot_be_opened_are_left_out_with_their_reasons(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    async with running(project_of(tmp_path, a="wrong", b="two", c="broken"), two=ScriptedAgent(DONE)) as it:
        assert await it.names() == ["b"]
        assert (await it.send())["status"]["state"] == "completed"
        assert (await it.http.get(f"/a2a/a/{CARD}")).status_code == 404
        assert (await it.http.post("/a2a/c", content=b"{}")).status_code == 404
        assert it.edge.left_out == {"a": "It is wrong.\nIt is wrong twice.", "c": BROKE}
    assert [line.partition("langgraph.json: ")[2] for line in caplog.messages] == [
        "",
        "a is not served: It is wrong.",
        "a is not served: It is wrong twice.",
        f"c is not served: {BROKE}",
        "the default agent is b, not a",
    ]
    assert "a secret" in str(caplog.records[0].exc_info)


async def test_a_graph_that_is_mended_is_served_after_a_reload_and_one_that_is_served_is_never_lost_by_one(
    tmp_path: Path,
) -> None:
    async with running(project_of(tmp_path, a="wrong", b="two")) as it:
        assert await it.edge.reload(lambda: project_of(tmp_path, a="one", b="two")) is not None
        assert await it.names() == ["a", "b"]
        assert it.edge.left_out == {}
        assert await it.edge.reload(lambda: project_of(tmp_path, a="one", b="wrong", c="three")) is None
        assert await it.names() == ["a", "b"]
        assert await it.edge.reload(lambda: project_of(tmp_path, a="one", b="two", c="wrong")) is not None
        assert (await it.names(), [*it.edge.left_out]) == (["a", "b"], ["c"])


async def test_an_agent_beside_a_project_must_be_served(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"\Aagents.a: It is wrong"):
        async with running(project_of(tmp_path, "mine=wrong", a="wrong", b="two")):
            pass
    with pytest.raises(ConfigError, match=r"\AIt is wrong"):
        async with running(project_of(tmp_path, a="wrong")):
            pass


async def test_at_the_start_a_wrong_agent_is_reported_without_a_prefix() -> None:
    with pytest.raises(ConfigError, match=r"\AIt is wrong\.\nIt is wrong twice\.\Z"):
        async with running(config("a=wrong")):
            pass


async def test_what_only_a_restart_can_change_is_logged_and_not_changed(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    async with running(config("one")) as it:
        changed = config("one", "two", listen="127.0.0.1:9", data={"folder": "elsewhere"})
        assert await it.edge.reload(lambda: changed) is not None
        assert await it.names() == ["one", "two"]
    assert [record.getMessage() for record in caplog.records] == [
        "changed, but only a restart can change it: a2a.listen, data"
    ]
