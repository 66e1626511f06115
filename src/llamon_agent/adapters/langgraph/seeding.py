"""The cold-start guard: a host's history goes into a thread once, while nothing was ever saved of it.

From then on the checkpointer is the source of truth. Seeds are input in front of the current message, never a state
update: an update leaves a thread that looks paused, or loses the seed. That the check and the run are one step is the
run service's doing: it holds one lock per context around both, so two first turns at once seed once.
"""

from collections.abc import Sequence

from langchain_core.messages import BaseMessage

from llamon_agent.adapters.langgraph.thread import ThreadState
from llamon_agent.adapters.langgraph.tool_history import seedable
from llamon_agent.domain.events import (
    COLD_START,
    NO_MESSAGES_CHANNEL,
    NO_USABLE_TURNS,
    PENDING_INTERRUPT,
    THREAD_NOT_EMPTY,
    SeedOutcome,
)


def decide_seeds(
    state: ThreadState, prefill: Sequence[BaseMessage], *, takes_messages: bool
) -> tuple[list[BaseMessage], str]:
    """The messages to seed, and the reason in a word.

    Shape: seeded messages get ids of their own, by place, so that equal ids of a host cannot replace each other.
    """
    if state.questions:
        return [], PENDING_INTERRUPT
    if state.exists:
        return [], THREAD_NOT_EMPTY
    if not takes_messages:
        return [], NO_MESSAGES_CHANNEL
    seeds = [message.model_copy(update={"id": f"seed:{place}"}) for place, message in enumerate(seedable(prefill))]
    return seeds, COLD_START if seeds else NO_USABLE_TURNS


def seed_outcome(received: int, seeded: int, reason: str) -> SeedOutcome | None:
    """What to tell the caller; nothing where no history came."""
    return SeedOutcome(seeded=seeded, skipped=received - seeded, reason=reason) if received else None
