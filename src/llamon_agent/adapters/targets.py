"""From a target's name to the object: `package.module:attribute` or `./path/file.py:attribute`."""

import importlib
import sys
from collections.abc import Callable
from difflib import get_close_matches
from functools import partial
from hashlib import sha256
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from llamon_agent.domain.causes import brief
from llamon_agent.domain.errors import ConfigError


def import_target(spec: str) -> object:
    """Import what a target names. Runs the module's code, like any import.

    Shape:  the attribute may be dotted; a file's folder, or the working directory, becomes importable as for a script.
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
    root, name = _module_name(file)
    _make_importable(file.parent)
    _make_importable(root)
    module = _run_import(spec, name)
    if module.__file__ is None or Path(module.__file__).resolve() != file:
        return _run_import(spec, f"{file.stem}_{sha256(str(file).encode()).hexdigest()[:8]}", partial(_load_as, file))
    return module


def _module_name(file: Path) -> tuple[Path, str]:
    """The folder to import from, and the module's name there: a file in packages is theirs."""
    root, parts = file.parent, [file.stem]
    while (root / "__init__.py").is_file() and root.name.isidentifier():
        parts.insert(0, root.name)
        root = root.parent
    return root, ".".join(parts)


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


def _import_module(spec: str, name: str) -> ModuleType:
    _make_importable(Path.cwd())
    return _run_import(spec, name)


def _make_importable(folder: Path) -> None:
    """First in the path, as Python does for a script; names in checkpoints are found again that way, too."""
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
        importlib.invalidate_caches()


def _run_import(spec: str, name: str, load: Callable[[str], ModuleType] = importlib.import_module) -> ModuleType:
    try:
        return load(name)
    except ModuleNotFoundError as exc:
        raise ConfigError(_what_is_missing(spec, name, exc.name or name)) from exc
    except (Exception, SystemExit) as exc:  # the module's own code, which may raise anything
        raise ConfigError(f"The target {spec!r} cannot be imported: {brief(exc)}; correct it there.") from exc


def _what_is_missing(spec: str, name: str, missing: str) -> str:
    if name == missing or name.startswith(missing + "."):
        return f"The target {spec!r} names no module: there is no {missing!r} here; start in its folder or install it."
    return f"The target {spec!r} needs the module {missing!r}, which is not installed: install it."


def _attribute(spec: str, owner: object, name: str) -> object:
    try:
        return getattr(owner, name)
    except AttributeError as exc:
        close = get_close_matches(name, dir(owner), n=1)
        hint = f"did you mean {close[0]!r}?" if close else "check the name behind the colon."
        raise ConfigError(f"The target {spec!r} has no attribute {name!r}: {hint}") from exc
