"""Any Python object or function as an agent.

Accepted: an object with `stream()` or `invoke()`, of which `stream()` is preferred; or a function itself. Each may be
async or not, and return, yield, or return something to iterate over. What it may take is in `signature.py`, what it may
give in `results.py`. To ask the caller something it yields or returns an interrupt; the next turn is then called with
what the caller answers as the prompt, and as `answer` where it takes one. An agent with a memory keys it by
`thread_id`, which is one caller's; two callers may name the same `context_id`.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any

import msgspec

from llamon_agent.adapters.custom.outputs import outputs_of, runs_on_loop
from llamon_agent.adapters.custom.results import event_of
from llamon_agent.adapters.custom.signature import read_signature
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
    """An `Agent` that calls a function of somebody else's. Raises: ConfigError: see `entry_of`, `read_signature`."""

    survives_restart = False
    """How far its code had come, only it knows."""

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
        """Call the function with one turn, and tell what it gives. See runs.ports.Agent."""
        first = self._seen.take(turn.thread_id)
        outcome = decide_seed(turn, first=first, supported=self._takes_history)
        self._warn_once(turn)
        yield Started(history=outcome)
        call = self._call(turn, turn.prefill if outcome is not None and outcome.seeded else ())
        async with aclosing(self._events(call)) as events:
            async for event in events:
                yield event
                if isinstance(event, AgentEnding):
                    return
        yield Complete()

    async def close_turn(self, thread_id: str) -> None:
        """Nothing to drop: the next turn of a custom agent is a plain call."""

    async def delete_thread(self, thread_id: str) -> None:
        """Forget that the thread was ever seen; what its code remembers is its own affair. See runs.ports.Agent."""
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
        }
        if self._takes_history:
            offers["prefill_messages"] = list(self._prefill_to_lc(prefill)) if prefill else []
        # Who takes the message sees its data and files there; to anybody else they must not vanish in silence.
        prompt = turn.prompt if "message" in self._signature.names else text_prompt(turn)
        args, kwargs = self._signature.call_with(prompt, offers)
        return partial(self._function, *args, **kwargs)

    async def _events(self, call: Callable[[], object]) -> AsyncGenerator[AgentEvent]:
        """The call's events. Raises: AgentError, the author's own or ours around whatever else the code raises."""
        try:
            async with aclosing(joining(outputs_of(call, on_loop=self._on_loop))) as outputs:
                async for output in outputs:
                    if (event := event_of(output, new_id=self._new_id)) is not None:
                        yield event
        except AgentError:
            raise
        except (Exception, SystemExit) as exc:  # the agent's code, which may raise anything
            raise AgentError() from exc
        except asyncio.CancelledError as exc:
            if _is_cancelled():
                raise
            raise AgentError() from exc  # something inside the agent was cancelled, not this turn

    def _warn_once(self, turn: Turn) -> None:
        if turn.history_received and not self._takes_history and not self._warned:
            self._warned = True
            name = getattr(self._function, "__qualname__", type(self._function).__qualname__)
            _log.warning("%s takes no prefill_messages; the history that hosts send is not handed to it", name)


def _answer_of(turn: Turn) -> Any:
    """What the caller replied: its data, where the answer to the one question may bear its id; else its text."""
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
