"""The defaults of a graph's card: its name, its module's docstring, and its tools as skills."""

import inspect

from langchain_core.tools import BaseTool
from langgraph.prebuilt import ToolNode

from llamon_agent.adapters.imports.target import import_target
from llamon_agent.adapters.langgraph.thread import Graph, subgraphs_of
from llamon_agent.domain.profile import SelfDescription, Skill

_NAMELESS = "LangGraph"
"""LangGraph's name for a graph without a name."""

_MAX_CHARS = 500
"""How much of a docstring is used; readers who choose an agent do not read more."""


def introduce(graph: Graph, target: str | None) -> SelfDescription:
    """The defaults of a graph's card.

    Shape: the docstring is that of the target's module; there is none without a target.
    """
    return SelfDescription(
        name=graph.name if graph.name and graph.name != _NAMELESS else None,
        description=_first_paragraph(_module_docstring(target)) if target else None,
        skills=tuple(_skill(tool) for tool in _tools(graph)),
    )


def _module_docstring(target: str) -> str:
    documentation = import_target(f"{target.rpartition(':')[0]}:__doc__")
    return documentation if isinstance(documentation, str) else ""


def _first_paragraph(text: str) -> str | None:
    """The first paragraph on one line, or None for none."""
    line = " ".join(inspect.cleandoc(text).partition("\n\n")[0].split())
    return (line if len(line) <= _MAX_CHARS else line[: _MAX_CHARS - 1] + "…") or None


def _tools(graph: Graph) -> list[BaseTool]:
    """The tools of a graph and its subgraphs, each name once."""
    graphs = [graph, *(subgraph for _, subgraph in subgraphs_of(graph, recurse=True))]
    nodes = [node.bound for each in graphs for node in each.nodes.values()]
    return list(
        {
            name: tool for node in nodes if isinstance(node, ToolNode) for name, tool in node.tools_by_name.items()
        }.values()
    )


def _skill(tool: BaseTool) -> Skill:
    name = " ".join(tool.name.replace("-", " ").replace("_", " ").split()).capitalize()
    return Skill(id=tool.name, name=name, description=_first_paragraph(tool.description) or name, tags=("tool",))
