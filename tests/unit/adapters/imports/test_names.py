"""A name belongs to one module, and who else has it is told."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from llamon_agent.adapters.imports.names import OtherModule, keep_names, module_name, other_module
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


def test_a_part_of_python_is_another_module_and_not_an_agents(tmp_path: Path) -> None:
    assert other_module("sys", tmp_path / "sys.py") == OtherModule(
        "a part of Python", belongs_to_agent=False, is_loaded=True
    )
    assert other_module("_tkinter_none", tmp_path / "x.py") is None
    assert other_module("json.none", tmp_path / "none.py") is None
    frozen = other_module("zipimport", tmp_path / "zipimport.py")
    assert frozen is not None
    assert not frozen.belongs_to_agent


def test_a_module_that_an_import_would_find_has_the_name(tmp_path: Path) -> None:
    sys.path += [str(tmp_path / "site"), str(tmp_path / "space")]
    file = write(tmp_path / "site" / "my_module.py")
    write(tmp_path / "space" / "my_space" / "part.py")
    importlib.invalidate_caches()
    assert other_module("my_module", file) is None
    assert other_module("my_module", tmp_path / "my_module.py") == OtherModule(
        str(file), belongs_to_agent=False, is_loaded=False
    )
    assert other_module("my_space", tmp_path / "space" / "my_space") is None
    assert other_module("my_space", file) == OtherModule(
        str(tmp_path / "space" / "my_space"), belongs_to_agent=False, is_loaded=False
    )


def test_what_is_loaded_from_an_agents_folder_is_that_agents_however_deep(tmp_path: Path) -> None:
    file = write(tmp_path / "a" / "my_space" / "deep" / "part.py")
    with importable(tmp_path / "a"):
        importlib.import_module("my_space.deep.part")
    other = tmp_path / "b" / "my_space"
    (other / "deep").mkdir(parents=True)
    assert other_module("my_space.deep", other / "deep") is None
    assert other_module("my_space.deep.part", other / "deep" / "part.py") == OtherModule(
        str(file), belongs_to_agent=True, is_loaded=True
    )


def test_a_name_is_kept_as_long_as_its_module_is_loaded(tmp_path: Path) -> None:
    module = sys.modules["my_agent"] = ModuleType("my_agent")
    keep_names(module, {"my_words": tmp_path / "my_words.py"})
    theirs = tmp_path / "b" / "my_words.py"
    assert other_module("my_words", theirs) == OtherModule(
        str(tmp_path / "my_words.py"), belongs_to_agent=True, is_loaded=False
    )
    del sys.modules["my_agent"]
    assert other_module("my_words", theirs) is None


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
