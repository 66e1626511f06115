"""The host's half of the history contract: past turns, in whatever form a host keeps them, as A2A messages.

Source: docs/history.md.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any
from uuid import uuid4

from a2a.types import a2a_pb2 as pb
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from llamon_agent.domain.message import Role

MAX_TURNS = 10
"""How many turns are sent, the newest; an edge seeds no more than that."""

PastTurn = BaseMessage | tuple[str, str] | pb.Message
"""A past turn: a LangChain message, a (role, text) pair, or an A2A message of the official SDK."""

_ROLES = {
    "user": Role.USER,
    "human": Role.USER,
    "agent": Role.AGENT,
    "assistant": Role.AGENT,
    "ai": Role.AGENT,
}


class Dialect(StrEnum):
    """The wire version that is spoken with a remote agent."""

    V03 = "0.3"
    V10 = "1.0"


def history_out(turns: Sequence[PastTurn], dialect: Dialect) -> list[dict[str, Any]]:
    """The value of `metadata.history`.

    Shape: the newest turns, oldest first; system and tool messages and turns without text are left out, and not
           counted.
    """
    said = [(role, text, message_id) for role, text, message_id in map(_turn, turns) if role is not None and text]
    return [_message_out(*turn, dialect) for turn in said[-MAX_TURNS:]]


def _turn(turn: PastTurn) -> tuple[Role | None, str, str | None]:
    """Who said what, under which id."""
    match turn:
        case HumanMessage():
            return Role.USER, str(turn.text), turn.id
        case AIMessage():
            return Role.AGENT, str(turn.text), turn.id
        case BaseMessage():
            return None, "", None
        case pb.Message():
            role = {pb.Role.ROLE_USER: Role.USER, pb.Role.ROLE_AGENT: Role.AGENT}.get(turn.role)
            return role, "".join(part.text for part in turn.parts), turn.message_id or None
        case (role_name, text):
            return _ROLES.get(role_name), text, None


def _message_out(role: Role, text: str, message_id: str | None, dialect: Dialect) -> dict[str, Any]:
    """One turn on the wire. Source: A2A 1.0 §4.1.4; 0.3 §6.4."""
    named = {"messageId": message_id or uuid4().hex}
    if dialect is Dialect.V03:
        return {**named, "kind": "message", "role": role.value, "parts": [{"kind": "text", "text": text}]}
    return {**named, "role": f"ROLE_{role.name}", "parts": [{"text": text}]}
