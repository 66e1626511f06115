"""Other shapes in which hosts keep a conversation, brought into that of A2A.

Each has a name in `a2a.history.readers`, and says by itself what it is: an A2A message has `parts` without a `type`.
Nothing here decides what a turn is: roles that are neither side's, and entries without text, are left as they are.

Source: https://ai-sdk.dev/docs/reference/ai-sdk-core/ui-message (UIMessage, also VoltAgent's);
        https://ai-sdk.dev/docs/reference/ai-sdk-core/model-message (role and content);
        microsoft/CopilotStudioSamples, extensibility/a2a (chathistory).
"""

from collections.abc import Callable, Collection
from typing import Any, TypeGuard

from llamon_agent.domain.message import Metadata

HISTORY = "history"
"""The metadata key under which a host sends the turns before this message."""
CHAT_HISTORY = "copilotstudio.microsoft.com/a2a/chathistory"
"""The key under which Copilot Studio sends them."""

ROLE_CONTENT = "role-content"
UI_MESSAGE = "ui-message"
COPILOT_STUDIO = "copilot-studio"

Entry = dict[str, Any]

_ROLES = {"user": "user", "assistant": "agent", "agent": "agent"}
_TEXT_TYPES = frozenset({"text", "input_text", "output_text"})
_USER_NAMES = frozenset({"", "user"})


def history_keys(readers: Collection[str]) -> tuple[str, ...]:
    """The metadata keys under which a host may send its history."""
    return (HISTORY, CHAT_HISTORY) if COPILOT_STUDIO in readers else (HISTORY,)


def take_history(metadata: Metadata, readers: Collection[str]) -> object:
    """Take the host's history out of the metadata, under whichever key it came; None: there is none."""
    taken = {key: metadata.pop(key, None) for key in history_keys(readers)}
    history, rows = taken[HISTORY], taken.get(CHAT_HISTORY)
    return _of_copilot_studio(rows) if history is None and rows is not None else history


def as_a2a(entry: Entry, readers: Collection[str]) -> Entry:
    """The entry as an A2A message, where it has one of the shapes that may be read; else as it is."""
    for name in readers:
        translate = _TRANSLATIONS.get(name)
        if translate is not None and (translated := translate(entry)) is not None:
            return translated
    return entry


def is_object(value: object) -> TypeGuard[Entry]:
    return type(value) is dict and all(type(key) is str for key in value)


def is_text(value: object) -> TypeGuard[str]:
    """Whether it is a string that can be stored and sent: one without lone surrogates."""
    if type(value) is not str:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _of_ui_message(entry: Entry) -> Entry | None:
    """A UIMessage: parts with a `type`. Files, tool calls, reasoning and steps are no text of the conversation."""
    return _of_typed(entry, entry.get("parts"))


def _of_role_content(entry: Entry) -> Entry | None:
    """`{role, content}`, whose content is a text or typed parts."""
    content = entry.get("content")
    if "parts" in entry:
        return None
    return _of_typed(entry, [{"type": "text", "text": content}] if type(content) is str else content)


def _of_typed(entry: Entry, parts: object) -> Entry | None:
    role = entry.get("role")
    if type(role) is not str or role not in _ROLES or type(parts) is not list or not parts:
        return None
    if not all(is_object(part) and type(part.get("type")) is str and "kind" not in part for part in parts):
        return None
    said = [{"text": part.get("text")} for part in parts if part["type"] in _TEXT_TYPES]
    return {"role": _ROLES[role], "parts": said, "messageId": entry.get("id", entry.get("messageId"))}


def _of_copilot_studio(rows: object) -> object:
    """Rows of Copilot Studio: a list of them, or optional values that hold such lists."""
    lists = [each.get("Value") if is_object(each) and "Value" in each else [each] for each in _as_list(rows)]
    return [_of_row(row) for each in lists for row in _as_list(each)]


def _as_list(value: object) -> list[Any]:
    if value is None:
        return []
    return value if type(value) is list else [value]


def _of_row(row: object) -> object:
    """A row's author is the user where it is named so or not at all, else the agent, by the name of its schema."""
    if not is_object(row) or "Text" not in row:
        return row
    author = row.get("From") or ""
    if type(author) is not str:
        return row
    role = "user" if author.lower() in _USER_NAMES else "agent"
    return {"role": role, "parts": [{"text": row["Text"]}]}


_TRANSLATIONS: dict[str, Callable[[Entry], Entry | None]] = {
    UI_MESSAGE: _of_ui_message,
    ROLE_CONTENT: _of_role_content,
}
