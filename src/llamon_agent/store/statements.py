"""SQL that lives in files: named statements, and numbered migrations.

A file holds several statements, each below a line `-- name: what_for`. It is read once, when its store is imported.
"""

import re
from collections.abc import Mapping
from importlib.resources import files

EARLIEST_MS, LATEST_MS = -(1 << 63), (1 << 63) - 1
"""The bounds of a column of 64 bits: what a filter by time is set to when it is off, so that an index still seeks."""

FIRST_STATE, LAST_STATE = "", "zz"
"""The bounds of the names of states, likewise."""

_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)


def read_statements(text: str) -> Mapping[str, str]:
    """Split a file of named statements.

    Shape: what comes before the first name is a comment; a statement loses its closing semicolon.
    """
    _, *rest = _NAME.split(text)
    return {name: sql.strip().removesuffix(";") for name, sql in zip(rest[::2], rest[1::2], strict=True)}


def load_statements(path: str) -> Mapping[str, str]:
    """The statements of a file below `sql/`."""
    return read_statements((files("llamon_agent.store") / "sql" / path).read_text(encoding="utf-8"))


def load_migrations(path: str) -> tuple[str, ...]:
    """The migrations of a folder below `sql/`, in the order of their numbers; the first leads to schema version 1."""
    folder = files("llamon_agent.store") / "sql" / path
    scripts = sorted((file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda file: file.name)
    return tuple(script.read_text(encoding="utf-8") for script in scripts)
