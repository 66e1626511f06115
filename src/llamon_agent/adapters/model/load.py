"""From `provider:model` and its options to a graph that runs like any other.

A model's tools are a list in a Python module, of LangChain tools and plain functions.
"""

import os
from collections.abc import Sequence
from typing import Any

import msgspec
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware
from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from pydantic import SecretStr

from llamon_agent.adapters.imports.target import import_target
from llamon_agent.adapters.langgraph.state import check_memory
from llamon_agent.adapters.langgraph.thread import Graph
from llamon_agent.adapters.model.calls import CallLimit, CarefulCalls
from llamon_agent.adapters.model.endings import gives_reason
from llamon_agent.domain.errors import ConfigError

_NO_KEY = SecretStr("none")

_SHORTEST_SECRET = 8
"""Shorter keys are placeholders such as "none", which would redact words."""

Tool = BaseTool | dict[str, Any]
"""A tool that runs here, or the description of a tool that the provider runs."""


class ModelOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a model and its agent.

    Shape: tools is a target; approve names the tools that a person must approve; None is the provider's default.
    """

    base_url: str | None = None
    api_key: SecretStr | None = None
    system_prompt: str | None = None
    temperature: float | None = None
    streaming: bool = True
    max_retries: int = 2
    max_calls: int = 50
    tools: str | None = None
    approve: Sequence[str] = ()


def load_model(
    target: str,
    options: ModelOptions,
    *,
    checkpointer: BaseCheckpointSaver[Any] | None,
    window_size: int | None = None,
) -> Graph:
    """The agent graph of a model and its tools. Raises: ConfigError, naming the target and the remedy."""
    model = _model(target, options)
    tools = load_tools(options.tools) if options.tools else []
    calls = CarefulCalls(max_retries=options.max_retries, gives_reason=gives_reason(model), secrets=secrets_of(model))
    graph = create_agent(
        model,
        tools,
        system_prompt=options.system_prompt,
        middleware=[
            CallLimit(options.max_calls),
            calls,
            *_approvals(target, options.approve, tools, saved=checkpointer is not None),
        ],
        checkpointer=checkpointer,
    )
    check_memory(graph, window_size, target)
    return graph


def secrets_of(model: BaseChatModel) -> tuple[str, ...]:
    """The keys that a model holds, from any source."""
    held = (getattr(model, name, None) for name in type(model).model_fields)
    keys = (each.get_secret_value() for each in held if isinstance(each, SecretStr))
    return tuple(key for key in keys if len(key) >= _SHORTEST_SECRET)


def _model(target: str, options: ModelOptions) -> BaseChatModel:
    provider, _, name = target.partition(":")
    if not provider or not name:
        raise ConfigError(f"The target {target!r} is not of the form provider:model, such as openai:gpt-5.")
    given = {
        "base_url": options.base_url,
        "api_key": _key(provider, options),
        "temperature": options.temperature,
        "disable_streaming": None if options.streaming else True,
    }
    known = {key: value for key, value in given.items() if value is not None}
    model = _made(target, provider, name, known)
    # Made again, as only a made one shows whether its client retries by itself; see calls.
    retries = {"max_retries": 0} if "max_retries" in type(model).model_fields else {}
    return _made(target, provider, name, {**known, **retries})


def _made(target: str, provider: str, name: str, given: dict[str, Any]) -> BaseChatModel:
    try:
        made: BaseChatModel = init_chat_model(name, model_provider=provider, **given)
    except ImportError as exc:
        raise ConfigError(
            f"The target {target!r} needs the package {_missing(exc)!r}, which is not installed: install it."
        ) from exc
    except Exception as exc:  # the provider's package, which may raise anything
        if str(exc).startswith("Unsupported provider"):
            raise ConfigError(
                f"The target {target!r}: LangChain knows no provider {provider!r}; check the name before the colon."
            ) from exc
        remedy = "check the model's options" if "api_key" in given else "set api_key or the provider's own variable"
        raise ConfigError(f"The target {target!r} cannot be set up ({type(exc).__name__}); {remedy}.") from exc
    return made


def _key(provider: str, options: ModelOptions) -> SecretStr | None:
    """The key. A server of one's own may need none, but the OpenAI client requires one: it gets a placeholder."""
    if options.api_key is None and options.base_url and provider == "openai" and "OPENAI_API_KEY" not in os.environ:
        return _NO_KEY
    return options.api_key


def _missing(error: ImportError) -> str:
    """The package to install."""
    cause = error.__cause__ if isinstance(error.__cause__, ImportError) else error
    return (cause.name or "langchain").partition(".")[0].replace("_", "-")


def _approvals(
    target: str, approve: Sequence[str], tools: list[Tool], *, saved: bool
) -> list[AgentMiddleware[Any, Any, Any]]:
    """The middleware that asks a person before these tools run. Raises: ConfigError."""
    if not approve:
        return []
    if unknown := set(approve) - names_of(tools):
        known = ", ".join(sorted(names_of(tools))) or "none"
        raise ConfigError(
            f"The target {target!r}: approve names {', '.join(sorted(unknown))}, but the tools are: {known}."
        )
    if not saved:
        raise ConfigError(
            f"The target {target!r}: approve needs a checkpointer, to go on from when a person has answered."
        )
    return [HumanInTheLoopMiddleware(dict.fromkeys(approve, True))]


def load_tools(target: str) -> list[Tool]:
    """The tools that a target lists. Raises: ConfigError, naming the target and the remedy."""
    found = import_target(target)
    if not isinstance(found, list | tuple):
        raise ConfigError(f"The tools {target!r} are no list; name a list of functions or LangChain tools.")
    return [_tool(target, each) for each in found]


def names_of(tools: list[Tool]) -> set[str]:
    """The names by which the model knows the tools."""
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
            f"The tools {target!r}: {name} cannot be a tool; give it a docstring, which says when to use "
            "it, and arguments with types."
        ) from exc
    return made
