"""Which fields of a state the first step of a graph reads, as its code tells.

A state often has several strings: what a caller asks, and what the nodes write for each other. The first nodes, and the
function that chooses among them, can only read what the caller sends.

- `state["question"]` and `state.question` need the field; `state.get("style")` may do without.
- A function that the state is given to, by its plain name, is read as well.
- Any other code that gets the whole state may read any field, so nothing is known of such a step. The same is so if the
  code of a node is not at hand: a graph as a node, a class, a lambda, a built-in.
"""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from functools import lru_cache, partial
from types import CodeType, FunctionType, MethodType
from typing import Any

import msgspec
from langgraph.graph import START

_KNOWN_FUNCTIONS = 256

_DEEPEST = 4
"""How many functions deep a state is followed: functions may call themselves."""


class Reads(msgspec.Struct, frozen=True):
    """The names of fields that are read, by whether the code needs them."""

    needed: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()


def first_reads(builder: Any) -> Reads | None:
    """What the first step of a graph reads. Shape: builder is a StateGraph; None: that is not known."""
    return _joined([_reads(each) for each in _first_code(builder)])


def never_reads(builder: Any, name: str) -> bool:
    """Whether it is known that no node of a graph reads a field."""
    paths = [branch.path for branches in builder.branches.values() for branch in branches.values()]
    found = _joined([_reads(_function(each)) for each in (*paths, *(node.runnable for node in builder.nodes.values()))])
    return found is not None and name not in found.needed | found.optional


def _joined(found: list[Reads | None]) -> Reads | None:
    known = [each for each in found if each is not None]
    if len(known) < len(found) or not known:
        return None
    return Reads(
        frozenset[str]().union(*(each.needed for each in known)),
        frozenset[str]().union(*(each.optional for each in known)),
    )


def _first_code(builder: Any) -> Iterator[Any]:
    """The code of the first nodes, and what chooses among them."""
    branches = builder.branches.get(START, {}).values()
    names = {end for start, end in builder.edges if start == START}
    names |= {end for branch in branches for end in (branch.ends or {}).values()}
    runnables = [branch.path for branch in branches]
    runnables += [builder.nodes[name].runnable for name in names if name in builder.nodes]
    return map(_function, runnables)


def _function(runnable: Any) -> Any:
    return getattr(runnable, "func", None) or getattr(runnable, "afunc", None)


def _reads(code: Any, parameter: int | str = 0, deepest: int = _DEEPEST) -> Reads | None:
    """What code reads of a parameter. Shape: parameter is its place or its name."""
    found = _function_of(code)
    tree = _tree(found[0].__code__) if found and deepest else None
    if found is None or tree is None:
        return None
    function, given = found
    names = [each.arg for each in (*tree.args.posonlyargs, *tree.args.args)][given:]
    if isinstance(parameter, int):
        return _reads_in(tree, names[parameter], function, deepest) if parameter < len(names) else None
    names += [each.arg for each in tree.args.kwonlyargs]
    return _reads_in(tree, parameter, function, deepest) if parameter in names else None


def _function_of(code: Any) -> tuple[FunctionType, int] | None:
    """The function that code runs, without its decorators, and how many of its parameters are given already."""
    given = 0
    if isinstance(code, partial):
        given, code = len(code.args), code.func
    if isinstance(code, MethodType):
        given, code = given + 1, code.__func__
    function = inspect.unwrap(code) if isinstance(code, FunctionType) else None
    return (function, given) if isinstance(function, FunctionType) else None


@lru_cache(_KNOWN_FUNCTIONS)
def _tree(code: CodeType) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The source of a function. It is kept by the code, as a factory makes the same functions for each run."""
    try:
        found = ast.parse(textwrap.dedent(inspect.getsource(code))).body[0]
    except (OSError, SyntaxError):  # not from a file, or a lambda in the middle of an expression
        return None
    return found if isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef) else None


def _reads_in(tree: ast.AST, state: str, function: FunctionType, deepest: int) -> Reads | None:
    found: list[Reads | None] = [Reads()]
    for use, *path in _uses(tree, state, ()):
        match path:
            case [ast.Subscript(slice=ast.Constant(value=str(name)), ctx=ast.Load()), *_]:
                found.append(Reads(needed=frozenset({name})))
            case [ast.Attribute(attr="get"), ast.Call(args=[ast.Constant(value=str(name)), *_]), *_]:
                found.append(Reads(optional=frozenset({name})))
            case [ast.Attribute(attr=name, ctx=ast.Load()), *outer] if not _is_called(path[0], outer):
                found.append(Reads(needed=frozenset({name})))
            case [ast.Subscript(slice=ast.Constant(), ctx=ast.Store()), *_] | [ast.Attribute(ctx=ast.Store()), *_]:
                pass  # a write
            case [ast.Return(), *_] | [ast.Dict(), ast.Return(), *_] | [ast.Compare(left=ast.Constant()), *_]:
                pass  # the state goes on as it is; a look whether it has a field
            case [ast.Call(func=ast.Name(id=name), args=given), *_] if use in given:
                found.append(_reads(function.__globals__.get(name), given.index(use), deepest - 1))
            case [ast.keyword(arg=str(parameter)), ast.Call(func=ast.Name(id=name)), *_]:
                found.append(_reads(function.__globals__.get(name), parameter, deepest - 1))
            case _:
                return None
    return _joined(found)


def _uses(node: ast.AST, name: str, around: tuple[ast.AST, ...]) -> Iterator[list[Any]]:
    """For each use of a name: it, and the nodes around it, the innermost first."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Name) and child.id == name:
            yield [child, node, *around]
        else:
            yield from _uses(child, name, (node, *around))


def _is_called(attribute: ast.AST, outer: list[Any]) -> bool:
    """Whether an attribute is a method that is called, which may read anything."""
    return bool(outer) and isinstance(outer[0], ast.Call) and outer[0].func is attribute
