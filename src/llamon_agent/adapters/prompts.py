"""What an agent that keeps its memory itself gets of a turn: the caller's message as text, and the host's history once.

An edge cannot look into such a memory. It takes a context for new if this process has not seen it. No record is needed:
an agent object begins empty with the process, and a command gets the host's history once more after a restart.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from llamon_agent.domain.errors import AgentError
from llamon_agent.domain.events import (
    COLD_START,
    NO_USABLE_TURNS,
    NOT_SUPPORTED,
    PENDING_INTERRUPT,
    THREAD_NOT_EMPTY,
    SeedOutcome,
)
from llamon_agent.domain.message import Data, Message, Raw, Role, Url, texts
from llamon_agent.runs.ports.agent import Turn

if TYPE_CHECKING:  # agents without LangChain must not load it
    from langchain_core.messages import BaseMessage

PrefillToLc = Callable[[Sequence[Message]], "list[BaseMessage]"]
"""From the host's past messages to LangChain's, in order. An edge hands in the one of its reading of histories, which
adapters may not import."""

MAX_SEEN_CONTEXTS = 100_000
"""How many contexts are remembered; after so many others a silent one counts as new again."""


def text_prompt(turn: Turn) -> str:
    """The message's text, and after it the message's data, one line of JSON each.

    Raises: AgentError: the message holds a file, which must not be lost unnoticed.
    """
    if any(isinstance(part, Raw | Url) for part in turn.message.parts):
        raise AgentError("This agent takes text and data, but no files.")
    data = [msgspec.json.encode(part.data).decode() for part in turn.message.parts if isinstance(part, Data)]
    return "\n".join([turn.prompt, *data] if turn.prompt else data)


def plain_prefill(turns: Sequence[Message]) -> "list[BaseMessage]":
    """The turns' texts as messages without ids: a `PrefillToLc` for agents that are used without an edge."""
    from langchain_core.messages import AIMessage, HumanMessage

    kinds = {Role.USER: HumanMessage, Role.AGENT: AIMessage}
    return [kinds[turn.role](content="".join(texts(turn.parts))) for turn in turns]


class SeenContexts:
    """The threads that have taken a turn, the last ones of them."""

    def __init__(self, limit: int = MAX_SEEN_CONTEXTS) -> None:
        self._limit = limit
        self._threads: OrderedDict[str, None] = OrderedDict()

    def take(self, thread_id: str) -> bool:
        """Whether this is the thread's first turn. From now on it has taken one, however that ends."""
        first = thread_id not in self._threads
        self._threads[thread_id] = None
        self._threads.move_to_end(thread_id)
        if len(self._threads) > self._limit:
            self._threads.popitem(last=False)
        return first

    def forget(self, thread_id: str) -> None:
        """The thread's next turn is its first one again."""
        self._threads.pop(thread_id, None)


def decide_seed(turn: Turn, *, first: bool, supported: bool) -> SeedOutcome | None:
    """Whether the turn's history goes to the agent, and why; None if no history came.

    Shape: either all of `turn.prefill` is seeded or nothing is.
    """
    if turn.history_received == 0:
        return None
    reason = _reason(turn, first=first, supported=supported)
    seeded = len(turn.prefill) if reason == COLD_START else 0
    return SeedOutcome(seeded=seeded, skipped=turn.history_received - seeded, reason=reason)


def _reason(turn: Turn, *, first: bool, supported: bool) -> str:
    if not supported:
        return NOT_SUPPORTED
    if turn.answers:
        return PENDING_INTERRUPT
    if not first:
        return THREAD_NOT_EMPTY
    return COLD_START if turn.prefill else NO_USABLE_TURNS
