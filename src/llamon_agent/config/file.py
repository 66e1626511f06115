"""A YAML file as values, with the line of every key, so that a problem can say where it is."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

from llamon_agent.domain.errors import ConfigError

KeyPath = tuple[str | int, ...]


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A source of values: a file, the environment or the command line.

    Shape: lines has the line of each key, counted from 1, where there are lines; variable writes a key's path as an
           environment variable.
    """

    name: str
    values: dict[str, Any]
    lines: Mapping[KeyPath, int]
    variable: Callable[[KeyPath], str] | None = None

    def has(self, path: KeyPath) -> bool:
        """Whether this source says anything at `path`."""
        at: Any = self.values
        for part in path:
            if not _holds(at, part):
                return False
            at = at[part]
        return True

    def line(self, path: KeyPath) -> int:
        """The line of `path`, or of the nearest section around it; 0 where there are no lines."""
        return next((self.lines[path[:n]] for n in range(len(path), 0, -1) if path[:n] in self.lines), 0)

    def place(self, path: KeyPath) -> str:
        """The place of `path` for an error text, as exactly as is known."""
        if self.variable is not None:
            return f"{self.name} {self.variable(path)}"
        return f"{self.name}:{line}" if (line := self.line(path)) else self.name


def _holds(at: object, part: str | int) -> bool:
    if isinstance(at, dict):
        return part in at
    return isinstance(at, list) and isinstance(part, int) and part < len(at)


def read_file(path: Path) -> Source:
    """Read a configuration file.

    Raises: ConfigError, naming the file, and the line where it is not YAML.
    """
    text = _read_text(path)
    try:
        node = yaml.compose(text, yaml.SafeLoader)
        lines = _lines(node, path) if node is not None else {}
        values = yaml.safe_load(text)
    except yaml.MarkedYAMLError as exc:
        raise ConfigError(f"{_spot(path, exc)}: this is not YAML; look at the indentation and quotes here") from exc
    except (yaml.YAMLError, ValueError, RecursionError) as exc:
        raise ConfigError(f"{path}: this is not YAML text") from exc
    if values is None:
        values = {}
    if not isinstance(values, dict):
        raise ConfigError(f"{path}: the file must hold sections of `key: value` lines, such as `a2a:`")
    return Source(name=str(path), values=values, lines=lines)


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as exc:
        raise ConfigError(f"{path}: there is no such file; name another with --config") from exc
    except UnicodeDecodeError as exc:
        raise ConfigError(f"{path}: the file is not UTF-8 text") from exc
    except OSError as exc:
        raise ConfigError(f"{path}: the file cannot be read; look at its type and permissions") from exc


def _spot(path: Path, error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    return f"{path}:{mark.line + 1}" if mark else str(path)


def _lines(root: yaml.Node, path: Path) -> dict[KeyPath, int]:
    """The line of every key. Raises: ConfigError: a key is given twice, of which YAML would keep the last."""
    lines: dict[KeyPath, int] = {}
    seen: set[int] = set()  # an alias is walked once, so that aliases of aliases stay cheap
    todo: list[tuple[KeyPath, yaml.Node]] = [((), root)]
    while todo:
        here, node = todo.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        for part, key, value in _entries(node):
            child = (*here, part)
            if child in lines:
                raise ConfigError(f"{path}:{key.start_mark.line + 1}: {dotted(child)} is given twice; keep one")
            lines[child] = key.start_mark.line + 1
            todo.append((child, value))
    return lines


def _entries(node: yaml.Node) -> list[tuple[str | int, yaml.Node, yaml.Node]]:
    """The entries of a node: the part of the path, the node that has the line, and the value."""
    if isinstance(node, yaml.MappingNode):
        return [(str(key.value), key, value) for key, value in node.value]
    if isinstance(node, yaml.SequenceNode):
        return [(place, item, item) for place, item in enumerate(node.value)]
    return []


def dotted(path: KeyPath) -> str:
    """A key's path as people write it: `agents.demo.skills[0].id`."""
    words = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return words.removeprefix(".")
