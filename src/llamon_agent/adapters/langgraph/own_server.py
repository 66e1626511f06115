"""Where a graph's code calls the LangGraph server that it runs in: `get_client()` or `RemoteGraph` without an address.

LangGraph's own server answers such calls itself. This edge has no such API, so they fail when they are made, and a
warning at the start says where they are. They are found in the text of the code: nothing shows them before they run.

Source: langgraph_sdk.get_client (url None), langgraph.pregel.remote.RemoteGraph.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from llamon_agent.adapters.imports.scan import nodes_of

_CALLS = {
    "langgraph_sdk.get_client": ("url",),
    "langgraph_sdk.client.get_client": ("url",),
    "langgraph.pregel.remote.RemoteGraph": ("url", "client", "sync_client"),
}
"""What makes a client, and the arguments that give it an address."""

_FIRST = "get_client"
"""The only one whose address may be given without its name, as the first argument."""


def calls_of_own_server(file: Path) -> list[int]:
    """The lines of a file that make a client without an address."""
    nodes = list(nodes_of(file))
    names = dict(pair for node in nodes for pair in _imported(node))
    return sorted(node.lineno for node in nodes if isinstance(node, ast.Call) and _is_without_address(node, names))


def _imported(node: ast.AST) -> Iterator[tuple[str, str]]:
    """The names that an import gives to modules and to what is in them."""
    match node:
        case ast.Import(names=names):
            yield from ((each.asname or each.name, each.name) for each in names)
        case ast.ImportFrom(module=str(module), names=names, level=0):
            yield from ((each.asname or each.name, f"{module}.{each.name}") for each in names)


def _is_without_address(call: ast.Call, names: dict[str, str]) -> bool:
    written = ast.unparse(call.func)
    start, _, rest = written.rpartition(".")
    called = names.get(written) or (f"{names[start]}.{rest}" if start in names else "")
    if called not in _CALLS or any(each.arg is None for each in call.keywords):
        return False
    given = [each.value for each in call.keywords if each.arg in _CALLS[called]]
    if called.endswith(_FIRST):
        given += call.args[:1]
    return all(isinstance(each, ast.Constant) and each.value is None for each in given)
