"""Hands a host's history to an agent whose memory, if it has any, is its own affair: once per context.

An edge cannot look into that memory. It takes a context for new when this process has not seen it, which needs no
record: an agent object begins empty with the process, and a command is told what the host remembers once more after a
restart.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from llamon_agent.domain.events import (
    COLD_START,
    NO_USABLE_TURNS,
    NOT_SUPPORTED,
    PENDING_INTERRUPT,
    THREAD_NOT_EMPTY,
    SeedOutcome,
)
from llamon_agent.domain.message import Message, Role, texts
from llamon_agent.runs.ports.agent import Turn

if TYPE_CHECKING:  # an agent that uses none of it must not load it
    from langchain_core.messages import BaseMessage
import msgspec

from llamon_agent.domain.errors import AgentError
from llamon_agent.domain.message import Data, Raw, Url


# MERGED-DOC: What a caller's message is to an agent that takes nothing but text.
def text_prompt(turn: Turn) -> str:
    """The message's text, and behind it its data, a line of JSON each.

    Raises: AgentError: the message holds a file, which must not vanish in silence.
    """
    if any(isinstance(part, Raw | Url) for part in turn.message.parts):
        raise AgentError("This agent takes text and data, but no files.")
    data = [msgspec.json.encode(part.data).decode() for part in turn.message.parts if isinstance(part, Data)]
    return "\n".join([turn.prompt, *data] if turn.prompt else data)


# MERGED-DOC: How a host's past messages become LangChain's.
#
# An edge hands its adapters the mapping that belongs to the reading of histories, as this ring may not import that one.
# Who makes an agent in a program of their own needs none of it: `plain_prefill` is what it comes to.
#
PrefillToLc = Callable[[Sequence[Message]], "list[BaseMessage]"]
"""From the host's past messages to LangChain's, in order."""


def plain_prefill(turns: Sequence[Message]) -> "list[BaseMessage]":
    """The turns' texts as messages without ids; whoever seeds them gives them their own."""
    from langchain_core.messages import AIMessage, HumanMessage

    kinds = {Role.USER: HumanMessage, Role.AGENT: AIMessage}
    return [kinds[turn.role](content="".join(texts(turn.parts))) for turn in turns]


MAX_SEEN_CONTEXTS = 100_000
"""How many contexts are remembered; one that was silent while so many others spoke counts as new again."""


class SeenContexts:
    """The threads that have taken a turn, the last ones of them.

    The run service lets one turn of a context run at a time, so between asking and taking nobody else comes.
    """

    def __init__(self, limit: int = MAX_SEEN_CONTEXTS) -> None:
        self._limit = limit
        self._threads: OrderedDict[str, None] = OrderedDict()

    def take(self, thread_id: str) -> bool:
        """Whether this is the thread's first turn; from now on it has taken one, however that ends."""
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
    """Whether the turn's history goes to the agent, and why; None when no history came.

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
