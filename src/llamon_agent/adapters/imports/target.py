"""From a target's name to the object: `package.module:attribute` or `./path/file.py:attribute`.

Rules:
1. A file in a package is imported by the package's name, from the folder that holds the package. Its own folder is not
   on the path, else the files next to it would have short names, too.
2. A file that is in no package can import the files next to it, but none of these hides an installed module.
3. No target runs the modules of another by mistake: if one of its own names is taken, it is refused.
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

from llamon_agent.adapters.imports.failure import explain, explain_missing
from llamon_agent.adapters.imports.names import OtherModule, keep_names, module_name, other_module
from llamon_agent.adapters.imports.path import importable, project_folders
from llamon_agent.adapters.imports.scan import local_modules, locate
from llamon_agent.domain.errors import ConfigError

logger = logging.getLogger(__name__)


class _Wanted(msgspec.Struct, frozen=True):
    """How to import a target.

    Shape: file is None for an installed module; folders hold its own modules, the first one wins.
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
    path, _, attribute = spec.rpartition(":")
    if not path or not attribute:
        raise ConfigError(
            f"The target {spec!r} is not of the form package.module:attribute or ./path/file.py:attribute."
        )
    found: object = _import_file(spec, Path(path)) if path.endswith(".py") else _import_module(spec, path)
    for name in attribute.split("."):
        found = _attribute(spec, found, name)
    return found


def own_files(spec: str) -> list[Path]:
    """The files of a target: the one that it names, and those of its own that this one imports."""
    path = spec.rpartition(":")[0]
    if path.endswith(".py"):
        file = Path(path).resolve()
        roots, name = module_name(file)
    else:
        roots, name = (Path.cwd(),), path
        found = locate(name, (*project_folders(), *roots)).get(name)
        if found is None or not found.is_file():
            return []
        file = found
    local = local_modules(name, file, (*roots, *project_folders()), lambda _name, _path: True)
    return list(dict.fromkeys([file, *(each for each in local.values() if each.is_file())]))


def _import_file(spec: str, file: Path) -> ModuleType:
    """The module of a file, by its name in its package, or else by its own name.

    If another module has that name already, as two graphs in two folders may both be called agent.py, it is loaded
    under a name made of its path. That name is the same at every start, so names in checkpoints are found again.
    """
    file = file.resolve()
    if not file.is_file():
        raise ConfigError(f"The target {spec!r} names no file: {file} is not there.")
    roots, name = module_name(file)
    with importable(*roots):
        wanted = _Wanted(spec, name, file, (*roots, *project_folders()))
        if "." not in name and file.name != "__init__.py" and other_module(name, file):
            alias = f"{file.stem}_{sha256(str(file).encode()).hexdigest()[:8]}"
            return _load(msgspec.structs.replace(wanted, name=alias), {}, partial(_load_as, file))
        return _load(wanted, locate(name, roots[:1]), importlib.import_module)


def _import_module(spec: str, name: str) -> ModuleType:
    """A module by its name: that of the project, if it has one, or else that of the working directory or installed."""
    own = locate(name, project_folders())
    if name in own:
        return _load(_Wanted(spec, name, own[name], project_folders()), own, importlib.import_module)
    folders = (Path.cwd(), *project_folders())
    with importable(Path.cwd()):
        own = locate(name, folders)
        return _load(_Wanted(spec, name, own.get(name), folders), own, importlib.import_module)


def _load(wanted: _Wanted, own: Mapping[str, Path], load: Callable[[str], ModuleType]) -> ModuleType:
    """Load a module, after making sure that no other module has its own names or those of its imports."""
    for name, path in own.items():
        if (other := other_module(name, path)) and (other.is_loaded or other.belongs_to_agent or path.is_dir()):
            raise _conflict(wanted, name, path, other)
    local = _imported_by(wanted, own)
    module = _run_import(wanted, partial(_load_own, own, load))
    keep_names(module, {**own, **local})
    return module


def _imported_by(wanted: _Wanted, own: Mapping[str, Path]) -> dict[str, Path]:
    """What a module imports from its own folders. Raises: ConfigError: another agent has one of these names."""

    def is_used(name: str, path: Path) -> bool:
        other = None if name in own else other_module(name, path)
        if other and other.belongs_to_agent:
            raise _conflict(wanted, name, path, other)
        if other and path.is_file():
            logger.warning("%s is not what 'import %s' gives here: that is %s", path, name, other.path)
        return other is None

    return {} if wanted.file is None else local_modules(wanted.name, wanted.file, wanted.folders, is_used)


def _load_own(own: Mapping[str, Path], load: Callable[[str], ModuleType], name: str) -> ModuleType:
    """Load the module that a target names, also if an installed module has the name of its package."""
    for each, path in own.items():
        if each not in sys.modules and other_module(each, path):
            _load_as(path, each)
    return load(name)


def _load_as(file: Path, name: str) -> ModuleType:
    """Load a file's module by another name."""
    if name in sys.modules:
        return sys.modules[name]
    found = spec_from_file_location(name, file)
    assert found is not None  # every file that ends in .py can be loaded
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
        raise ConfigError(_what_is_missing(wanted, exc)) from exc
    except (Exception, SystemExit) as exc:  # the module's own code, which may raise anything
        raise ConfigError(f"The target {wanted.spec!r} cannot be imported: {explain(exc)}; correct it there.") from exc


def _what_is_missing(wanted: _Wanted, error: ModuleNotFoundError) -> str:
    spec, name, missing = wanted.spec, wanted.name, error.name or wanted.name
    for each, path in locate(missing, wanted.folders).items():
        if other := other_module(each, path):
            return _conflict(wanted, each, path, other).public
    if name == missing or name.startswith(missing + "."):
        return f"The target {spec!r} names no module: there is no {missing!r} here; start in its folder or install it."
    package = missing.rpartition(".")[0]
    own = locate(package, wanted.folders).get(package) if package else None
    return f"The target {spec!r} needs the module {missing!r}{explain_missing(error, package, own)}"


def _conflict(wanted: _Wanted, name: str, path: Path, other: OtherModule) -> ConfigError:
    return ConfigError(
        f"The target {wanted.spec!r} would run the wrong code: its module {name!r} is {path}, but by that name this "
        f"process has {other.path}; rename one, or serve it with an edge of its own (after a reload: restart)."
    )


def _attribute(spec: str, owner: object, name: str) -> object:
    try:
        return getattr(owner, name)
    except AttributeError as exc:
        close = get_close_matches(name, dir(owner), n=1)
        hint = f"did you mean {close[0]!r}?" if close else "check the name after the colon."
        raise ConfigError(f"The target {spec!r} has no attribute {name!r}: {hint}") from exc
