"""Calls of the LangGraph server that a graph runs in are found in its code, and named at the start."""

from pathlib import Path

import pytest

from llamon_agent.adapters.langgraph.load import load_graph
from llamon_agent.adapters.langgraph.own_server import calls_of_own_server

SDK = "from langgraph_sdk import get_client\n"
REMOTE = "from langgraph.pregel.remote import RemoteGraph\n"


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        (f"{SDK}get_client()", [2]),
        (f"{SDK}get_client(None)", [2]),
        (f"{SDK}get_client(url=None, api_key='k')", [2]),
        (f"{SDK}async def node(state):\n    async with get_client() as c: pass", [3]),
        ("import langgraph_sdk\nlanggraph_sdk.get_client()", [2]),
        ("import langgraph_sdk as sdk\nsdk.get_client()", [2]),
        ("from langgraph_sdk import get_client as make\nmake()\nmake()", [2, 3]),
        ("from langgraph_sdk.client import get_client\nget_client()", [2]),
        (f"{REMOTE}RemoteGraph('other')", [2]),
        (f"{REMOTE}RemoteGraph('other', url='http://other')", []),
        (f"{REMOTE}RemoteGraph('other', client=made)", []),
        (f"{SDK}get_client('http://other')", []),
        (f"{SDK}get_client(url=os.environ.get('URL'))", []),
        (f"{SDK}get_client(**options)", []),
        ("from .sdk import get_client\nget_client()", []),
        ("get_client()", []),
        ("self.get_client()", []),
        ("not python", []),
    ],
)
def test_only_clients_without_an_address_count(tmp_path: Path, code: str, lines: list[int]) -> None:
    file = tmp_path / "made.py"
    file.write_text(code)
    assert calls_of_own_server(file) == lines


GRAPH = """
from langgraph.graph import START, MessagesState, StateGraph
import calls_home_tools
builder = StateGraph(MessagesState)
builder.add_node("node", lambda state: None)
builder.add_edge(START, "node")
graph = builder.compile()
"""


async def test_the_log_names_the_target_and_the_place(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "calls_home.py").write_text(GRAPH)
    tools = tmp_path / "calls_home_tools.py"
    tools.write_text(f"{SDK}def search():\n    return get_client()\n")
    target = f"{tmp_path / 'calls_home.py'}:graph"
    await load_graph(target, checkpointer=None)
    (line,) = [line for line in caplog.messages if "the LangGraph server that it runs in" in line]
    assert target in line
    assert f"{tools}:3" in line


async def test_a_module_by_its_name_is_looked_at_where_it_is_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "calls_home_by_name.py").write_text(
        SDK + "client = get_client()\n" + GRAPH.replace("import calls_home_tools", "")
    )
    monkeypatch.chdir(tmp_path)
    await load_graph("calls_home_by_name:graph", checkpointer=None)
    assert "calls_home_by_name.py:2" in caplog.text
