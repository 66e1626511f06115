"""A target's name leads to its object, or to a text that says what to do."""

import importlib
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

from llamon_agent.adapters.imports.path import in_project
from llamon_agent.adapters.imports.target import import_target
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
def test_a_missing_module_is_refused(spec: str) -> None:
    assert "names no module" in refused(spec)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    assert str(tmp_path / "nowhere.py") in refused("./nowhere.py:agent")


def test_files_of_one_name_are_two_modules_and_loaded_once_each(tmp_path: Path) -> None:
    write(tmp_path / "one" / "my_graph.py", "class State: pass\nagent = 'one'")
    write(tmp_path / "two" / "my_graph.py", "class State: pass\nagent = 'two'")
    write(tmp_path / "json.py", "agent = 'ours'")
    specs = ["./one/my_graph.py", "./two/my_graph.py", "./json.py"]
    assert [import_target(f"{spec}:agent") for spec in specs] == ["one", "two", "ours"]
    state = import_target("./two/my_graph.py:State")
    assert isinstance(state, type)
    assert import_target("./two/my_graph.py:State") is state
    assert import_target(f"{state.__module__}:State") is state


def test_a_file_that_cannot_be_loaded_under_another_name_is_refused_each_time(tmp_path: Path) -> None:
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


def test_a_file_of_its_packages_name_does_not_stand_for_the_package(tmp_path: Path) -> None:
    write(tmp_path / "src" / "my_foo" / "__init__.py", "")
    write(tmp_path / "src" / "my_foo" / "tools.py", "name = 'found'")
    write(tmp_path / "src" / "my_foo" / "my_foo.py", "from my_foo.tools import name")
    sys.path.append(str(tmp_path / "src"))
    assert import_target("./src/my_foo/my_foo.py:name") == "found"
    assert str(tmp_path / "src" / "my_foo") not in sys.path


def test_the_file_of_a_package_is_the_package(tmp_path: Path) -> None:
    write(tmp_path / "my_package" / "__init__.py", "name = __name__")
    assert import_target("./my_package/__init__.py:name") == "my_package"


def test_no_file_next_to_a_target_hides_an_installed_module(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    installed(tmp_path, "my_library", "name = 'library'")
    for place in ("alone", "packed"):
        write(tmp_path / place / "my_library.py", "name = 'neighbour'")
        write(tmp_path / place / "this.py", "raise RuntimeError")
        write(tmp_path / place / f"{place}_graph.py", "import this\nfrom my_library import name")
    write(tmp_path / "packed" / "__init__.py", "")
    assert import_target("./packed/packed_graph.py:name") == "library"
    assert caplog.messages == []
    assert import_target("./alone/alone_graph.py:name") == "library"
    hidden, standard = sorted(caplog.messages)
    assert f"{tmp_path}/alone/my_library.py is not what 'import my_library' gives here: that is" in hidden
    assert standard.startswith(f"{tmp_path}/alone/this.py is not")


def test_a_package_that_is_named_by_its_file_is_had_from_there_though_it_is_installed_too(tmp_path: Path) -> None:
    installed(tmp_path, "my_package/__init__", "")
    installed(tmp_path, "my_package/state", "name = 'installed'")
    write(tmp_path / "my_package" / "__init__.py", "")
    write(tmp_path / "my_package" / "state.py", "name = 'own'")
    write(tmp_path / "my_package" / "graph.py", "from my_package.state import name")
    assert import_target("./my_package/graph.py:name") == "own"


def test_a_package_without_an_init_is_named_as_the_file_imports_it(tmp_path: Path) -> None:
    write(tmp_path / "flows" / "words.py", "name = 'found'")
    write(tmp_path / "flows" / "one.py", "from .words import name\nown = __name__")
    write(tmp_path / "flows" / "two.py", "from flows.words import name\nown = __name__")
    write(tmp_path / "flows" / "three.py", "from words import name\nown = __name__")
    write(tmp_path / "flows" / "deep" / "__init__.py", "")
    write(tmp_path / "flows" / "deep" / "four.py", "from ..words import name\nown = __name__")
    files = ["one", "two", "three", "deep/four"]
    assert {import_target(f"./flows/{file}.py:name") for file in files} == {"found"}
    named = [import_target(f"./flows/{file}.py:own") for file in files]
    assert named == ["flows.one", "flows.two", "three", "flows.deep.four"]


def test_a_module_of_a_project_comes_before_that_of_the_working_directory(tmp_path: Path) -> None:
    for name in ("here", "project"):
        write(tmp_path / ("." if name == "here" else name) / "my_flat.py", f"name = '{name}'")
    write(tmp_path / "project" / "my_agent" / "__init__.py", "")
    write(tmp_path / "my_agent" / "__init__.py", "")
    write(tmp_path / "my_agent" / "graph.py", "name = 'here'")
    with in_project((tmp_path / "project",)):
        assert import_target("my_flat:name") == "project"
        assert import_target("my_agent.graph:name") == "here"


# Names that meet.


def agent(folder: Path, name: str, *, graph: str = "from my_agent.words import name") -> str:
    """A project with a package of the same name as every other's. Its target."""
    write(folder / "my_agent" / "__init__.py", "")
    write(folder / "my_agent" / "words.py", f"name = 'I am {name}'")
    return f"{write(folder / 'my_agent' / 'graph.py', graph)}:name"


def installed(tmp_path: Path, module: str, code: str) -> Path:
    """A module as pip puts it: in a folder that the path had before any agent's."""
    if (site := str(tmp_path / "site-packages")) not in sys.path:
        sys.path.insert(0, site)
    file = write(tmp_path / "site-packages" / f"{module}.py", code)
    importlib.invalidate_caches()
    return file


def test_two_projects_with_a_package_of_one_name_never_run_each_others_code(tmp_path: Path) -> None:
    assert import_target(agent(tmp_path / "a", "a")) == "I am a"
    told = refused(agent(tmp_path / "b", "b"))
    assert str(tmp_path / "a" / "my_agent" / "__init__.py") in told
    assert str(tmp_path / "b" / "my_agent" / "__init__.py") in told
    assert str(tmp_path / "b") not in sys.path


def test_a_module_and_a_file_never_run_each_others_code(tmp_path: Path) -> None:
    agent(tmp_path, "here")
    assert import_target(agent(tmp_path / "a", "a")) == "I am a"
    assert str(tmp_path / "my_agent" / "__init__.py") in refused("my_agent.graph:name")


def test_names_that_are_not_imported_do_not_meet(tmp_path: Path) -> None:
    for name in "ab":
        for other in ("tests/__init__", "setup", "my_unused"):
            write(tmp_path / name / f"{other}.py", "raise RuntimeError")
        write(tmp_path / name / f"only_{name}.py", f"name = '{name}'")
        write(tmp_path / name / "agent.py", f"from only_{name} import name")
    assert [import_target(f"./{name}/agent.py:name") for name in "ab"] == ["a", "b"]


@pytest.mark.parametrize(
    "code",
    [
        "import my_words",
        "def later():\n    from my_words import name",
        "import importlib\nimportlib.import_module('my_words')",
        "import my_step",
    ],
)
def test_files_of_one_name_next_to_two_targets_never_mix(tmp_path: Path, code: str) -> None:
    for name in "ab":
        write(tmp_path / name / "my_words.py", f"name = '{name}'")
        write(tmp_path / name / "agent.py", code if name == "a" else "from my_words import name")
    write(tmp_path / "a" / "my_step.py", "def later():\n    import my_words")
    import_target("./a/agent.py:__doc__")
    told = refused("./b/agent.py:name")
    assert str(tmp_path / "a" / "my_words.py") in told
    assert str(tmp_path / "b" / "my_words.py") in told


def test_parts_of_a_namespace_meet_only_in_their_modules(tmp_path: Path) -> None:
    for name, words in (("a", "words"), ("b", "words"), ("c", "others")):
        write(tmp_path / name / "my_space" / f"{words}.py", f"name = '{name}'")
        write(tmp_path / name / f"graph_{name}.py", f"from my_space.{words} import name")
    assert import_target("./a/graph_a.py:name") == "a"
    assert "'my_space.words'" in refused("./b/graph_b.py:name")
    assert import_target("./c/graph_c.py:name") == "c"


def test_a_package_whose_name_is_loaded_from_another_folder_is_refused(tmp_path: Path) -> None:
    file = installed(tmp_path, "my_agent", "name = 'installed'")
    importlib.import_module("my_agent")
    told = refused(agent(tmp_path / "a", "a"))
    assert str(file) in told
    assert str(tmp_path / "a" / "my_agent" / "__init__.py") in told


def test_a_module_that_is_hidden_by_an_installed_one_is_not_called_missing(tmp_path: Path) -> None:
    file = installed(tmp_path, "my_agent", "name = 'installed'")
    agent(tmp_path, "a")
    write(tmp_path / "main.py", "from my_agent.graph import name")
    told = refused("./main.py:name")
    assert str(file) in told
    assert str(tmp_path / "my_agent" / "__init__.py") in told


def test_a_name_is_free_again_when_its_module_is_gone(tmp_path: Path) -> None:
    write(tmp_path / "a" / "my_words.py", "name = 'a'")
    write(tmp_path / "a" / "my_first.py", "def later():\n    import my_words")
    write(tmp_path / "b" / "my_words.py", "name = 'b'")
    write(tmp_path / "b" / "my_second.py", "from my_words import name")
    import_target("./a/my_first.py:later")
    del sys.modules["my_first"]
    sys.path.remove(str(tmp_path / "a"))
    assert import_target("./b/my_second.py:name") == "b"


def test_a_module_that_needs_another_one_names_that(tmp_path: Path) -> None:
    write(tmp_path / "needy.py", "import not_installed_anywhere")
    assert "'not_installed_anywhere', which is not installed" in refused("needy:agent")


@pytest.mark.parametrize(
    ("module", "named"),
    [("msgspec.not_there", f"msgspec {version('msgspec')}"), ("langgraph.graph.not_there", "langgraph.graph")],
)
def test_a_module_that_an_installed_package_does_not_have_names_the_version(
    tmp_path: Path, module: str, named: str
) -> None:
    """As `langchain.text_splitter`, which older versions had: nothing of that name can be installed. Several packages
    have modules in `langgraph`."""
    file = write(tmp_path / "needy.py", f"\nimport {module}")
    told = refused("needy:agent")
    assert f"needs the module {module!r} at {file}:2, which the installed {named} does not have" in told
    assert "install a version that has it, or correct the import." in told


def test_a_part_of_a_namespace_that_is_not_there_is_to_be_installed(tmp_path: Path) -> None:
    write(tmp_path / "site-packages" / "my_space" / "one.py", "")
    installed(tmp_path, "my_other", "")
    write(tmp_path / "needy.py", "import my_space.one\nimport my_space.two")
    assert "'my_space.two', which is not installed: install it." in refused("needy:agent")


def test_a_module_that_no_distribution_has_is_given_no_version(tmp_path: Path) -> None:
    file = installed(tmp_path, "my_lonely", "")
    write(tmp_path / "needy.py", "import my_lonely.inner")
    assert f"which {file} does not have: add it, or correct the import." in refused("needy:agent")


@pytest.mark.parametrize("spec", ["./my_project/graph.py:agent", "my_project.graph:agent"])
@pytest.mark.parametrize("importing", ["graph", "__init__"])
def test_a_module_that_a_project_does_not_have_is_not_to_be_installed(
    tmp_path: Path, spec: str, importing: str
) -> None:
    """As a file that was never committed."""
    for name in ("__init__", "graph"):
        write(tmp_path / "my_project" / f"{name}.py", "")
    file = write(tmp_path / "my_project" / f"{importing}.py", "from my_project.prompts import text")
    told = refused(spec)
    package = tmp_path / "my_project" / "__init__.py"
    assert f"needs the module 'my_project.prompts' at {file}:1, which {package} does not have" in told
    assert "add it, or correct the import." in told


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("\nraise ValueError('no model\\nmore')", "ValueError at {file}:2: no model; correct it there."),
        ("import sys\nsys.exit(3)", "SystemExit at {file}:2: 3;"),
        ("\n\ndef broken(:", "SyntaxError at {file}:3: invalid syntax;"),
        ("import os\nint(os.environ['SAMPLE_KEY'])", "with base 10: '$SAMPLE_KEY';"),
        ("import os\nos.environ['SAMPLE_NONE']", "KeyError at {file}:2: 'SAMPLE_NONE';"),
    ],
)
def test_the_error_for_a_module_that_fails_has_the_place_and_the_first_line_of_its_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, told: str
) -> None:
    monkeypatch.setenv("SAMPLE_KEY", "a secret")
    file = write(tmp_path / "failing.py", code)
    public = refused("failing:agent")
    assert told.format(file=file) in public
    assert "a secret" not in public


def test_a_misspelled_attribute_is_guessed(tmp_path: Path) -> None:
    write(tmp_path / "my_module.py", "agent = 1")
    assert "did you mean 'agent'?" in refused("my_module:agnet")
    assert "did you mean" not in refused("my_module:zzzzzz")
