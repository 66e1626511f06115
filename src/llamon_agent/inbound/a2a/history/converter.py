"""A host's history as LangChain messages, within its limit.

The limit is a promise that hosts make: at most ten entries. Whether it was kept is judged by what came, the entries
that had to be skipped included; what is seeded is the newest ten turns that could be read, so that an entry which
cannot be used takes no place from one that can.

Reading is total: any value gives a reading, because a host's mistake in its history must not cost it the answer. What
JSON decodes to is compared by exact type, so that no foreign object gets to run code of its own here. The shapes of
both dialects are read, whichever the request came in: a host may pass on what it got from another agent.

Cheap to import: LangChain is loaded by the first conversion.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, TypeGuard

import msgspec

from llamon_agent.domain.message import Message, Role, Text, texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.messages import BaseMessage

logger = logging.getLogger(__name__)

_MAX_PREFILL_TURNS = 10

_SEED_ID = "seed:"
"""What the ids of seeded messages begin with. Ids of later turns begin with a task's id, so none ever replaces a seeded
turn in a thread, nor the other way round."""


_ROLES = {"user": Role.USER, "ROLE_USER": Role.USER, "agent": Role.AGENT, "ROLE_AGENT": Role.AGENT}
"""The spellings of 0.x and 1.0, and no others."""

_OTHER_CONTENT = frozenset({"file", "data", "raw", "url"})
"""Parts that are fine but hold no text: 0.x by their kind, 1.0 by their key."""

_MAX_WARNINGS = 10
"""How many troubles of one reading are logged each; a host chooses how many there are."""

_MAX_READ = 1000
"""How many of the newest entries are looked at: ten at most can be seeded, and reading must not take long."""


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """The turns of a history, oldest first.

    Shape: received counts the entries that came, skipped those of them that are not among the turns. A turn is one
           message with one text part; its message_id is empty where the entry had none.
    """

    turns: tuple[Message, ...] = ()
    received: int = 0
    skipped: int = 0


class _Warnings:
    """What is said about one reading: the first few troubles each, the rest as a number."""

    def __init__(self) -> None:
        self._count = 0

    def add(self, position: int, why: str) -> None:
        self._count += 1
        if self._count <= _MAX_WARNINGS:
            logger.warning("metadata.history[%d]: %s", position, why)

    def close(self) -> None:
        if self._count > _MAX_WARNINGS:
            logger.warning("metadata.history: %d more of this kind", self._count - _MAX_WARNINGS)


def convert_a2a_history_to_lc(history: object) -> list[BaseMessage]:
    """The messages to seed a thread with: what a host sent as `metadata.history`, read, capped and mapped.

    Shape:  oldest first, at most ten; user becomes HumanMessage, agent becomes AIMessage. Never raises.
    """
    return prefill_to_lc(prefill(history, current_id=None).turns)


def prefill(history: object, *, current_id: str | None) -> Reading:
    """Read a history, leave out the current message, and keep the newest ten turns. Never raises."""
    return cap(drop_current(read_history(history), current_id))


def cap(reading: Reading) -> Reading:
    """Keep the newest ten turns, and log whether the host kept its promise; see the module's docstring.

    Shape:  received stays what it was, so that the task can say how many turns were left out.
    """
    if reading.received > _MAX_PREFILL_TURNS:
        logger.warning("호스트 약속(10) 초과, 최근 10턴만 시드")
    elif reading.received:
        logger.info("metadata.history 수신 — %d개", reading.received)
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


def read_history(raw: object) -> Reading:
    """Read a history, in order; never raises.

    Shape: an entry that is no turn is skipped, each with a warning; None is no history.
    """
    if raw is None:
        return Reading()
    if type(raw) is not list:
        logger.warning("metadata.history is ignored: it is not a list")
        return Reading()
    warnings = _Warnings()
    newest = enumerate(raw[-_MAX_READ:], start=max(0, len(raw) - _MAX_READ))
    turns = [turn for position, entry in newest if (turn := _read_entry(entry, position, warnings))]
    warnings.close()
    return Reading(turns=tuple(turns), received=len(raw), skipped=len(raw) - len(turns))


def drop_current(reading: Reading, message_id: str | None) -> Reading:
    """Without the last turn where that is the current message itself, which some hosts put at the end."""
    if not message_id or not reading.turns or reading.turns[-1].message_id != message_id:
        return reading
    return Reading(turns=reading.turns[:-1], received=reading.received - 1, skipped=reading.skipped)


def _read_entry(entry: object, position: int, warnings: _Warnings) -> Message | None:
    """The entry as a turn; None, and a warning, where it is none."""
    if not _is_object(entry):
        warnings.add(position, "skipped, it is not an object")
        return None
    role, parts, message_id = entry.get("role"), entry.get("parts"), entry.get("messageId")
    if type(role) is not str or role not in _ROLES:
        warnings.add(position, "skipped, its role is neither user nor agent")
        return None
    if type(parts) is not list:
        warnings.add(position, "skipped, its parts are not a list")
        return None
    read = [_read_part(part) for part in parts]
    if None in read:
        warnings.add(position, "a part that is neither text, file nor data is left out")
    text = "".join(text for text in read if text)
    if not text.strip():  # blank text too: model providers refuse it
        warnings.add(position, "skipped, it has no text")
        return None
    known_id = message_id if _is_text(message_id) else ""
    return Message(message_id=known_id, role=_ROLES[role], parts=(Text.of(text),))


def _read_part(part: object) -> str | None:
    """A part's text, empty for files and data; None: it is no part of either dialect."""
    if not _is_object(part):
        return None
    text, kind = part.get("text"), part.get("kind", "text")
    if kind == "text" and _is_text(text):
        return text
    is_other = (type(kind) is str and kind in _OTHER_CONTENT) or not _OTHER_CONTENT.isdisjoint(part)
    return "" if is_other else None


def _is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return type(value) is dict and all(type(key) is str for key in value)


def _is_text(value: object) -> TypeGuard[str]:
    """Whether it is a string that can be stored and sent: one without lone surrogates."""
    if type(value) is not str:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
