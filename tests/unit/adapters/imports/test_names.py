"""A name belongs to one module, and who else has it is told."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from llamon_agent.adapters.imports.names import Rival, keep_names, module_name, rival
from llamon_agent.adapters.imports.path import importable, in_project


@pytest.fixture(autouse=True)
def _imports_are_undone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    modules = set(sys.modules)
    yield
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def write(path: Path, code: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(code)
    return path


def test_what_is_part_of_python_is_a_rival_that_came_with_no_agent(tmp_path: Path) -> None:
    assert rival("sys", tmp_path / "sys.py") == Rival("a part of Python", is_agents=False, is_loaded=True)
    assert rival("_tkinter_none", tmp_path / "x.py") is None
    assert rival("json.none", tmp_path / "none.py") is None
    frozen = rival("zipimport", tmp_path / "zipimport.py")
    assert frozen is not None
    assert not frozen.is_agents


def test_what_an_import_would_find_is_a_rival(tmp_path: Path) -> None:
    sys.path += [str(tmp_path / "site"), str(tmp_path / "space")]
    file = write(tmp_path / "site" / "my_module.py")
    write(tmp_path / "space" / "my_space" / "part.py")
    importlib.invalidate_caches()
    assert rival("my_module", file) is None
    assert rival("my_module", tmp_path / "my_module.py") == Rival(str(file), is_agents=False, is_loaded=False)
    assert rival("my_space", tmp_path / "space" / "my_space") is None
    assert rival("my_space", file) == Rival(str(tmp_path / "space" / "my_space"), is_agents=False, is_loaded=False)


def test_what_is_loaded_from_an_agents_folder_is_that_agents_however_deep(tmp_path: Path) -> None:
    file = write(tmp_path / "a" / "my_space" / "deep" / "part.py")
    with importable(tmp_path / "a"):
        importlib.import_module("my_space.deep.part")
    other = tmp_path / "b" / "my_space"
    (other / "deep").mkdir(parents=True)
    assert rival("my_space.deep", other / "deep") is None
    assert rival("my_space.deep.part", other / "deep" / "part.py") == Rival(str(file), is_agents=True, is_loaded=True)


def test_a_name_is_kept_as_long_as_its_module_is_loaded(tmp_path: Path) -> None:
    module = sys.modules["my_agent"] = ModuleType("my_agent")
    keep_names(module, {"my_words": tmp_path / "my_words.py"})
    theirs = tmp_path / "b" / "my_words.py"
    assert rival("my_words", theirs) == Rival(str(tmp_path / "my_words.py"), is_agents=True, is_loaded=False)
    del sys.modules["my_agent"]
    assert rival("my_words", theirs) is None


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("", "pkg.graph"),
        ("from . import x", "pkg.graph"),
        ("from .. import x", "my_space.pkg.graph"),
        ("from ... import x", "pkg.graph"),
        ("import my_space.pkg.words", "my_space.pkg.graph"),
        ("import my_space.pkg_too", "pkg.graph"),
        ("import other.pkg.words", "pkg.graph"),
    ],
)
def test_packages_without_an_init_count_where_they_are_needed(tmp_path: Path, code: str, name: str) -> None:
    write(tmp_path / "my_space" / "pkg" / "__init__.py")
    write(tmp_path / "my_space" / "pkg" / "words.py")
    write(tmp_path / "my_space" / "pkg_too.py")
    roots, named = module_name(write(tmp_path / "my_space" / "pkg" / "graph.py", code))
    assert named == name
    assert roots == ((tmp_path, tmp_path / "my_space") if name.startswith("my_space") else (tmp_path / "my_space",))


def test_they_count_from_the_nearest_folder_of_the_project_and_not_where_the_name_is_taken(tmp_path: Path) -> None:
    file = write(tmp_path / "src" / "my_space" / "graph.py", "from . import x")
    taken = write(tmp_path / "src" / "json" / "graph.py", "from . import x")
    unnamed = write(tmp_path / "my-space" / "graph.py", "from . import x")
    assert module_name(file)[1] == "src.my_space.graph"
    with in_project((tmp_path, tmp_path / "src")):
        assert module_name(file)[1] == "my_space.graph"
        assert module_name(taken)[1] == "src.json.graph"
    assert module_name(unnamed)[1] == "graph"


def test_the_file_of_a_package_is_named_as_the_package(tmp_path: Path) -> None:
    assert module_name(write(tmp_path / "pkg" / "__init__.py")) == ((tmp_path,), "pkg")
    assert module_name(write(tmp_path / "no-name" / "__init__.py")) == ((tmp_path / "no-name",), "__init__")
