"""What a graph keeps in its store is there in later conversations and after a restart, for its own caller only."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.sites import JsonRpc, Site, message, site_of

from llamon_agent.config.edge import EdgeConfig

GRAPH = """
from langchain_core.messages import AIMessage
from langgraph.config import get_store
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore


async def keep(state, runtime: Runtime):
    text = state["messages"][-1].text
    if text.startswith("keep "):
        await runtime.store.aput(("memories",), text, {"text": text.removeprefix("keep ")})
    if text == "odd":
        await runtime.store.aput(("memories",), "odd", {"text": float("nan")})
    return {}


def answer(state, *, store: BaseStore):  # not async, so in a thread
    found = sorted(item.value["text"] for item in store.search(("memories",)))
    assert len(get_store().search(("memories",))) == len(found)
    return {"messages": [AIMessage(f"I know: {', '.join(found)}")]}


builder = StateGraph(MessagesState)
builder.add_node("keep", keep)
builder.add_node("answer", answer)
builder.add_edge(START, "keep")
builder.add_edge("keep", "answer")
graph = builder.compile()
own = builder.compile(store=InMemoryStore())
"""


@pytest.fixture(params=["sqlite", "postgres"])
def data(request: pytest.FixtureRequest, tmp_path: Path) -> Mapping[str, Any]:
    if request.param == "postgres":
        return {"postgres": {"url": request.getfixturevalue("database_url")}}
    return {"folder": str(tmp_path / "data")}


def config_of(folder: Path, data: Mapping[str, Any], name: str) -> EdgeConfig:
    module = folder / f"stores_{folder.name}.py"
    module.write_text(GRAPH)
    a2a = {"bearer_token": {"ann": "of-ann", "bob": "of-bob"}, "tenants": ["blue"]}
    return EdgeConfig.model_validate({"a2a": a2a, "agents": {"demo": {"target": f"{module}:{name}"}}, "data": data})


async def says(at: Site, text: str, caller: str = "ann", **more: Any) -> str:
    """The answer, in a conversation of its own."""
    host = JsonRpc(at, token=f"of-{caller}")
    task = (await host.value("SendMessage", **message("", text), **more))["task"]
    if task["status"]["state"] != "TASK_STATE_COMPLETED":
        return str(task["status"]["message"]["parts"][0]["text"])
    return str(task["artifacts"][0]["parts"][0]["text"])


@pytest.mark.parametrize("name", ["graph", "own"])
async def test_a_caller_finds_what_it_had_kept_and_no_other_does(
    tmp_path: Path, data: Mapping[str, Any], name: str
) -> None:
    config = config_of(tmp_path, data, name)
    async with site_of(config) as at:
        assert await says(at, "keep figs") == "I know: figs"
        assert await says(at, "keep rain", "bob") == "I know: rain"
        assert await says(at, "keep blue", tenant="blue") == "I know: blue"
        assert await says(at, "hello") == "I know: figs"
    async with site_of(config) as at:
        assert await says(at, "hello") == "I know: figs"
        assert await says(at, "hello", "bob") == "I know: rain"


async def test_a_value_that_cannot_be_kept_fails_its_task_only(tmp_path: Path, data: Mapping[str, Any]) -> None:
    async with site_of(config_of(tmp_path, data, "graph")) as at:
        assert "cannot be saved" in await says(at, "odd")
        assert await says(at, "keep figs") == "I know: figs"


async def test_an_ephemeral_edge_has_a_store_too(tmp_path: Path) -> None:
    async with site_of(config_of(tmp_path, {"ephemeral": True}, "graph")) as at:
        assert await says(at, "keep figs") == "I know: figs"
        assert await says(at, "hello", "bob") == "I know: "
