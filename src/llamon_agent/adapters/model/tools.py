"""The tools of a model: a list in a Python module, of LangChain tools and plain functions."""

from typing import Any

from langchain_core.tools import BaseTool, tool

from llamon_agent.adapters.imports.target import import_target
from llamon_agent.domain.errors import ConfigError

Tool = BaseTool | dict[str, Any]
"""A tool that runs here, or the description of one that the provider runs itself."""


def load_tools(target: str) -> list[Tool]:
    """The tools that a target lists. Raises: ConfigError, naming the target and the remedy."""
    found = import_target(target)
    if not isinstance(found, list | tuple):
        raise ConfigError(f"The tools {target!r} are no list; name a list of functions or LangChain tools.")
    return [_tool(target, each) for each in found]


def names_of(tools: list[Tool]) -> set[str]:
    """What the model knows the tools by."""
    return {each.name for each in tools if isinstance(each, BaseTool)}


def _tool(target: str, given: Any) -> Tool:
    if isinstance(given, BaseTool | dict):
        return given
    if not callable(given):
        raise ConfigError(f"The tools {target!r}: {given!r} is neither a function nor a LangChain tool.")
    try:
        made: BaseTool = tool(given)
    except (ValueError, TypeError) as exc:
        name = getattr(given, "__name__", type(given).__name__)
        raise ConfigError(
            f"The tools {target!r}: {name} cannot be a tool; give it a docstring, which tells the model when to use "
            "it, and arguments with types."
        ) from exc
    return made
