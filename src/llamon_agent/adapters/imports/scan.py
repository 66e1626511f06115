"""Which modules of its own a Python file imports. This is read from its text; nothing is run.

Imports in functions count, as these run when the agent is called. An import by a name that is computed at run time is
not found.
"""

import ast
from collections.abc import Callable, Iterator, Sequence
from importlib.util import resolve_name
from pathlib import Path
from typing import TypeGuard


def locate(name: str, folders: Sequence[Path]) -> dict[str, Path]:
    """The files of a module and of the packages around it, by their names; empty if the folders have no such file.

    Shape: the path of a package without an __init__.py is its folder.
    Source: The import system, §5.5: a package, then a module, then what may be a part of a namespace, in path order.
    """
    found: dict[str, Path] = {}
    paths, parts = list(folders), name.split(".")
    for depth, part in enumerate(parts, start=1):
        file = _file_of(part, paths)
        paths = [file.parent] if file and file.name == "__init__.py" else [] if file else _folders_of(part, paths)
        if file or paths:
            found[".".join(parts[:depth])] = file or paths[0]
    return found if any(path.suffix == ".py" for path in found.values()) else {}


def _file_of(part: str, paths: Sequence[Path]) -> Path | None:
    files = (file for path in paths for file in (path / part / "__init__.py", path / f"{part}.py"))
    return next((file for file in files if file.is_file()), None)


def _folders_of(part: str, paths: Sequence[Path]) -> list[Path]:
    return [path / part for path in paths if part and (path / part).is_dir()]


def local_modules(
    name: str, file: Path, folders: Sequence[Path], is_used: Callable[[str, Path], bool]
) -> dict[str, Path]:
    """The files that a module imports from these folders, directly or through others of them, by names.

    Shape: is_used says whether an import of a name leads to the file that the folders have; if not, it is left out.
    """
    found: dict[str, Path] = {}
    unused: set[str] = set()
    waiting = [(name, file)]
    while waiting:
        for imported in sorted(imported_names(*waiting.pop())):
            for each, path in locate(imported, folders).items():
                if each in unused or (each not in found and not is_used(each, path)):
                    unused.add(each)
                    break
                if each not in found:
                    found[each] = path
                    waiting.append((each, path))
    return found


def imported_names(name: str, file: Path) -> set[str]:
    """The absolute names that a module imports. Some may be names in a module, and not modules."""
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    return {found for node in _nodes(_tree(file)) for found in _names(node, package)}


def nodes_of(file: Path) -> Iterator[ast.AST]:
    """All nodes of a file's code that may run."""
    return _nodes(_tree(file))


def relative_depth(file: Path) -> int:
    """How many packages around it the relative imports of a file need."""
    return max((node.level for node in _nodes(_tree(file)) if isinstance(node, ast.ImportFrom)), default=0)


def _tree(file: Path) -> ast.AST:
    """A file's code; empty if it cannot be parsed, as its import will report that."""
    try:
        return ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return ast.Module(body=[], type_ignores=[])


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes that may run."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(node.orelse if _is_for_types(node) else ast.iter_child_nodes(node))


def _is_for_types(node: ast.AST) -> TypeGuard[ast.If]:
    return isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def _names(node: ast.AST, package: str) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (each.name for each in names)
        case ast.ImportFrom(module=module, names=names, level=level):
            if base := _absolute("." * level + (module or ""), package):
                yield from (f"{base}.{each.name}" for each in names)
        case ast.Call(func=ast.Name(id="import_module" | "__import__"), args=[ast.Constant(value=str(name)), *_]):
            yield _absolute(name, package)
        case ast.Call(func=ast.Attribute(attr="import_module"), args=[ast.Constant(value=str(name)), *_]):
            yield _absolute(name, package)


def _absolute(name: str, package: str) -> str:
    """A name without leading dots; empty where there are more of these than packages."""
    try:
        return resolve_name(name, package)
    except (ImportError, ValueError):
        return ""
