"""The host's half of the history contract: past turns, in whatever form a host keeps them, as A2A messages.

Source: docs/history.md.
"""

from collections.abc import Sequence
from typing import Any, Protocol
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from llamon_agent.domain.message import Role
from llamon_agent.domain.profile import MAX_SEEDED_TURNS
from llamon_agent.wire.proto_json import ROLE_IN, ROLE_OUT


class SdkMessage(Protocol):
    """An A2A message of the official SDK, as far as it is read here."""

    @property
    def role(self) -> Any: ...
    @property
    def parts(self) -> Any: ...
    @property
    def message_id(self) -> str: ...


PastTurn = BaseMessage | tuple[str, str] | SdkMessage
"""A past turn: a LangChain message, a (role, text) pair, or an A2A message of the official SDK."""

_ROLES = {
    "user": Role.USER,
    "human": Role.USER,
    "agent": Role.AGENT,
    "assistant": Role.AGENT,
    "ai": Role.AGENT,
}


def history_out(turns: Sequence[PastTurn], version: str) -> list[dict[str, Any]]:
    """The value of `metadata.history`.

    Shape: the newest turns, oldest first; system and tool messages and turns without text are left out, and not
           counted.
    """
    read = [(role, text, message_id) for role, text, message_id in map(_turn, turns) if role is not None and text]
    return [_message_out(*turn, version) for turn in read[-MAX_SEEDED_TURNS:]]


def _turn(turn: PastTurn) -> tuple[Role | None, str, str | None]:
    """The role, the text and the id of a turn; no role for a turn of neither side."""
    match turn:
        case HumanMessage():
            return Role.USER, str(turn.text), turn.id
        case AIMessage():
            return Role.AGENT, str(turn.text), turn.id
        case BaseMessage():
            return None, "", None
        case (role_name, text):
            return _ROLES.get(role_name), text, None
    return ROLE_IN.get(turn.role), "".join(part.text for part in turn.parts), turn.message_id or None


def _message_out(role: Role, text: str, message_id: str | None, version: str) -> dict[str, Any]:
    """One turn on the wire. Source: A2A 1.0 §4.1.4; 0.3 §6.4."""
    named = {"messageId": message_id or uuid4().hex}
    if version == "0.3":
        return {**named, "kind": "message", "role": role.value, "parts": [{"kind": "text", "text": text}]}
    return {**named, "role": ROLE_OUT[role], "parts": [{"text": text}]}
