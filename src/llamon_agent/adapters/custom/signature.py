"""Which arguments a custom agent's function takes; read once, from its signature.

A custom agent names only the parameters it wants. The prompt is its first positional parameter, or a keyword `prompt`;
the others are passed by keyword, and only those that its signature takes.
"""

import inspect
from collections.abc import Callable, Mapping
from inspect import Parameter

import msgspec

from llamon_agent.domain.errors import ConfigError

OFFERED = frozenset(
    {"prefill_messages", "answer", "context_id", "thread_id", "session_id", "task_id", "message", "metadata", "caller"}
)
"""The arguments that a function may take besides the prompt."""

_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD, Parameter.VAR_POSITIONAL)
_BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
_VARIADIC = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


class Signature(msgspec.Struct, frozen=True, kw_only=True):
    """How to call a function. `prompt_name` is None where the prompt is the first argument, by position."""

    prompt_name: str | None
    names: frozenset[str]

    def call_with(self, prompt: str, offers: Mapping[str, object]) -> tuple[list[object], dict[str, object]]:
        """The arguments of one call: positional and by keyword."""
        named = {name: value for name, value in offers.items() if name in self.names}
        if self.prompt_name is None:
            return [prompt], named
        return [], {self.prompt_name: prompt, **named}


def takes_nothing(function: Callable[..., object]) -> bool:
    """Whether a function has no parameter at all: it makes an agent rather than being one."""
    return not _parameters(function)


def read_signature(function: Callable[..., object]) -> Signature:
    """How to call a function, which may also be a partial, a callable object or a decorated function.

    Raises: ConfigError: it takes no prompt, or requires an argument that a turn does not have.
    """
    parameters = _parameters(function)
    first = next((each for each in parameters if each.kind in _POSITIONAL), None)
    if first is None and not any(each.name == "prompt" or each.kind is Parameter.VAR_KEYWORD for each in parameters):
        raise ConfigError(f"{_name(function)} takes no prompt: give it a first parameter for the prompt.")
    others = [each for each in parameters if each is not first and each.name != "prompt"]
    _check_required(function, others)
    return Signature(prompt_name="prompt" if first is None else None, names=_names(others))


def _parameters(function: Callable[..., object]) -> list[Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except ValueError:  # some built-in functions have no signature
        return [Parameter("prompt", Parameter.POSITIONAL_ONLY)]


def _names(parameters: list[Parameter]) -> frozenset[str]:
    if any(each.kind is Parameter.VAR_KEYWORD for each in parameters):
        return OFFERED - {each.name for each in parameters if each.kind is Parameter.POSITIONAL_ONLY}
    return OFFERED & {each.name for each in parameters if each.kind in _BY_NAME}


def _check_required(function: Callable[..., object], parameters: list[Parameter]) -> None:
    for each in parameters:
        known = each.name in OFFERED and each.kind in _BY_NAME
        if each.default is Parameter.empty and each.kind not in _VARIADIC and not known:
            raise ConfigError(
                f"{_name(function)} requires {each.name!r}, which a turn does not have: "
                f"give it a default, or use one of {', '.join(sorted(OFFERED))}."
            )


def _name(function: Callable[..., object]) -> str:
    return f"The agent {getattr(function, '__qualname__', type(function).__qualname__)!r}"
