"""By which names modules are imported, and whose they are in this process.

A name is one module's per process. Where two agents bring a package `agent` each, the second would run the first one's
code and nobody would notice. So the names that an agent's code imports from its own folders are kept with it, also
those that it imports only when it is called, and the next agent is refused where a name of its own is taken.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from llamon_agent.adapters.imports.path import is_of_agents, project_folders
from llamon_agent.adapters.imports.scan import climbs, imported_names, locate

_PYTHONS_OWN = "a part of Python"


def module_name(file: Path) -> tuple[tuple[Path, ...], str]:
    """The folders to import a file from, and the module's name in the first of them: a file in packages is theirs.

    Packages without an __init__.py count where the file's imports need them, up to a folder of the project or the
    working directory.
    """
    root, parts = file.parent, [] if file.name == "__init__.py" else [file.stem]
    while (root / "__init__.py").is_file() and root.name.isidentifier():
        parts.insert(0, root.name)
        root = root.parent
    parts = parts or [file.stem]
    above = [place for place in {*project_folders(), Path.cwd()} if place in root.parents]
    for place in sorted(above, key=lambda place: len(place.parts), reverse=True):
        outer = root.relative_to(place).parts
        if _is_needed(file, place, outer, parts):
            return (place, root), ".".join((*outer, *parts))
    return (root,), ".".join(parts)


def _is_needed(file: Path, place: Path, outer: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether a file imports by the names of folders that are no packages, and may."""
    inner = len(parts) - (file.name != "__init__.py")
    if not all(part.isidentifier() for part in outer) or rival(outer[0], place / outer[0]):
        return False
    if inner < climbs(file) <= inner + len(outer):
        return True
    package = ".".join((*outer, *parts[:inner]))
    names = imported_names(".".join(parts), file)
    return any(f"{name}.".startswith(f"{package}.") and locate(name, [place]) for name in names)


class Rival(msgspec.Struct, frozen=True):
    """Who goes by a name in another's place.

    Shape: is_agents is whether it came with an agent, and not with what is installed; is_loaded whether nothing else
           can have the name any more.
    """

    place: str
    is_agents: bool
    is_loaded: bool


_kept: dict[str, tuple[ModuleType, Mapping[str, Path]]] = {}
"""By the names of agents' modules: the module, and what it imports of its own."""


def keep_names(module: ModuleType, names: Mapping[str, Path]) -> None:
    """Note what a loaded module imports of its own, by names. It counts for as long as the module is loaded."""
    _kept[module.__name__] = (module, dict(names))


def rival(name: str, place: Path) -> Rival | None:
    """Who has the name of the module or package at this place, if another has it.

    Shape: a place that is a folder is a package without an __init__.py, of which several make one.
    """
    loaded = sys.modules.get(name)
    kept = None if loaded else _kept_place(name)
    origin = _origin(loaded) if loaded else kept or _installed_place(name)
    if origin is None or _are_one(place, origin):
        return None
    is_agents = kept is not None or (isinstance(origin, Path) and is_of_agents(_folder(name, origin)))
    return Rival(str(origin), is_agents, loaded is not None)


def _origin(module: ModuleType) -> Path | str:
    """Where a loaded module is from."""
    if file := getattr(module, "__file__", None):
        return Path(file).resolve()
    folders = list(getattr(module, "__path__", ()))
    return Path(folders[0]).resolve() if folders else _PYTHONS_OWN


def _kept_place(name: str) -> Path | None:
    """Where an agent has the module that it has not imported yet."""
    alive = [names for module, names in _kept.values() if sys.modules.get(module.__name__) is module]
    return next((names[name] for names in alive if name in names), None)


def _installed_place(name: str) -> Path | str | None:
    """Where an import would find a module that nobody has imported yet."""
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


def _are_one(place: Path, origin: Path | str) -> bool:
    if not isinstance(origin, Path):
        return False
    return place.resolve() == origin or (place.is_dir() and origin.is_dir())


def _folder(name: str, origin: Path) -> Path:
    """The folder that the outermost package of a module is imported from, or the module itself."""
    inner = origin.parent if origin.name == "__init__.py" else origin
    return inner.parents[min(name.count("."), len(inner.parents) - 1)]
