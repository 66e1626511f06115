"""Which fields of a state the first step of a graph reads, as its code tells.

A state often has several strings: what a caller asks, and what the nodes write for each other. The first nodes, and the
function that chooses among them, can only read what the caller sends.

- `state["question"]` and `state.question` need the field; `state.get("style")` may do without.
- Code that gives the whole state to other code may read any field, so nothing is known of such a step. The same is so
  if the code of a node is not at hand: a graph as a node, a class, a lambda, a built-in.
"""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType, MethodType
from typing import Any

import msgspec
from langgraph.graph import START

_KNOWN_GRAPHS = 256


class Reads(msgspec.Struct, frozen=True):
    """The names of fields that are read, by whether the code needs them."""

    needed: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()


def first_reads(builder: Any) -> Reads | None:
    """What the first step of a graph reads. Shape: builder is a StateGraph; None: that is not known."""
    found = [_reads(each) for each in _first_code(builder)]
    known = [each for each in found if each is not None]
    if len(known) < len(found) or not known:
        return None
    return Reads(
        frozenset[str]().union(*(each.needed for each in known)),
        frozenset[str]().union(*(each.optional for each in known)),
    )


def _first_code(builder: Any) -> Iterator[Any]:
    """The runnables of the first nodes, and those that choose among them."""
    branches = builder.branches.get(START, {}).values()
    names = {end for start, end in builder.edges if start == START}
    names |= {end for branch in branches for end in (branch.ends or {}).values()}
    yield from (branch.path for branch in branches)
    yield from (builder.nodes[name].runnable for name in names if name in builder.nodes)


def _reads(runnable: Any) -> Reads | None:
    function: Any = getattr(runnable, "func", None) or getattr(runnable, "afunc", None)
    function = inspect.unwrap(getattr(function, "func", function))  # of a partial, then of a decorator
    code = getattr(function, "__code__", None)
    return None if code is None else _reads_of(code, isinstance(function, MethodType))


@lru_cache(_KNOWN_GRAPHS)
def _reads_of(code: CodeType, is_method: bool) -> Reads | None:
    """What a function reads of its first parameter. Kept by its code, as factories make the same graph for each run."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(code)))
    except (OSError, TypeError, SyntaxError):  # not from a file, or a lambda in the middle of an expression
        return None
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    parameters = code.co_varnames[is_method : code.co_argcount]
    if not functions or functions[0].name != code.co_name or not parameters:
        return None
    return _reads_in(functions[0], parameters[0])


def _reads_in(function: ast.AST, state: str) -> Reads | None:
    needed, optional = set[str](), set[str]()
    for path in _uses(function, state, ()):
        match path:
            case [ast.Subscript(slice=ast.Constant(value=str(name)), ctx=ast.Load()), *_]:
                needed.add(name)
            case [ast.Attribute(attr="get"), ast.Call(args=[ast.Constant(value=str(name)), *_]), *_]:
                optional.add(name)
            case [ast.Attribute(attr=name, ctx=ast.Load()), *outer] if not _is_called(path[0], outer):
                needed.add(name)
            case [ast.Subscript(slice=ast.Constant(), ctx=ast.Store()), *_] | [ast.Attribute(ctx=ast.Store()), *_]:
                pass  # a write
            case [ast.Return() | ast.Dict(), *_] | [ast.Compare(left=ast.Constant()), *_]:
                pass  # the state goes on as it is; a look whether it has a field
            case _:
                return None
    return Reads(frozenset(needed), frozenset(optional))


def _uses(node: ast.AST, name: str, around: tuple[ast.AST, ...]) -> Iterator[list[ast.AST]]:
    """For each use of a name: the nodes around it, the innermost first."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Name) and child.id == name:
            yield [node, *around]
        else:
            yield from _uses(child, name, (node, *around))


def _is_called(attribute: ast.AST, outer: list[ast.AST]) -> bool:
    """Whether an attribute is a method that is called, which may read anything."""
    return bool(outer) and isinstance(outer[0], ast.Call) and outer[0].func is attribute
