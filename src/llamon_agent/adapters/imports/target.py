"""From a target's name to the object: `package.module:attribute` or `./path/file.py:attribute`.

Rules:
1. A file in a package is imported by the package's name, from the folder that holds the package. Its own folder is not
   on the path, where its neighbours would go by short names, too.
2. A file that is in no package has its neighbours importable, but none of these takes the place of what is installed.
3. No target runs the modules of another by mistake: where a name of its own is taken, it is refused.
"""

import importlib
import logging
import sys
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import partial
from hashlib import sha256
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import msgspec

from llamon_agent.adapters.imports.names import Rival, keep_names, module_name, rival
from llamon_agent.adapters.imports.path import importable, project_folders
from llamon_agent.adapters.imports.scan import local_modules, locate
from llamon_agent.domain.error_location import brief
from llamon_agent.domain.errors import ConfigError

logger = logging.getLogger(__name__)


class _Wanted(msgspec.Struct, frozen=True):
    """What a target is to be imported as.

    Shape: file is None for what is installed; folders are where its own modules are, the first one wins.
    """

    spec: str
    name: str
    file: Path | None
    folders: tuple[Path, ...]


def import_target(spec: str) -> object:
    """Import what a target names. Runs the module's code, like any import.

    Shape:  the attribute may be dotted.
    Raises: ConfigError, its text naming the target and the remedy.
    """
    place, _, attribute = spec.rpartition(":")
    if not place or not attribute:
        raise ConfigError(
            f"The target {spec!r} is not of the form package.module:attribute or ./path/file.py:attribute."
        )
    found: object = _import_file(spec, Path(place)) if place.endswith(".py") else _import_module(spec, place)
    for name in attribute.split("."):
        found = _attribute(spec, found, name)
    return found


def _import_file(spec: str, file: Path) -> ModuleType:
    """The module of a file: by the name that its package gives it, or else by its own.

    Where another module has that name already, as two graphs in two folders may both be called agent.py, it is loaded
    under a name made of its path, which is the same at every start: names in checkpoints are found again.
    """
    file = file.resolve()
    if not file.is_file():
        raise ConfigError(f"The target {spec!r} names no file: {file} is not there.")
    roots, name = module_name(file)
    with importable(*roots):
        wanted = _Wanted(spec, name, file, (*roots, *project_folders()))
        if "." not in name and file.name != "__init__.py" and rival(name, file):
            alias = f"{file.stem}_{sha256(str(file).encode()).hexdigest()[:8]}"
            return _load(msgspec.structs.replace(wanted, name=alias), {}, partial(_load_as, file))
        return _load(wanted, locate(name, roots[:1]), importlib.import_module)


def _import_module(spec: str, name: str) -> ModuleType:
    folders = (Path.cwd(), *project_folders())
    with importable(Path.cwd()):
        own = locate(name, folders)
        return _load(_Wanted(spec, name, own.get(name), folders), own, importlib.import_module)


def _load(wanted: _Wanted, own: Mapping[str, Path], load: Callable[[str], ModuleType]) -> ModuleType:
    """A module, once it is sure that its own names, and those that it imports, are not taken by others."""
    for name, place in own.items():
        if (other := rival(name, place)) and (other.is_loaded or other.is_agents or place.is_dir()):
            raise _taken(wanted, name, place, other)
    local = _imported_by(wanted, own)
    module = _run_import(wanted, partial(_load_own, own, load))
    keep_names(module, {**own, **local})
    return module


def _imported_by(wanted: _Wanted, own: Mapping[str, Path]) -> dict[str, Path]:
    """What a module imports of its own folders. Raises: ConfigError: another agent has a name of these."""

    def is_used(name: str, place: Path) -> bool:
        other = None if name in own else rival(name, place)
        if other and other.is_agents:
            raise _taken(wanted, name, place, other)
        if other and place.is_file():
            logger.warning("%s is not what 'import %s' gives here: that is %s", place, name, other.place)
        return other is None

    return {} if wanted.file is None else local_modules(wanted.name, wanted.file, wanted.folders, is_used)


def _load_own(own: Mapping[str, Path], load: Callable[[str], ModuleType], name: str) -> ModuleType:
    """A module that is named by its target, though something installed may have the name of its package, too."""
    for each, place in own.items():
        if each not in sys.modules and rival(each, place):
            _load_as(place, each)
    return load(name)


def _load_as(file: Path, name: str) -> ModuleType:
    """A file's module by another name."""
    if name in sys.modules:
        return sys.modules[name]
    found = spec_from_file_location(name, file)
    assert found is not None  # whatever ends in .py can be loaded
    assert found.loader is not None
    module = sys.modules[name] = module_from_spec(found)
    try:
        found.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _run_import(wanted: _Wanted, load: Callable[[str], ModuleType]) -> ModuleType:
    try:
        return load(wanted.name)
    except ModuleNotFoundError as exc:
        raise ConfigError(_what_is_missing(wanted, exc.name or wanted.name)) from exc
    except (Exception, SystemExit) as exc:  # the module's own code, which may raise anything
        raise ConfigError(f"The target {wanted.spec!r} cannot be imported: {brief(exc)}; correct it there.") from exc


def _what_is_missing(wanted: _Wanted, missing: str) -> str:
    spec, name = wanted.spec, wanted.name
    for each, place in locate(missing, wanted.folders).items():
        if other := rival(each, place):
            return _taken(wanted, each, place, other).public
    if name == missing or name.startswith(missing + "."):
        return f"The target {spec!r} names no module: there is no {missing!r} here; start in its folder or install it."
    return f"The target {spec!r} needs the module {missing!r}, which is not installed: install it."


def _taken(wanted: _Wanted, name: str, place: Path, other: Rival) -> ConfigError:
    return ConfigError(
        f"The target {wanted.spec!r} would run the wrong code: its module {name!r} is {place}, but by that name this "
        f"process has {other.place}; rename one, or serve it with an edge of its own (after a reload: restart)."
    )


def _attribute(spec: str, owner: object, name: str) -> object:
    try:
        return getattr(owner, name)
    except AttributeError as exc:
        close = get_close_matches(name, dir(owner), n=1)
        hint = f"did you mean {close[0]!r}?" if close else "check the name behind the colon."
        raise ConfigError(f"The target {spec!r} has no attribute {name!r}: {hint}") from exc
