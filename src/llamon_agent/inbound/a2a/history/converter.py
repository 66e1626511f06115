"""A host's history as LangChain messages, within its limit.

The limit is a promise that hosts make: at most ten entries. Whether it was kept is judged by what came, the entries
that had to be skipped included; what is seeded is the newest ten turns that could be read, so that an entry which
cannot be used takes no place from one that can.

Cheap to import: LangChain is loaded by the first conversion.
"""

from __future__ import annotations

import logging
from itertools import dropwhile
from typing import TYPE_CHECKING

import msgspec

from llamon_agent.domain.message import Message, Role, texts
from llamon_agent.inbound.a2a.history.reading import Reading, drop_current, read_history

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from langchain_core.messages import BaseMessage

logger = logging.getLogger(__name__)

_MAX_PREFILL_TURNS = 10

_SEED_ID = "seed:"
"""What the ids of seeded messages begin with. Ids of later turns begin with a task's id, so none ever replaces a seeded
turn in a thread, nor the other way round."""


def convert_a2a_history_to_lc(history: object, *, readers: Collection[str] = ()) -> list[BaseMessage]:
    """The messages to seed a thread with: what a host sent as `metadata.history`, read, capped and mapped.

    Shape:  oldest first, at most ten; user becomes HumanMessage, agent becomes AIMessage. A2A messages are read, and
            the other shapes that `readers` names. Never raises.
    """
    return prefill_to_lc(cap(read_history(history, readers)).turns)


def prefill(history: object, *, current: Message, readers: Collection[str] = ()) -> Reading:
    """Read a history, leave out the current message, and keep the newest ten turns. Never raises.

    Shape:  a history that is cut here begins with a turn of the user, as some model providers refuse any other.
    """
    read = drop_current(read_history(history, readers), current)
    capped = cap(read)
    if len(capped.turns) == len(read.turns):
        return capped
    turns = dropwhile(lambda turn: turn.role is Role.AGENT, capped.turns)
    return msgspec.structs.replace(capped, turns=tuple(turns))


def cap(reading: Reading) -> Reading:
    """Keep the newest ten turns, and log whether the host kept its promise; see the module's docstring.

    Shape:  received stays what it was, so that the task can say how many turns were left out.
    """
    promised = reading.received - reading.has_current
    if promised > _MAX_PREFILL_TURNS:
        logger.warning("호스트 약속(10) 초과, 최근 10턴만 시드")
    elif promised:
        logger.info("metadata.history 수신 — %d개", promised)
    return msgspec.structs.replace(reading, turns=reading.turns[-_MAX_PREFILL_TURNS:])


def prefill_to_lc(turns: Sequence[Message]) -> list[BaseMessage]:
    """Turns as LangChain messages, in order, with ids that are stable and differ from each other.

    LangGraph's add_messages replaces a message by one of the same id, in its place; a host that uses an id twice must
    not lose a turn by it.
    """
    from langchain_core.messages import AIMessage, HumanMessage

    ids: set[str] = set()
    messages: list[BaseMessage] = []
    for position, turn in enumerate(turns):
        seed_id = _SEED_ID + (turn.message_id or str(position))
        while seed_id in ids:
            seed_id += f"#{position}"
        ids.add(seed_id)
        kind = AIMessage if turn.role is Role.AGENT else HumanMessage
        messages.append(kind(content="".join(texts(turn.parts)), id=seed_id))
    return messages
