"""The names of modules, and which module has a name in this process.

In a process, each name belongs to one module. If two agents each have a package `agent`, the second would run the
code of the first, unnoticed. So we keep the names that an agent's code imports from its own folders, also those that it
imports only when it is called. The next agent is refused if one of its own names is taken.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from llamon_agent.adapters.imports.path import is_of_agents, project_folders
from llamon_agent.adapters.imports.scan import imported_names, locate, relative_depth

_PYTHONS_OWN = "a part of Python"


def module_name(file: Path) -> tuple[tuple[Path, ...], str]:
    """The folders to import a file from, and its module's name in the first of them, with the packages around it.

    Packages without an __init__.py count if the file's imports need them, up to a folder of the project or the working
    directory.
    """
    root, parts = file.parent, [] if file.name == "__init__.py" else [file.stem]
    while (root / "__init__.py").is_file() and root.name.isidentifier():
        parts.insert(0, root.name)
        root = root.parent
    parts = parts or [file.stem]
    above = [path for path in {*project_folders(), Path.cwd()} if path in root.parents]
    for path in sorted(above, key=lambda path: len(path.parts), reverse=True):
        outer = root.relative_to(path).parts
        if _is_needed(file, path, outer, parts):
            return (path, root), ".".join((*outer, *parts))
    return (root,), ".".join(parts)


def _is_needed(file: Path, path: Path, outer: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether a file's imports need folders without an __init__.py as packages, and these may be."""
    inner = len(parts) - (file.name != "__init__.py")
    if not all(part.isidentifier() for part in outer) or other_module(outer[0], path / outer[0]):
        return False
    if inner < relative_depth(file) <= inner + len(outer):
        return True
    package = ".".join((*outer, *parts[:inner]))
    names = imported_names(".".join(parts), file)
    return any(f"{name}.".startswith(f"{package}.") and locate(name, [path]) for name in names)


class OtherModule(msgspec.Struct, frozen=True):
    """The module that has a name, though another one was wanted.

    Shape: belongs_to_agent: it is not installed; is_loaded: no other module can have the name any more.
    """

    path: str
    belongs_to_agent: bool
    is_loaded: bool


_kept: dict[str, tuple[ModuleType, Mapping[str, Path]]] = {}
"""By the name of an agent's module: the module, and its own modules that it imports."""


def keep_names(module: ModuleType, names: Mapping[str, Path]) -> None:
    """Keep the names of a loaded module's own imports. They count as long as the module is loaded."""
    _kept[module.__name__] = (module, dict(names))


def other_module(name: str, path: Path) -> OtherModule | None:
    """The module that has this name, if it is another one than that at the path.

    Shape: a path to a folder is a package without an __init__.py, of which several folders may be parts.
    """
    loaded = sys.modules.get(name)
    kept = None if loaded else _kept_path(name)
    origin = _origin(loaded) if loaded else kept or _installed_path(name)
    if origin is None or _are_one(path, origin):
        return None
    belongs_to_agent = kept is not None or (isinstance(origin, Path) and is_of_agents(_folder(name, origin)))
    return OtherModule(str(origin), belongs_to_agent, loaded is not None)


def _origin(module: ModuleType) -> Path | str:
    """The origin of a loaded module."""
    if file := getattr(module, "__file__", None):
        return Path(file).resolve()
    folders = list(getattr(module, "__path__", ()))
    return Path(folders[0]).resolve() if folders else _PYTHONS_OWN


def _kept_path(name: str) -> Path | None:
    """The path of a module that an agent needs but has not imported yet."""
    alive = [names for module, names in _kept.values() if sys.modules.get(module.__name__) is module]
    return next((names[name] for names in alive if name in names), None)


def _installed_path(name: str) -> Path | str | None:
    """Where an import would find a module that is not loaded yet."""
    if "." in name:
        return None
    spec = next((spec for finder in sys.meta_path if (spec := _spec(finder, name))), None)
    if spec is None:
        return None
    folders = list(spec.submodule_search_locations or ())
    if spec.has_location and spec.origin:
        return Path(spec.origin).resolve()
    return Path(folders[0]).resolve() if folders else _PYTHONS_OWN


def _spec(finder: Any, name: str) -> Any:
    find = getattr(finder, "find_spec", None)
    return find(name, None) if find else None


def _are_one(path: Path, origin: Path | str) -> bool:
    if not isinstance(origin, Path):
        return False
    return path.resolve() == origin or (path.is_dir() and origin.is_dir())


def _folder(name: str, origin: Path) -> Path:
    """The folder that a module, or its outermost package, is imported from."""
    inner = origin.parent if origin.name == "__init__.py" else origin
    return inner.parents[min(name.count("."), len(inner.parents) - 1)]
