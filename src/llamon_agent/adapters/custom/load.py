"""From a target's name to a custom agent."""

import inspect
from collections.abc import Awaitable, Callable
from typing import TypeGuard

from llamon_agent.adapters.custom.agent import CustomAgent, PrefillToLc
from llamon_agent.adapters.custom.signature import takes_nothing
from llamon_agent.adapters.targets import import_target
from llamon_agent.domain.errors import ConfigError


async def load_custom(spec: str, *, prefill_to_lc: PrefillToLc) -> CustomAgent:
    """Import a target and make an agent of it.

    Shape:  a class, or a function (async or not) without any parameter, is a factory and is called for the agent; a
            function that takes a prompt is the agent; so is any other object.
    Raises: ConfigError, its text naming the target and the remedy.
    """
    target = import_target(spec)
    if _is_factory(target):
        target = await _make(spec, target)
    try:
        return CustomAgent(target, prefill_to_lc=prefill_to_lc)
    except ConfigError as exc:
        raise ConfigError(f"The target {spec!r} does not fit. {exc.public}") from exc


def _is_factory(target: object) -> TypeGuard[Callable[[], object]]:
    if inspect.isclass(target):
        return True
    if not callable(target) or hasattr(target, "invoke") or hasattr(target, "stream"):
        return False
    return takes_nothing(target)


async def _make(spec: str, factory: Callable[[], object]) -> object:
    try:
        made = factory()
        return await made if isinstance(made, Awaitable) else made
    except (Exception, SystemExit) as exc:  # the factory's own code, which may raise anything
        raise ConfigError(
            f"The target {spec!r} is a factory and failed with {type(exc).__name__}: it is called without arguments."
        ) from exc
