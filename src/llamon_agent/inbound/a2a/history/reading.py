"""The entries of a host's history, read as turns.

Reading is total: any value gives a reading, because a host's mistake in its history must not cost it the answer. What
JSON decodes to is compared by exact type, so that no foreign object gets to run code of its own here. The shapes of
all dialects are read, whichever the request came in: a host may pass on what it got from another agent.
"""

import logging
from collections.abc import Collection

import msgspec

from llamon_agent.domain.message import Message, Role, Text, texts
from llamon_agent.inbound.a2a.history.shapes import as_a2a, is_object, is_text

logger = logging.getLogger(__name__)

_ROLES = {"user": Role.USER, "ROLE_USER": Role.USER, "agent": Role.AGENT, "ROLE_AGENT": Role.AGENT}
"""The spellings of 0.x and 1.0, and no others."""

_OTHER_CONTENT = frozenset({"file", "data", "raw", "url"})
"""Parts that are fine but hold no text: 0.x by their kind, 1.0 by their key."""

_MAX_NAMED = 3
"""How many troubles of one reading its log line names; a host chooses how many there are."""

_MAX_READ = 1000
"""How many of the newest entries are looked at: ten at most can be seeded, and reading must not take long."""


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """The turns of a history, oldest first.

    Shape: received counts the entries that came. A turn is one message with one text part; its message_id is empty
           where the entry had none. has_current says that the last entry was the current message, which is no turn.
    """

    turns: tuple[Message, ...] = ()
    received: int = 0
    has_current: bool = False


class _Troubles:
    """What is wrong with one history: one log line, with the first troubles and the number of the others."""

    def __init__(self) -> None:
        self._named: list[str] = []
        self._count = 0

    def add(self, position: int, why: str) -> None:
        self._count += 1
        if self._count <= _MAX_NAMED:
            self._named.append(f"[{position}] {why}")

    def log(self) -> None:
        if self._named:
            more = f"; and {self._count - _MAX_NAMED} more" if self._count > _MAX_NAMED else ""
            logger.warning("metadata.history: %s%s", "; ".join(self._named), more)


def read_history(raw: object, readers: Collection[str] = ()) -> Reading:
    """Read a history, in order; never raises.

    Shape: an entry that is no turn is skipped, and a warning says why; None is no history. What is no list counts as
           one entry. Besides A2A messages, the shapes that `readers` names are read.
    """
    if raw is None:
        return Reading()
    if type(raw) is not list:
        logger.warning("metadata.history is ignored: it is not a list")
        return Reading(received=1)
    troubles = _Troubles()
    newest = enumerate(raw[-_MAX_READ:], start=max(0, len(raw) - _MAX_READ))
    turns = [turn for position, entry in newest if (turn := _read_entry(entry, position, readers, troubles))]
    troubles.log()
    return Reading(turns=tuple(turns), received=len(raw))


def drop_current(reading: Reading, current: Message) -> Reading:
    """Without the last turn where that is the current message itself, which some hosts put at the end.

    It is the current message if the user says the same text in it. Its id tells nothing: hosts give copies ids of
    their own or none, and number the turns of both sides alike.
    """
    last = reading.turns[-1] if reading.turns else None
    if last is None or last.role is not Role.USER or _said(last) != _said(current):
        return reading
    return Reading(turns=reading.turns[:-1], received=reading.received, has_current=True)


def _said(message: Message) -> str:
    return "".join("".join(texts(message.parts)).split())


def _read_entry(entry: object, position: int, readers: Collection[str], troubles: _Troubles) -> Message | None:
    """The entry as a turn; None, and a trouble, where it is none."""
    if not is_object(entry):
        troubles.add(position, "is skipped, it is not an object")
        return None
    entry = as_a2a(entry, readers)
    role, message_id = entry.get("role"), entry.get("messageId")
    parts = entry.get("parts", entry.get("content"))  # `content` is what the protobuf of 0.3 calls them
    if type(role) is not str or role not in _ROLES:
        troubles.add(position, "is skipped, its role is neither user nor agent")
        return None
    if type(parts) is not list:
        troubles.add(position, "is skipped, its parts are not a list")
        return None
    read = [_read_part(part) for part in parts]
    if None in read:
        troubles.add(position, "has a part that is neither text, file nor data")
    text = "".join(text for text in read if text)
    if not text.strip():  # blank text too: model providers refuse it
        troubles.add(position, "is skipped, it has no text")
        return None
    known_id = message_id if is_text(message_id) else ""
    return Message(message_id=known_id, role=_ROLES[role], parts=(Text.of(text),))


def _read_part(part: object) -> str | None:
    """A part's text, empty for files and data; None: it is no part of either dialect."""
    if not is_object(part):
        return None
    text, kind = part.get("text"), part.get("kind", "text")
    if kind == "text" and is_text(text):
        return text
    is_other = (type(kind) is str and kind in _OTHER_CONTENT) or not _OTHER_CONTENT.isdisjoint(part)
    return "" if is_other else None
