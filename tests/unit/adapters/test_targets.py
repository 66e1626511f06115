"""A target's name leads to its object, or to a text that says what to do."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from llamon_agent.adapters.targets import import_target
from llamon_agent.domain.errors import ConfigError


@pytest.fixture(autouse=True)
def _imports_are_undone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    modules = set(sys.modules)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    yield
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def write(path: Path, code: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(code)
    return path


def refused(spec: str) -> str:
    with pytest.raises(ConfigError) as raised:
        import_target(spec)
    assert repr(spec) in raised.value.public
    return raised.value.public


def test_a_module_in_the_working_directory_is_found(tmp_path: Path) -> None:
    write(tmp_path / "my_module.py", "agent = 'found'")
    assert import_target("my_module:agent") == "found"


def test_a_module_in_a_package_is_found(tmp_path: Path) -> None:
    write(tmp_path / "my_package" / "__init__.py", "")
    write(tmp_path / "my_package" / "inner.py", "class Box:\n    agent = 'found'")
    assert import_target("my_package.inner:Box.agent") == "found"


def test_a_file_is_found_with_its_neighbours(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere" / "neighbour.py", "agent = 'found'")
    file = write(tmp_path / "elsewhere" / "my_file.py", "from neighbour import agent")
    assert import_target(f"{file}:agent") == "found"
    assert import_target("./elsewhere/my_file.py:agent") == "found"


def test_what_a_file_defines_can_be_found_again_by_its_module_name(tmp_path: Path) -> None:
    write(tmp_path / "my_state.py", "class State: pass")
    state = import_target("./my_state.py:State")
    assert isinstance(state, type)
    assert import_target(f"{state.__module__}:State") is state


@pytest.mark.parametrize("spec", ["", "my_module", ":agent", "my_module:", "./my_file.py"])
def test_a_target_has_two_halves(spec: str) -> None:
    assert "package.module:attribute" in refused(spec)


@pytest.mark.parametrize("spec", ["nowhere:agent", "nowhere.inner:agent", "json.nowhere:agent"])
def test_a_module_that_is_not_there_is_told(spec: str) -> None:
    assert "names no module" in refused(spec)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    assert str(tmp_path / "nowhere.py") in refused("./nowhere.py:agent")


def test_files_of_one_name_are_told_apart_and_loaded_once_each(tmp_path: Path) -> None:
    write(tmp_path / "one" / "my_graph.py", "class State: pass\nagent = 'one'")
    write(tmp_path / "two" / "my_graph.py", "class State: pass\nagent = 'two'")
    write(tmp_path / "json.py", "agent = 'ours'")
    specs = ["./one/my_graph.py", "./two/my_graph.py", "./json.py"]
    assert [import_target(f"{spec}:agent") for spec in specs] == ["one", "two", "ours"]
    state = import_target("./two/my_graph.py:State")
    assert isinstance(state, type)
    assert import_target("./two/my_graph.py:State") is state
    assert import_target(f"{state.__module__}:State") is state


def test_a_file_that_cannot_be_loaded_apart_is_told_each_time(tmp_path: Path) -> None:
    write(tmp_path / "json.py", "\nraise ValueError('a secret')")
    assert f"ValueError at {tmp_path / 'json.py'}:2" in refused("./json.py:agent")
    assert f"ValueError at {tmp_path / 'json.py'}:2" in refused("./json.py:agent")


def test_a_file_in_a_package_is_imported_as_part_of_it(tmp_path: Path) -> None:
    write(tmp_path / "src" / "my_agent" / "__init__.py", "")
    write(tmp_path / "src" / "my_agent" / "state.py", "name = 'found'")
    write(
        tmp_path / "src" / "my_agent" / "graph.py", "from .state import name\nfrom my_agent.state import name as same"
    )
    assert import_target("./src/my_agent/graph.py:name") == "found"
    assert import_target("./src/my_agent/graph.py:__name__") == "my_agent.graph"


def test_a_module_that_needs_another_one_names_that(tmp_path: Path) -> None:
    write(tmp_path / "needy.py", "import not_installed_anywhere")
    assert "'not_installed_anywhere', which is not installed" in refused("needy:agent")


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("\nraise ValueError('a secret')", "ValueError at {file}:2"),
        ("import sys\nsys.exit(3)", "SystemExit at {file}:2"),
        ("\n\ndef broken(:", "SyntaxError at {file}:3"),
    ],
)
def test_a_module_that_fails_is_told_with_the_place_and_not_its_text(tmp_path: Path, code: str, told: str) -> None:
    file = write(tmp_path / "failing.py", code)
    public = refused("failing:agent")
    assert told.format(file=file) in public
    assert "a secret" not in public


def test_a_misspelled_attribute_is_guessed(tmp_path: Path) -> None:
    write(tmp_path / "my_module.py", "agent = 1")
    assert "did you mean 'agent'?" in refused("my_module:agnet")
    assert "did you mean" not in refused("my_module:zzzzzz")
