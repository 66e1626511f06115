"""Projects as people lay them out, each served by a process of its own."""

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import httpx
import pytest
from tests.e2e.conftest import reload, running_edge
from tests.e2e.test_many_agents import ask, names, params, says

GRAPH = """
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
{imports}


def node(state):
    return {{"messages": [AIMessage(WORD)]}}


builder = StateGraph(MessagesState)
builder.add_node("node", node)
builder.add_edge(START, "node")
graph = builder.compile()
"""


def write(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


def graph(path: Path, imports: str) -> Path:
    return write(path, GRAPH.format(imports=imports))


def packed(folder: Path, package: str, word: str) -> Path:
    """A project whose graph's file has its package's name, next to files named like packages that it needs."""
    place = folder / "src" / package
    write(place / "__init__.py")
    write(place / "tools.py", f"WORD = {word!r}")
    for shadow in ("queue", "openai", "langgraph"):
        write(place / f"{shadow}.py", "raise RuntimeError")
    return graph(place / f"{package}.py", f"from .tools import WORD\nfrom {package}.tools import WORD as SAME")


def refused(*arguments: str, cwd: Path) -> str:
    """What an edge says that does not start."""
    command = [sys.executable, "-m", "llamon_agent", "serve", *arguments, "--listen", "127.0.0.1:0", "--ephemeral"]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2, done.stderr
    return done.stderr


@pytest.mark.parametrize("served", ["langgraph.json", "./src/foo/foo.py:graph"])
async def test_a_file_that_is_called_as_its_package_is_served_with_its_neighbours(tmp_path: Path, served: str) -> None:
    packed(tmp_path, "foo", "found")
    write(tmp_path / "pyproject.toml", "[project]\nname = 'foo'\n")
    keys = {"dependencies": ["."], "graphs": {"foo": "./src/foo/foo.py:graph"}}
    write(tmp_path / "langgraph.json", json.dumps(keys))
    with running_edge(served, data=tmp_path / "data", cwd=tmp_path) as edge:
        async with httpx.AsyncClient(base_url=edge.url, timeout=30) as http:
            assert await says(http, "/a2a", "?") == "found"


async def test_a_module_is_looked_up_in_the_folder_of_the_langgraph_json_first(tmp_path: Path) -> None:
    for word in ("here", "project"):
        folder = tmp_path / word
        write(folder / "pkg" / "__init__.py")
        write(folder / "pkg" / "tools.py", f"WORD = {word!r}")
        graph(folder / "pkg" / "graph.py", "from pkg.tools import WORD")
    write(tmp_path / "project" / "langgraph.json", json.dumps({"graphs": {"foo": "pkg.graph:graph"}}))
    with running_edge("../project/langgraph.json", data=tmp_path / "data", cwd=tmp_path / "here") as edge:
        async with httpx.AsyncClient(base_url=edge.url, timeout=30) as http:
            assert await says(http, "/a2a", "?") == "project"


def configured(**targets: Path) -> str:
    return "\n".join(
        ["agents:", *(f"  {name}: {{name: {name}, target: '{file}:graph'}}" for name, file in targets.items())]
    )


def test_two_projects_with_a_package_of_one_name_are_refused_with_both_files(tmp_path: Path) -> None:
    one, two = packed(tmp_path / "one", "agent", "one"), packed(tmp_path / "two", "agent", "two")
    file = write(tmp_path / "edge.yaml", configured(one=one, two=two))
    said = refused("--config", str(file), cwd=tmp_path)
    assert "agents.two: The target" in said
    assert str(one.parent / "__init__.py") in said
    assert str(two.parent / "__init__.py") in said


async def test_a_reload_that_brings_a_taken_name_changes_nothing(tmp_path: Path) -> None:
    one, two = packed(tmp_path / "one", "agent", "one"), packed(tmp_path / "two", "agent", "two")
    other = packed(tmp_path / "other", "other", "other")
    file = write(tmp_path / "edge.yaml", configured(one=one))
    with running_edge("--config", str(file), data=tmp_path / "data") as edge:
        async with httpx.AsyncClient(base_url=edge.url, timeout=30) as http:
            write(file, configured(one=one, two=two))
            reload(
                edge,
                f"its module 'agent' is {two.parent / '__init__.py'}, but by that name this process has {one.parent}",
            )
            assert await names(http) == ["one"]
            write(file, configured(one=one, other=other))
            reload(edge, "configuration is taken: one, other")
            assert [await says(http, f"/a2a/{name}", "?") for name in ("one", "other")] == ["one", "other"]


async def test_files_of_one_name_in_two_folders_are_each_served(tmp_path: Path) -> None:
    files = {name: graph(tmp_path / name / "agent.py", f"from words_{name} import WORD") for name in ("one", "two")}
    for name in files:
        write(tmp_path / name / f"words_{name}.py", f"WORD = {name!r}")
    file = write(tmp_path / "edge.yaml", configured(**files))
    with running_edge("--config", str(file), data=tmp_path / "data") as edge:
        async with httpx.AsyncClient(base_url=edge.url, timeout=30) as http:
            assert [await says(http, f"/a2a/{name}", "?") for name in files] == ["one", "two"]


IN_MEMORY = """
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import MemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt


def node(state):
    text = state["messages"][-1].content
    answer = interrupt(text) if text.endswith("?") else len(state["messages"])
    return {"messages": [AIMessage(str(answer))]}


builder = StateGraph(MessagesState)
builder.add_node("node", node)
builder.add_edge(START, "node")
graph = builder.compile(checkpointer=MemorySaver())
"""


async def test_a_graph_with_a_saver_in_memory_keeps_conversation_and_question_over_a_restart(tmp_path: Path) -> None:
    file, data = write(tmp_path / "tutorial.py", IN_MEMORY), tmp_path / "data"
    with running_edge(f"{file}:graph", data=data) as edge:
        edge.await_line("its threads are kept by this edge, not in the memory of its InMemorySaver")
        async with httpx.AsyncClient(base_url=edge.url, timeout=30) as http:
            assert await says(http, "/a2a", "hi", contextId="talk") == "1"
            asked = await ask(http, "/a2a", "message/send", params("go on?", contextId="question"))
    with running_edge(f"{file}:graph", data=data) as edge:
        async with httpx.AsyncClient(base_url=edge.url, timeout=30) as http:
            assert await says(http, "/a2a", "hi", messageId="m2", contextId="talk") == "3"
            assert await says(http, "/a2a", "yes", messageId="m2", taskId=asked["id"]) == "yes"


UNFIT = {
    "factory": "def graph(one, two, three):\n    pass\n",
    "key": "import os\nraise ValueError('not a key: ' + os.environ['SAMPLE_KEY'])\n",
    "missing": "import nowhere_at_all\n",
    "number": "graph = 1\n",
    "other_state": GRAPH.format(imports="class MessagesState(dict):\n    pass"),
}


def project(folder: Path, **files: str) -> None:
    for name, text in files.items():
        write(folder / f"{name}_graph.py", text)
    graphs = {name: f"./{name}_graph.py:graph" for name in files}
    write(folder / "langgraph.json", json.dumps({"dependencies": ["."], "graphs": graphs}))


async def test_graphs_that_cannot_be_served_are_left_out_and_said_so(tmp_path: Path) -> None:
    project(tmp_path, **UNFIT, fit=GRAPH.format(imports="WORD = 'fit'"))
    key = {"SAMPLE_KEY": "sk-12345"}
    with running_edge("langgraph.json", data=tmp_path / "data", cwd=tmp_path, env=key) as edge:
        edge.await_line("  stop  Ctrl-C")
        async with httpx.AsyncClient(base_url=edge.url, timeout=30) as http:
            assert await names(http) == ["fit"]
            assert (await http.get("/.well-known/agent-card.json")).json()["name"] == "fit"
            assert (await http.get("/a2a/number/.well-known/agent-card.json")).status_code == 404
            assert await says(http, "/a2a", "?") == "fit"
        log = edge.log.read_text()
        for name in UNFIT:
            assert f"langgraph.json: {name} is not served: The target" in log
            assert f"  note  {name} is not served: The target" in log
        assert "set agents.other_state.langgraph.input_key to the state key that takes the prompt" in log
        assert "key_graph.py:2: not a key: $SAMPLE_KEY; correct it there." in log
        assert "sk-12345" not in log
        assert "the default agent is fit, not factory" in log


def test_a_project_of_which_nothing_can_be_served_does_not_start(tmp_path: Path) -> None:
    project(tmp_path, **UNFIT)
    said = refused("langgraph.json", cwd=tmp_path)
    assert all(f"agents.{name}: The target" in said for name in UNFIT)


STARTER = """
from dataclasses import dataclass

from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from typing_extensions import TypedDict


class Settings(TypedDict):
    greeting: str


@dataclass
class Field:
    changeme: str = "example"


async def answer(state: Field, runtime: Runtime[Settings]):
    greeting = (runtime.context or {}).get("greeting")
    return {"changeme": f"changed {state.changeme} with {greeting}"}


builder = StateGraph(Field, context_schema=Settings)
builder.add_node("answer", answer)
builder.add_edge(START, "answer")
graph = builder.compile(name="Starter")
"""
"""The shape of a project that LangChain's starter makes: one text with a default in the state, and no messages."""


async def test_a_new_project_is_served_as_it_is(tmp_path: Path) -> None:
    write(tmp_path / "src/agent/__init__.py", "from agent.graph import graph\n\n__all__ = ['graph']\n")
    write(tmp_path / "src/agent/graph.py", STARTER)
    write(tmp_path / "pyproject.toml", "[project]\nname = 'agent'\nversion = '0.0.1'\n")
    write(tmp_path / ".env", "LANGSMITH_PROJECT=new-agent\n")
    keys = {"dependencies": ["."], "graphs": {"agent": "./src/agent/graph.py:graph"}, "env": ".env"}
    write(tmp_path / "langgraph.json", json.dumps({**keys, "image_distro": "wolfi"}))
    with running_edge("langgraph.json", data=tmp_path / "data", cwd=tmp_path) as edge:
        async with httpx.AsyncClient(base_url=edge.url, timeout=30) as http:
            for _ in range(2):
                task = await ask(http, "/a2a", "message/send", params("hi"))
                parts = [part for artifact in task["artifacts"] for part in artifact["parts"]]
                said = "changed hi with None"
                assert [part["text"] for part in parts if part["kind"] == "text"] == [said]
                assert [part["data"] for part in parts if part["kind"] == "data"] == [{"changeme": said}]
            values = {"message": {**params("")["message"], "parts": [{"kind": "data", "data": {"other": 1}}]}}
            refused = await ask(http, "/a2a", "message/send", values)
            assert refused["error"]["code"] == -32602
            assert "Its fields: changeme." in refused["error"]["message"]
