"""What a file imports of its own is read from its text."""

from pathlib import Path

import pytest

from llamon_agent.adapters.imports.scan import imported_names, local_modules, locate, relative_depth


def write(path: Path, code: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(code)
    return path


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("import a.b, c as d", {"a.b", "c"}),
        ("from a import b, c", {"a.b", "a.c"}),
        ("from . import b", {"pkg.b"}),
        ("from .a import *", {"pkg.a.*"}),
        ("from .. import b", set()),
        ("def f():\n    try:\n        import a\n    except ImportError:\n        import b", {"a", "b"}),
        ("if TYPE_CHECKING:\n    import a\nelse:\n    import b", {"b"}),
        ("if typing.TYPE_CHECKING:\n    import a", set()),
        ("import_module('.a', __package__)", {"pkg.a"}),
        ("importlib.import_module('a')", {"a"}),
        ("importlib.import_module(a)", set()),
        ("importlib.import_module('..a')", {""}),
        ("__import__('a')", {"a"}),
        ("not python", set()),
    ],
)
def test_imports_are_read_wherever_they_stand(tmp_path: Path, code: str, names: set[str]) -> None:
    assert imported_names("pkg.module", write(tmp_path / "module.py", code)) == names


def test_a_packages_own_file_imports_from_the_package(tmp_path: Path) -> None:
    assert imported_names("pkg", write(tmp_path / "__init__.py", "from .a import b")) == {"pkg.a.b"}


def test_the_relative_depth_of_a_file_is_that_of_its_furthest_relative_import(tmp_path: Path) -> None:
    assert relative_depth(write(tmp_path / "one.py", "from . import a\nfrom ...b import c\nimport d")) == 3
    assert relative_depth(tmp_path / "none.py") == 0


def test_a_module_is_located_with_the_packages_around_it(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    package, module = write(one / "pkg" / "__init__.py"), write(one / "pkg" / "inner.py")
    shadowed = write(two / "pkg" / "inner.py")
    part = write(two / "space" / "part.py")
    (one / "space").mkdir()
    assert locate("pkg.inner.name", [one, two]) == {"pkg": package, "pkg.inner": module}
    assert locate("pkg.inner", [two]) == {"pkg": two / "pkg", "pkg.inner": shadowed}
    assert locate("space.part", [one, two]) == {"space": one / "space", "space.part": part}
    assert locate("space.none", [one, two]) == locate("none", [one]) == locate("", [one]) == {}


def test_what_is_imported_is_followed_but_not_past_what_is_not_used(tmp_path: Path) -> None:
    asked: list[str] = []

    def is_used(name: str, place: Path) -> bool:
        assert place.exists()
        asked.append(name)
        return not name.startswith("other")

    write(tmp_path / "a.py", "import b, other.deep, nowhere, start")
    write(tmp_path / "b.py", "import a, other.deep")
    write(tmp_path / "other" / "__init__.py")
    write(tmp_path / "other" / "deep.py", "import unseen")
    write(tmp_path / "unseen.py")
    start = write(tmp_path / "start.py", "import a")
    assert local_modules("start", start, [tmp_path], is_used).keys() == {"a", "b", "start"}
    assert sorted(asked) == ["a", "b", "other", "start"]
