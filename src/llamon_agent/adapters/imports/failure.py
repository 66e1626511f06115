"""Why an agent's code could not be loaded, in one line for the operator: `ValueError at ./graph.py:18: no such model`.

The line goes into the log and to the terminal, never to a caller. It holds the first line of the error's own text, and:

- not the values that pydantic refused, which its text would show;
- not the values of environment variables, as these may be secrets: `$NAME` stands for a value. A value of fewer than
  three characters is too common to be recognized. One of fewer than eight counts only as a word of its own. A folder's
  path is no secret, and texts that name files would be hard to read without it (`PWD`, `HOME`).
"""

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import packages_distributions, version
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import ValidationError

from llamon_agent.domain.error_location import brief, where

_MAX_CHARS = 200
_SHORTEST = 3
_SURE = 8
"""From this length on a value is hidden within a word, too."""


def explain(error: BaseException) -> str:
    """The kind of an error, its place, and the first line of its text, if it has any."""
    text = _first_line(without_values(_text(error), os.environ))
    return f"{brief(error)}: {text}" if text else brief(error)


def explain_missing(error: ModuleNotFoundError, package: str, own: Path | None) -> str:
    """Why there is no such module, and the remedy: the package around it may be there, but without it.

    Shape: package is the name of that package, empty if there is none; own is its file, if it is an agent's.
    """
    file = own or getattr(sys.modules.get(package), "__file__", None)
    if not file:
        return ", which is not installed: install it."
    if own is None and (installed := _distribution(package)):
        owner, remedy = f"the installed {installed}", "install a version that has it"
    else:
        owner, remedy = str(file), "add it"
    return f" at {where(error)}, which {owner} does not have: {remedy}, or correct the import."


def _distribution(package: str) -> str:
    """What a package was installed with, and its version; the package's own name if several share its outermost one."""
    names = sorted(set(packages_distributions().get(package.partition(".")[0], ())))
    if len(names) != 1:
        return package if names else ""
    return f"{names[0]} {version(names[0])}"


def without_values(text: str, environ: Mapping[str, str]) -> str:
    """A text with `$NAME` for each value of a variable, also where it is quoted, or is the password of a URL."""
    names = {form: name for name, value in environ.items() if not _is_folder(value) for form in _forms(value)}
    if not names:
        return text
    longest_first = sorted(names, key=len, reverse=True)
    return re.sub("|".join(map(_pattern, longest_first)), lambda found: f"${names[found[0]]}", text)


def _text(error: BaseException) -> str:
    if isinstance(error, ValidationError):
        problems = error.errors(include_url=False, include_context=False, include_input=False)
        return "; ".join(": ".join(filter(None, [".".join(map(str, one["loc"])), one["msg"]])) for one in problems)
    if isinstance(error, SyntaxError):
        return error.msg or ""  # the place is known already
    try:
        return str(error)
    except Exception:  # noqa: BLE001 -- the author's own class of error
        return ""


def _first_line(text: str) -> str:
    """The first line that is not empty, without characters that control a terminal, and without its full stop."""
    line = next((line for line in text.splitlines() if line.strip()), "").strip().rstrip(".")
    shown = "".join(char if char.isprintable() else " " for char in line)
    return shown if len(shown) <= _MAX_CHARS else shown[: _MAX_CHARS - 1] + "…"


def _is_folder(value: str) -> bool:
    return os.path.isabs(value) and os.path.isdir(value)


def _forms(value: str) -> Iterator[str]:
    """How a value may stand in a text: as it is, its lines, quoted by Python or JSON, the password in it."""
    whole = (value, *value.splitlines(), repr(value)[1:-1], json.dumps(value)[1:-1], _password(value))
    return (form for each in whole if len(form := each.strip()) >= _SHORTEST)


def _password(value: str) -> str:
    try:
        return urlsplit(value).password or ""
    except ValueError:
        return ""


def _pattern(form: str) -> str:
    return re.escape(form) if len(form) >= _SURE else rf"(?<!\w){re.escape(form)}(?!\w)"
