"""From a target's name to a custom agent."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import TypeGuard

from llamon_agent.adapters.custom.agent import CustomAgent
from llamon_agent.adapters.custom.signature import takes_nothing
from llamon_agent.adapters.imports.target import import_target
from llamon_agent.adapters.prompts import PrefillToLc
from llamon_agent.domain.error_location import brief
from llamon_agent.domain.errors import ConfigError

_GRAPHS = {("langgraph.pregel.main", "Pregel"), ("langgraph.graph.state", "StateGraph")}
"""By name, as an edge without graphs does not load LangGraph."""


async def load_custom(spec: str, *, prefill_to_lc: PrefillToLc) -> CustomAgent:
    """Import a target and make an agent of it.

    Shape:  a class, or a function (async or not) without any parameter, is a factory and is called for the agent; a
            function that takes a prompt is the agent; so is any other object.
    Raises: ConfigError, its text naming the target and the remedy.
    """
    target = await asyncio.to_thread(import_target, spec)  # as for a graph: the loop must go on
    fits_not = f"The target {spec!r} does not fit."
    if _is_factory(target):
        target = await _make(spec, target)
        fits_not = f"The target {spec!r} was called as a factory, and what it returned does not fit."
    if _is_graph(target):
        raise ConfigError(f"The target {spec!r} is a LangGraph graph: serve it with the langgraph adapter.")
    try:
        return CustomAgent(target, prefill_to_lc=prefill_to_lc)
    except ConfigError as exc:
        raise ConfigError(f"{fits_not} {exc.public}") from exc


def _is_factory(target: object) -> TypeGuard[Callable[[], object]]:
    if inspect.isclass(target):
        return True
    if not callable(target) or hasattr(target, "invoke") or hasattr(target, "stream"):
        return False
    return takes_nothing(target)


def _is_graph(target: object) -> bool:
    """Whether it is a LangGraph graph, compiled or not. Such a thing has `stream`, but does not take a text."""
    return any((cls.__module__, cls.__name__) in _GRAPHS for cls in type(target).__mro__)


async def _make(spec: str, factory: Callable[[], object]) -> object:
    try:
        made = factory()
        return await made if isinstance(made, Awaitable) else made
    except (Exception, SystemExit) as exc:  # the factory's own code, which may raise anything
        raise ConfigError(
            f"The target {spec!r} was called as a factory, without arguments, and failed: {brief(exc)}."
        ) from exc
