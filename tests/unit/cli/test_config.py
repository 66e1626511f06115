import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from llamon_agent.cli.exits import Exit
from llamon_agent.cli.main import main
from llamon_agent.config.load import write_schema

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _empty_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    for name in [name for name in sys.modules if name.startswith("checked_")]:
        del sys.modules[name]


def test_a_valid_file_is_reported_with_its_agents(capsys: Capture) -> None:
    Path("edge.yaml").write_text("a2a: {adapter: echo}", encoding="utf-8")
    assert main(["config", "check"]) == Exit.OK
    assert capsys.readouterr().out.splitlines()[:2] == ["edge.yaml is valid.", "llamon serves echo (echo)"]


def test_problems_are_reported_a_line_each(capsys: Capture) -> None:
    Path("mine.yaml").write_text("a2a:\n  listn: x\n  adapter: ecko\n", encoding="utf-8")
    assert main(["config", "check", "mine.yaml"]) == Exit.USAGE
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines() == [
        "llamon: mine.yaml:2: a2a.listn is not a known key; did you mean listen?",
        "llamon: mine.yaml:3: a2a.adapter must be langgraph, custom, model, process or echo",
    ]


def test_problems_are_also_written_as_json(capsys: Capture) -> None:
    Path("mine.yaml").write_text("a2a: {adapter: ecko}", encoding="utf-8")
    assert main(["config", "check", "mine.yaml", "--json"]) == Exit.USAGE
    told = json.loads(capsys.readouterr().out)
    assert told == {
        "file": "mine.yaml",
        "valid": False,
        "problems": ["mine.yaml:1: a2a.adapter must be langgraph, custom, model, process or echo"],
    }


def test_the_whole_configuration_is_written_as_json_without_its_secrets(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLAMON_A2A__BEARER_TOKEN", "s3cret")
    Path("mine.yaml").write_text("a2a: {adapter: echo}", encoding="utf-8")
    assert main(["config", "check", "mine.yaml", "--json"]) == Exit.OK
    out = capsys.readouterr().out
    assert json.loads(out)["config"]["a2a"]["bearer_token"] == {"default": "**********"}
    assert "s3cret" not in out


def project(**graphs: str) -> None:
    """A langgraph.json with these graphs, in files that each hold this code."""
    for name, code in graphs.items():
        Path(f"checked_{name}.py").write_text(f"print('loud')\n{code}", encoding="utf-8")
    files = {name: f"./checked_{name}.py:graph" for name in graphs}
    Path("langgraph.json").write_text(json.dumps({"graphs": files}), encoding="utf-8")


GRAPH = """
from langgraph.graph import START, MessagesState, StateGraph
builder = StateGraph(MessagesState)
builder.add_node("node", lambda state: {})
builder.add_edge(START, "node")
graph = builder.compile()
"""


def test_graphs_that_would_be_left_out_are_told(capsys: Capture) -> None:
    project(fit=GRAPH, unfit="graph = 1")
    Path("edge.yaml").write_text("a2a: {target: ./langgraph.json, agent: unfit}", encoding="utf-8")
    assert main(["config", "check"]) == Exit.OK
    told = capsys.readouterr().out.splitlines()
    assert told[:2] == ["edge.yaml is valid.", f"llamon serves fit (langgraph {Path.cwd()}/checked_fit.py:graph)"]
    assert told[-2].startswith("  note  unfit is not served: The target")
    assert told[-1] == "  note  the default agent is fit, not unfit"
    assert main(["config", "check", "langgraph.json", "--json"]) == Exit.OK
    assert [*json.loads(capsys.readouterr().out)["left_out"]] == ["unfit"]
    assert not Path("data").exists()


def test_a_project_without_a_graph_that_can_be_served_is_not_valid(capsys: Capture) -> None:
    project(broken="graph = 1 / 0", unfit="graph = 1")
    assert main(["config", "check", "langgraph.json"]) == Exit.USAGE
    told = [line.partition(":")[2].split(":")[0].strip() for line in capsys.readouterr().err.splitlines()]
    assert told[-2:] == ["agents.broken", "agents.unfit"]


def test_no_file_to_check_is_a_usage_error(capsys: Capture) -> None:
    assert main(["config", "check"]) == Exit.USAGE
    assert "name a file" in capsys.readouterr().err


def test_the_schema_is_printed(capsys: Capture) -> None:
    assert main(["config", "schema"]) == Exit.OK
    assert capsys.readouterr().out == write_schema()
