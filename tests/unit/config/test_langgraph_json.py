"""A langgraph.json is read as LangGraph's own tools read it, and everything wrong with it is told at once."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from llamon_agent.adapters.imports.path import in_project
from llamon_agent.config.langgraph_json import Project, agent_key, is_project, read_project
from llamon_agent.config.values import AgentName
from llamon_agent.domain.errors import ConfigError

Read = Callable[..., Project]


def move_in(project: Project) -> None:
    with project.importable_project(in_project):
        pass


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Read:
    """Read a langgraph.json of these keys, in a folder that is not the working directory."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(os, "environ", dict(os.environ))
    file = tmp_path / "langgraph.json"

    def reading(**keys: object) -> Project:
        file.write_text(json.dumps({"graphs": {"agent": "./agent.py:graph"}, **keys}), encoding="utf-8")
        return read_project(file)

    return reading


def problems(read: Read, **keys: object) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read(**keys)
    return [line.partition("langgraph.json: ")[2] for line in caught.value.public.splitlines()]


@pytest.mark.parametrize(("target", "expected"), [("langgraph.json", True), ("./x/lg.json", True), ("a:b", False)])
def test_a_project_is_a_json_file(target: str, expected: bool) -> None:
    assert is_project(target) is expected


def test_graphs_become_agents_with_targets_from_the_files_folder(read: Read, tmp_path: Path) -> None:
    graphs = {
        "agent": "./src/agent.py:graph",
        "bare": "src/bare.py:make_graph",
        "module": "my_pkg.graph:graph",
        "told": {"path": "./told.py:graph", "description": "Tells."},
        "untold": {"path": "./untold.py:graph", "description": None},
    }
    agents = read(graphs=graphs).agents
    assert [agent["target"] for agent in agents.values()] == [
        f"{tmp_path}/src/agent.py:graph",
        f"{tmp_path}/src/bare.py:make_graph",
        "my_pkg.graph:graph",
        f"{tmp_path}/told.py:graph",
        f"{tmp_path}/untold.py:graph",
    ]
    assert agents["told"]["description"] == "Tells."
    assert "description" not in agents["untold"]
    assert {agent["adapter"] for agent in agents.values()} == {"langgraph"}


def test_a_graphs_name_is_made_fit_for_a_url_and_kept_for_the_card(read: Read) -> None:
    agents = read(graphs={"Deep Researcher": "a:b", "chat_agent": "c:d"}).agents
    assert agents == {
        "deep-researcher": {"adapter": "langgraph", "target": "a:b", "name": "Deep Researcher"},
        "chat_agent": {"adapter": "langgraph", "target": "c:d"},
    }


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"graphs": {}}, "graphs must name at least one graph"),
        ({"graphs": []}, "graphs must name at least one graph"),
        ({"graphs": {"a": 3}}, "graphs.a must be ./file.py:name"),
        ({"graphs": {"a": {"description": "x"}}}, "graphs.a must be ./file.py:name"),
        ({"graphs": {"a": "./file.py"}}, "graphs.a must be ./file.py:name"),
        ({"graphs": {"a b": "a:b", "a-b": "a:b"}}, "graphs.a-b needs a name of its own"),
        ({"graphs": {"상담": "a:b"}}, "graphs.상담 needs a name of its own"),
        ({"graphs": {"a": "./a.ts:graph"}}, "graphs names no graph in Python"),
        ({"dependencies": "."}, "dependencies must be a list"),
        ({"dependencies": [1]}, "dependencies must be a list"),
        ({"env": 3}, "env must be a file's name or an object of variables"),
        ({"env": {"": "a"}}, "env: '' cannot be a variable"),
        ({"env": {"A=B": "a"}}, "env: 'A=B' cannot be a variable"),
        ({"env": {"A\0": "a"}}, r"env: 'A\x00' cannot be a variable"),
        ({"env": {"A": "a\0b"}}, "env: 'A' cannot be a variable"),
    ],
)
def test_impossible_entries_are_reported(read: Read, keys: dict[str, object], problem: str) -> None:
    (told,) = problems(read, **keys)
    assert told.startswith(problem)


def test_all_problems_are_reported_at_once(read: Read) -> None:
    told = problems(read, graphs={"a": 1, "b": 2}, dependencies=[1], env=[])
    assert [line.split()[0] for line in told] == ["graphs.a", "graphs.b", "dependencies", "env"]


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff", b"[" * 100_000])
def test_a_file_without_a_json_object_is_reported(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "langgraph.json"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match="this is not a JSON object"):
        read_project(file)


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "langgraph.json"
    file.write_text('{"graphs": {"a": "a:b"}}', encoding="utf-8-sig")
    assert list(read_project(file).agents) == ["a"]


def test_a_long_name_is_cut_to_one_that_may_stand_in_a_url(read: Read) -> None:
    (key,) = read(graphs={"a" * 62 + " b": "a:b"}).agents
    assert key == "a" * 62


def test_a_missing_file_or_a_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such file"):
        read_project(tmp_path / "none.json")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_project(tmp_path)


# Moving in.


def test_local_dependencies_are_importable_as_if_they_were_installed(read: Read, tmp_path: Path) -> None:
    for file in ("app/pyproject.toml", "app/src/x/__init__.py", "flat/__init__.py", "loose/module.py"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    project = read(dependencies=["./app", "./flat", "./loose", "."])
    assert project.folders == (tmp_path / "app", tmp_path / "app" / "src", tmp_path, tmp_path / "loose")
    before = len(sys.path)
    move_in(project)
    move_in(project)
    assert {str(folder) for folder in project.folders} <= set(sys.path)
    assert len(sys.path) == before + 4


def test_the_files_own_folder_is_always_among_them_and_first_if_a_graph_is_named_by_its_module(
    read: Read, tmp_path: Path
) -> None:
    """As LangGraph's server has the folder that it is started in. A project built by uv lists no dependencies."""
    (tmp_path / "app").mkdir()
    graphs = {"file": "./agent.py:graph", "module": "my_pkg.graph:graph"}
    assert read(graphs=graphs, dependencies=["./app", "."]).folders == (tmp_path, tmp_path / "app")
    assert read(graphs=graphs).folders == (tmp_path,)
    assert read(dependencies=["./app", "langchain"]).folders == (tmp_path / "app", tmp_path)
    assert read(source={"kind": "uv", "root": "."}).folders == (tmp_path,)
    assert read(source={"kind": "uv", "root": "."}).unused == ()


@pytest.mark.parametrize("file", ["pyproject.toml", "setup.py"])
def test_a_projects_own_file_as_a_dependency_stands_for_its_folder(read: Read, tmp_path: Path, file: str) -> None:
    (tmp_path / "app" / "src").mkdir(parents=True)
    for folder in (tmp_path, tmp_path / "app"):
        (folder / file).touch()
    project = read(dependencies=[f"./{file}", f"./app/{file}"])
    assert project.folders == (tmp_path, tmp_path / "app", tmp_path / "app" / "src")


def test_a_file_that_only_the_working_directory_has_is_found_there(
    read: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a project is served from its root, whose langgraph.json is in a folder."""
    root = tmp_path / "elsewhere"
    for place in (root / "agent", tmp_path / "both", root / "both"):
        place.mkdir(parents=True)
        (place / "graph.py").touch()
    monkeypatch.chdir(root)
    names = ("agent", "both", "none")
    agents = read(graphs={name: f"./{name}/graph.py:graph" for name in names}).agents
    found = (root / "agent", tmp_path / "both", tmp_path / "none")
    assert [agents[name]["target"] for name in names] == [f"{place / 'graph.py'}:graph" for place in found]


def test_any_other_file_as_a_dependency_is_left_to_those_who_install_it(read: Read, tmp_path: Path) -> None:
    (tmp_path / "requirements-dev.txt").touch()
    project = read(dependencies=["./requirements-dev.txt"])
    assert (project.folders, project.packages, project.absent) == ((tmp_path,), (), ())


@pytest.mark.parametrize("name", ["./nowhere", "./nowhere/pyproject.toml"])
def test_a_dependency_that_is_not_there_is_a_warning(
    read: Read, tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    """As LangGraph's server goes on without it, and the graphs may not need it."""
    project = read(dependencies=[".", name])
    assert (project.folders, project.absent) == ((tmp_path,), (name,))
    move_in(project)
    assert f"dependencies that are not there: {name}" in caplog.text


def test_variables_come_from_a_file_and_override_nothing(read: Read, tmp_path: Path) -> None:
    os.environ["LG_SET"] = "before"
    (tmp_path / ".env").write_text("# mine\nexport LG_ONE='1 2'\nLG_SET=after\nLG_BARE\n", encoding="utf-8")
    move_in(read(env=".env"))
    assert (os.environ["LG_ONE"], os.environ["LG_SET"]) == ("1 2", "before")
    assert "LG_BARE" not in os.environ


def test_variables_may_stand_in_the_file_itself(read: Read) -> None:
    move_in(read(env={"LG_TEXT": "a", "LG_NUMBER": 3, "LG_FLAG": True}))
    assert [os.environ[name] for name in ("LG_TEXT", "LG_NUMBER", "LG_FLAG")] == ["a", "3", "true"]


def test_a_project_does_not_configure_the_edge(read: Read, caplog: pytest.LogCaptureFixture) -> None:
    move_in(read(env={"LLAMON_A2A__LISTEN": "0.0.0.0:1", "LG_TEXT": "a"}))
    assert "LLAMON_A2A__LISTEN" not in os.environ
    assert os.environ["LG_TEXT"] == "a"
    assert "ignored: LLAMON_A2A__LISTEN" in caplog.text


def test_an_env_file_that_is_not_there_is_a_warning(read: Read, caplog: pytest.LogCaptureFixture) -> None:
    move_in(read(env=".env"))
    assert "no variable is set from it" in caplog.text


def test_no_env_file_is_no_variable(read: Read, caplog: pytest.LogCaptureFixture) -> None:
    move_in(read(env=""))
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"LG_A=\xff\xfe", "which is not UTF-8"),
        (b"LG_A=a\0b", "in which 'LG_A' cannot be a variable"),
        (None, "cannot be read"),
    ],
)
def test_an_env_file_that_cannot_be_used_is_reported_and_changes_nothing(
    read: Read, tmp_path: Path, content: bytes | None, told: str
) -> None:
    env = tmp_path / "env"
    env.mkdir() if content is None else env.write_bytes(content)
    project, before = read(env="env", dependencies=["."]), (dict(os.environ), list(sys.path))
    with pytest.raises(ConfigError, match=told):
        move_in(project)
    assert (dict(os.environ), sys.path) == before


def test_a_byte_order_mark_is_no_part_of_a_variable(read: Read, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("LG_BOM=a\n", encoding="utf-8-sig")
    move_in(read(env=".env"))
    assert os.environ["LG_BOM"] == "a"


def test_what_goes_wrong_inside_takes_everything_back(read: Read) -> None:
    move_in(read(env={"LG_KEPT": "old"}))
    before = (dict(os.environ), list(sys.path))
    seen = []

    def open_a_broken_graph() -> None:
        seen.extend([os.environ["LG_KEPT"], os.environ["LG_NEW"]])
        raise ConfigError("a graph is broken")

    with (
        pytest.raises(ConfigError),
        read(env={"LG_KEPT": "new", "LG_NEW": "a"}, dependencies=["."]).importable_project(in_project),
    ):
        open_a_broken_graph()
    assert seen == ["new", "a"]
    assert (dict(os.environ), sys.path) == before


def test_a_variable_that_a_project_has_set_changes_with_it(read: Read) -> None:
    for value in ("one", "two", "two", "three"):
        move_in(read(env={"LG_AGAIN": value}))
        assert os.environ["LG_AGAIN"] == value
    os.environ["LG_AGAIN"] = "by somebody else"
    move_in(read(env={"LG_AGAIN": "four"}))
    assert os.environ["LG_AGAIN"] == "by somebody else"


def test_keys_that_mean_nothing_here_are_named_in_one_warning(read: Read, caplog: pytest.LogCaptureFixture) -> None:
    project = read(store={"ttl": {}}, http={"app": "x:y"}, checkpointer={"ttl": {}}, ui={}, python_version="3.12")
    move_in(project)
    assert [record.getMessage().rpartition(": ")[2] for record in caplog.records] == ["http, checkpointer"]


def test_the_store_has_the_projects_options(read: Read) -> None:
    index = {"embed": "./embed.py:embed", "dims": 3, "fields": ["text"], "other": 1}
    project = read(store={"index": index, "ttl": {"default_ttl": 5, "refresh_on_read": False, "other": 1}})
    (agent,) = project.agents.values()
    store = agent["langgraph"]["store"]
    assert store["ttl"] == {"default_ttl": 5, "refresh_on_read": False}
    assert (store["index"]["dims"], store["index"]["fields"]) == (3, ["text"])
    assert Path(store["index"]["embed"].partition(":")[0]).is_absolute()
    assert set(store["index"]) == {"dims", "fields", "embed"}


def test_a_model_that_makes_embeddings_is_no_file(read: Read) -> None:
    (agent,) = read(store={"index": {"embed": "openai:small"}}).agents.values()
    assert agent["langgraph"]["store"] == {"index": {"embed": "openai:small"}}


@pytest.mark.parametrize("store", [{"ttl": {"sweep_interval_minutes": 5}}, {"path": "./own.py:store"}, {}])
def test_a_store_without_options_sets_none(read: Read, store: Any) -> None:
    (agent,) = read(store=store).agents.values()
    assert "langgraph" not in agent


@pytest.mark.parametrize("store", ["x", {"index": "x"}, {"ttl": 5}])
def test_a_store_of_another_form_is_refused(read: Read, store: Any) -> None:
    with pytest.raises(ConfigError, match="store must be an object"):
        read(store=store)


@pytest.mark.parametrize(
    ("auth", "target"),
    [
        ({"path": "./auth.py:auth"}, "/auth.py:auth"),
        ({"path": "pkg.auth:my.auth", "disable_studio_auth": True, "openapi": {}}, "pkg.auth:my.auth"),
        ({"disable_studio_auth": True}, None),
        ({}, None),
        (None, None),
    ],
)
def test_the_authentication_is_a_target(read: Read, auth: Any, target: str | None) -> None:
    found = read(auth=auth).auth
    assert found == target or (found is not None and Path(found).is_absolute() and found.endswith(target or "?"))


@pytest.mark.parametrize("auth", ["./auth.py:auth", {"path": "./auth.py"}, {"path": 1}, ["./auth.py:auth"]])
def test_an_authentication_in_another_form_is_refused(read: Read, auth: Any) -> None:
    with pytest.raises(ConfigError, match="auth must be an object whose path is"):
        read(auth=auth)


def test_graphs_of_another_language_are_left_out_and_named(read: Read, caplog: pytest.LogCaptureFixture) -> None:
    project = read(graphs={"py": "a:b", "js": "./a.ts:graph"})
    move_in(project)
    assert list(project.agents) == ["py"]
    assert "not served: js" in caplog.text


@pytest.mark.parametrize(
    ("packages", "missing"),
    [
        (["langgraph>=0.2", "git+https://example.com/x.git", "https://example.com/x.whl"], None),
        (["langgraph", "no-such-package-here[extra]>=1"], "no-such-package-here[extra]>=1"),
    ],
)
def test_packages_are_to_be_installed_already(
    read: Read, caplog: pytest.LogCaptureFixture, packages: list[str], missing: str | None
) -> None:
    move_in(read(dependencies=packages))
    warned = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert [line.rpartition("here: ")[2] for line in warned] == ([missing] if missing else [])


@pytest.mark.parametrize(("name", "key"), [("My Graph", "my-graph"), ("tasks", "tasks-agent"), ("V1", "v1-agent")])
def test_a_graphs_key_is_a_name_that_an_agent_may_have(name: str, key: str) -> None:
    assert agent_key(name) == key
    assert TypeAdapter(AgentName).validate_python(key) == key
