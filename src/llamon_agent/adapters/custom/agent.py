"""Any Python object or function as an agent.

Accepted are an object with `stream()` (preferred) or `invoke()`, and a function. Each may be async or not, and return,
yield, or return something to iterate over. `signature.py` says which arguments it may take, `outputs.py` what it may
return. To ask the caller something it yields or returns an interrupt; then the next call gets the caller's answer as
the prompt, and as `answer` where it takes one. An agent with a memory keys it by `thread_id`, which belongs to one
caller; two callers may name the same `context_id`.
"""

import asyncio
import inspect
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from functools import partial
from typing import Any, TypeGuard

import msgspec

from llamon_agent.adapters.custom.outputs import event_of, outputs_of, runs_on_loop
from llamon_agent.adapters.custom.signature import read_signature, takes_nothing
from llamon_agent.adapters.imports.failure import explain
from llamon_agent.adapters.imports.target import import_target
from llamon_agent.adapters.prompts import PrefillToLc, SeenContexts, decide_seed, text_prompt
from llamon_agent.adapters.worker_threads import joining
from llamon_agent.domain.errors import AgentError, ConfigError
from llamon_agent.domain.events import AgentEnding, AgentEvent, Complete, Started
from llamon_agent.domain.ids import random_id
from llamon_agent.domain.message import Data, Message
from llamon_agent.runs.ports.agent import Turn
from llamon_agent.runs.ports.run import NewId

_log = logging.getLogger(__name__)


def entry_of(target: object) -> Callable[..., object]:
    """The function that takes a turn. Raises: ConfigError: the target has none."""
    candidates: tuple[object, ...] = (getattr(target, "stream", None), getattr(target, "invoke", None), target)
    for candidate in candidates:
        if callable(candidate):
            return candidate
    raise ConfigError(
        f"It is of type {type(target).__name__}, which is no agent: "
        "an agent is a function, or an object with invoke() or stream()."
    )


class CustomAgent:
    """An `Agent` that calls a function of its author's. Raises: ConfigError: see `entry_of`, `read_signature`."""

    survives_restart = False
    """Only its own code knows how far it had come."""

    def __init__(self, target: object, *, prefill_to_lc: PrefillToLc, new_id: NewId = random_id) -> None:
        self._function = entry_of(target)
        self._signature = read_signature(self._function)
        self._on_loop = runs_on_loop(self._function)
        self._takes_history = "prefill_messages" in self._signature.names
        self._prefill_to_lc = prefill_to_lc
        self._new_id = new_id
        self._seen = SeenContexts()
        self._warned = False

    async def run(self, turn: Turn) -> AsyncGenerator[AgentEvent]:
        """Call the function with one turn. See runs.ports.Agent."""
        first = self._seen.take(turn.thread_id)
        outcome = decide_seed(turn, first=first, supported=self._takes_history)
        self._warn_once(turn)
        yield Started(history=outcome)
        call = self._call(turn, turn.prefill if outcome is not None and outcome.seeded else ())
        with _agent_errors():
            async with aclosing(joining(outputs_of(call, on_loop=self._on_loop))) as outputs:
                async for output in outputs:
                    if (event := event_of(output, new_id=self._new_id)) is None:
                        continue
                    yield event
                    if isinstance(event, AgentEnding):
                        return
        yield Complete()

    async def close_turn(self, thread_id: str) -> None:
        """Nothing to drop: the next turn of a custom agent is a plain call."""

    async def delete_thread(self, thread_id: str) -> None:
        """Take the thread's next turn for its first one; the agent's own memory stays. See runs.ports.Agent."""
        self._seen.forget(thread_id)

    def _call(self, turn: Turn, prefill: Sequence[Message]) -> Callable[[], object]:
        offers = {
            "answer": _answer_of(turn) if turn.answers else None,
            "context_id": turn.context_id,
            "thread_id": turn.thread_id,
            "session_id": turn.session_id,
            "task_id": turn.task_id,
            "message": turn.message,
            "metadata": turn.metadata,
            "caller": turn.caller,
        }
        if self._takes_history:
            offers["prefill_messages"] = list(self._prefill_to_lc(prefill)) if prefill else []
        # Data and files are in the message, for a function that takes it; for others they must not be lost unnoticed.
        prompt = turn.prompt if "message" in self._signature.names else text_prompt(turn)
        args, kwargs = self._signature.call_with(prompt, offers)
        return partial(self._function, *args, **kwargs)

    def _warn_once(self, turn: Turn) -> None:
        if turn.history_received and not self._takes_history and not self._warned:
            self._warned = True
            name = getattr(self._function, "__qualname__", type(self._function).__qualname__)
            _log.warning("%s takes no prefill_messages, so it does not get the history that hosts send", name)


@contextmanager
def _agent_errors() -> Iterator[None]:
    """Raises: AgentError, the author's own or ours around whatever else the agent's code raises."""
    try:
        yield
    except AgentError:
        raise
    except (Exception, SystemExit) as exc:  # the agent's code, which may raise anything
        raise AgentError() from exc
    except asyncio.CancelledError as exc:
        if _is_cancelled():
            raise
        raise AgentError() from exc  # something inside the agent was cancelled, not this turn


def _answer_of(turn: Turn) -> Any:
    """The caller's answer: its data, from under the question's id where it has one; else its text."""
    data = next((part.data for part in turn.message.parts if isinstance(part, Data)), msgspec.UNSET)
    match data:
        case msgspec.UNSET:
            return turn.prompt
        case {"answers": {**answers}, **rest} if not rest and len(answers) == 1:
            return next(iter(answers.values()))
    return data


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


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
            f"The target {spec!r} was called as a factory, without arguments, and failed: {explain(exc)}."
        ) from exc
