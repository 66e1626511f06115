"""From a target's name to the object: `package.module:attribute` or `./path/file.py:attribute`."""

import importlib
import sys
import traceback
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType

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
    file = file.resolve()
    if not file.is_file():
        raise ConfigError(f"The target {spec!r} names no file: {file} is not there.")
    _make_importable(file.parent)
    module = _run_import(spec, file.stem)
    if module.__file__ is None or Path(module.__file__).resolve() != file:
        raise ConfigError(f"The target {spec!r} hides behind another module called {file.stem!r}: rename the file.")
    return module


def _import_module(spec: str, name: str) -> ModuleType:
    _make_importable(Path.cwd())
    return _run_import(spec, name)


def _make_importable(folder: Path) -> None:
    """First in the path, as Python does for a script; names in checkpoints are found again that way, too."""
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
        importlib.invalidate_caches()


def _run_import(spec: str, name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as exc:
        raise ConfigError(_what_is_missing(spec, name, exc.name or name)) from exc
    except (Exception, SystemExit) as exc:  # the module's own code, which may raise anything
        raise ConfigError(
            f"The target {spec!r} cannot be imported: {type(exc).__name__} at {_where(exc)}; correct it there."
        ) from exc


def _what_is_missing(spec: str, name: str, missing: str) -> str:
    if name == missing or name.startswith(missing + "."):
        return f"The target {spec!r} names no module: there is no {missing!r} here; start in its folder or install it."
    return f"The target {spec!r} needs the module {missing!r}, which is not installed: install it."


def _where(exc: BaseException) -> str:
    """The file and line where user code failed. A syntax error knows its own, since none of its code ran."""
    if isinstance(exc, SyntaxError):
        return f"{exc.filename}:{exc.lineno}"
    last = traceback.extract_tb(exc.__traceback__)[-1]
    return f"{last.filename}:{last.lineno}"


def _attribute(spec: str, owner: object, name: str) -> object:
    try:
        return getattr(owner, name)
    except AttributeError as exc:
        close = get_close_matches(name, dir(owner), n=1)
        hint = f"did you mean {close[0]!r}?" if close else "check the name behind the colon."
        raise ConfigError(f"The target {spec!r} has no attribute {name!r}: {hint}") from exc
