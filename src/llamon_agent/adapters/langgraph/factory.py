"""Factories of graphs: functions that make a graph, called as LangGraph's own server calls them.

Theory. What a factory takes is read from its annotations and names: a config, a `ServerRuntime`, both, or nothing.
What takes nothing makes the same graph each time, so it is called once. What takes something may make another graph
for each caller, or for each thread, so it is called for each run, and what it opens is closed when the run ends.

LangGraph's server also calls a factory to look at its graph. So do we, once, at the start: for the card, for the
schema, and for threads outside of a run. Such a call has no thread, and `__is_for_execution__` is false in its config.
Factories return a graph without its model and tools then, which must never answer: a run has a call of its own.

Source: langgraph_sdk.runtime, and LangGraph's documentation "Rebuild graph at runtime".
"""

import inspect
import logging
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    asynccontextmanager,
)
from dataclasses import dataclass
from enum import Enum, auto
from importlib import import_module
from inspect import Parameter
from typing import Any, get_args, get_origin

from langchain_core.runnables import RunnableConfig
from langgraph.store.base import BaseStore

from llamon_agent.adapters.langgraph.run_values import USER
from llamon_agent.adapters.langgraph.thread import Graph, Thread
from llamon_agent.domain.errors import AgentError, BackendError, ConfigError


def _runtimes() -> Any:
    try:
        return import_module("langgraph_sdk.runtime")
    except ImportError:  # an older SDK; then no factory can ask for one
        return None


_sdk = _runtimes()

RUNS = "__is_for_execution__"
"""Whether a factory's graph will run. Source: LangGraph's server puts it into the config of each call."""

_NOT_MADE = "The agent could not be made ready for this message."

log = logging.getLogger(__name__)


class _Want(Enum):
    CONFIG = auto()
    RUNTIME = auto()


@dataclass(frozen=True, slots=True)
class Factory:
    """A factory, and what its parameters take.

    Shape: wants holds the parameters that are filled; all others have defaults.
    """

    call: Callable[..., Any]
    wants: Sequence[tuple[Parameter, _Want]]

    @property
    def is_per_run(self) -> bool:
        """Whether each run has a graph of its own."""
        return bool(self.wants)

    async def enter(self, stack: AsyncExitStack | None, config: RunnableConfig, runtime: Any) -> Any:
        """What the factory makes. Shape: stack closes what it opens; None: a context manager is given as it is."""
        given = [(each, config if want is _Want.CONFIG else runtime) for each, want in self.wants]
        positional = [value for each, value in given if each.kind is Parameter.POSITIONAL_ONLY]
        named = {each.name: value for each, value in given if each.kind is not Parameter.POSITIONAL_ONLY}
        made = self.call(*positional, **named)
        if stack is not None and isinstance(made, AbstractAsyncContextManager):
            return await stack.enter_async_context(made)
        if stack is not None and isinstance(made, AbstractContextManager):
            return stack.enter_context(made)
        return await made if inspect.isawaitable(made) else made


def factory_of(target: str, call: Callable[..., Any], hint: str) -> Factory:
    """Read what a factory takes. Shape: hint ends the text of an error. Raises: ConfigError: it needs more."""
    named = [each for each in _parameters(call) if each.kind not in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)]
    wants = [(each, want) for each in named if (want := _want_of(each)) is not None]
    known = [each.name for each, _ in wants]
    needed = [each for each in named if each.name not in known and each.default is Parameter.empty]
    if len(needed) == 1 and all(want is not _Want.CONFIG for _, want in wants):
        wants.append((needed.pop(), _Want.CONFIG))  # whatever its name is
        wants.sort(key=lambda want: named.index(want[0]))
    if needed or (_sdk is None and any(want is _Want.RUNTIME for _, want in wants)):
        raise ConfigError(
            f"The target {target!r}: a factory of a graph takes nothing, a config, a ServerRuntime or both, and this "
            f"needs more. {hint}"
        )
    return Factory(call, wants)


def call_to_look(values: Mapping[str, Any], store: BaseStore | None) -> tuple[RunnableConfig, Any]:
    """The config and the runtime of a call at the start. Shape: values are those of `configurable` outside of a run."""
    config = RunnableConfig(configurable={**values, RUNS: False})
    if _sdk is None:
        return config, None
    return config, _sdk._ReadRuntime(access_context="assistants.read", user=values.get(USER), store=store)


def call_to_run(thread: Thread, context: Any) -> tuple[RunnableConfig, Any]:
    """The config and the runtime of a call for a run of a thread. Shape: context is the run's, as its schema has it."""
    configurable = {**thread.config["configurable"], RUNS: True}
    config = RunnableConfig(**{**thread.config, "configurable": configurable})
    if _sdk is None:
        return config, None
    user, store = configurable.get(USER), thread.store
    runtime: Any = _sdk._ExecutionRuntime(
        access_context="threads.create_run",
        user=user,
        store=store,
        context=context,
    )
    return config, runtime


Make = Callable[[AsyncExitStack, Thread], Awaitable[Graph]]
"""Makes the graph of a run of a thread. Shape: the stack closes what it opens."""


@dataclass(frozen=True, slots=True)
class GraphSource:
    """Where an agent has its graph from.

    Shape: graph is the one outside of runs; make makes that of a run, None: it is the same.
    """

    graph: Graph
    make: Make | None = None

    @asynccontextmanager
    async def made_for(self, thread: Thread) -> AsyncIterator[Graph]:
        """The graph of a run of a thread, as long as the block runs. What it has opened never ends the run otherwise.

        Raises: AgentError: the factory has failed; BackendError: the store that it asked is away.
        """
        assert self.make is not None  # else there is nothing to make
        stack = AsyncExitStack()
        try:
            try:
                graph = await self.make(stack, thread)
            except (AgentError, BackendError):
                raise
            except (Exception, SystemExit) as exc:  # the factory's own code, which may raise anything
                raise AgentError(_NOT_MADE) from exc
            yield graph
        finally:
            await _leave(stack)


async def _leave(stack: AsyncExitStack) -> None:
    """Close what a factory has opened. It learns how the run ended, by the graph's own error, and cannot change it."""
    error = sys.exc_info()[1]
    if isinstance(error, AgentError) and error.__cause__ is not None:
        error = error.__cause__
    ending = (None, None, None) if error is None else (type(error), error, error.__traceback__)
    try:
        await stack.__aexit__(*ending)
    except Exception as exc:  # the factory's own code
        if exc is not error:
            log.warning("what a factory of a graph had opened for a run could not be closed", exc_info=True)


def _parameters(call: Callable[..., Any]) -> list[Parameter]:
    """The parameters, with annotations that are kept as strings resolved where that is possible."""
    known = {"RunnableConfig": RunnableConfig, "ServerRuntime": getattr(_sdk, "ServerRuntime", None)}
    try:
        return list(inspect.signature(call, eval_str=True, locals=known).parameters.values())
    except Exception:  # noqa: BLE001 -- names that only a type checker has; evaluating may raise anything
        pass
    try:
        return list(inspect.signature(call).parameters.values())
    except (TypeError, ValueError):  # code without a signature
        return []


def _want_of(each: Parameter) -> _Want | None:
    """What a parameter takes, by its annotation, else by its name."""
    if _says(each.annotation, "ServerRuntime", _runtime_types()):
        return _Want.RUNTIME
    if each.name == "config" or _says(each.annotation, "RunnableConfig", (RunnableConfig,)):
        return _Want.CONFIG
    return _Want.RUNTIME if each.name == "runtime" and each.annotation is Parameter.empty else None


def _runtime_types() -> tuple[Any, ...]:
    names = ("ServerRuntime", "_ExecutionRuntime", "_ReadRuntime", "_ServerRuntimeBase")
    return tuple(getattr(_sdk, name) for name in names if hasattr(_sdk, name))


def _says(annotation: Any, name: str, types: tuple[Any, ...]) -> bool:
    """Whether an annotation is one of these types, also within a union, with arguments, or as a string."""
    if isinstance(annotation, str):
        return name in annotation
    origin = get_origin(annotation)
    if any(annotation is each or origin is each for each in types):
        return True
    return origin is not None and any(_says(each, name, types) for each in get_args(annotation))
