"""Which message of a run is its answer.

- The last AI message that has text or a file and calls no tools. An empty message may follow, as models sometimes end
  with one.
- Text next to tool calls counts only if there is no such message: it says what the model is about to do.
- If the last AI message only calls tools and the run ends with a result (a tool with return_direct), the result is the
  answer, as every reader takes the last message.
- A hand-off between agents is never the answer. langgraph-supervisor writes AI messages and results for its hand-offs
  and marks them; those of langgraph-swarm are plain results of a tool call, followed by the other agent's answer.
  Source: langgraph_supervisor.handoff.
- A node that returns a bare string means an answer, but LangGraph makes it a human message. So if the run added no AI
  message, and the last message that it added is a human one that the caller did not send, that one is the answer.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from llamon_agent.adapters.langgraph.messages import readable_messages, unreadable_entries

FILES = frozenset({"image", "audio", "video", "file", "text-plain"})
"""The types of the content blocks that hold a file. Source: langchain_core.messages.content."""

_HANDOFF = "__handoff_destination"
_HANDOFF_BACK = "__is_handoff_back"


def added_messages(before: Any, after: Any) -> list[BaseMessage]:
    """The messages that a run added or changed, from the state at its start and at its end."""
    return new_among(readable_messages(after), before)


def new_among(messages: Iterable[BaseMessage], before: Any) -> list[BaseMessage]:
    """Those of the messages that the state before does not have, or not with this content."""
    known = {message.id: (message.type, message.content) for message in readable_messages(before)}
    return [message for message in messages if known.get(message.id) != (message.type, message.content)]


def answer_of(added: Sequence[BaseMessage]) -> BaseMessage | None:
    """The answer among the messages that a run added; it may be empty. None: there is no message that answers."""
    messages = [message for message in added if not _is_handoff(message)]
    from_models = [message for message in messages if isinstance(message, AIMessage)]
    if not from_models:
        return None
    if _only_calls(from_models[-1]) and isinstance(messages[-1], ToolMessage):
        return messages[-1]
    with_content = [message for message in from_models if _has_content(message)]
    final = [message for message in with_content if not message.tool_calls]
    return (final or with_content or from_models)[-1]


def string_of_node(
    added: Sequence[BaseMessage], before: Any, is_sent: Callable[[BaseMessage], bool]
) -> BaseMessage | None:
    """The human message that a run added as its answer.

    Shape: is_sent says whether the caller sent a message. One with an id of the state before was only rewritten.
    """
    if not added or any(isinstance(message, AIMessage) for message in added):
        return None
    last = added[-1]
    is_old = any(message.id == last.id for message in readable_messages(before))
    return last if isinstance(last, HumanMessage) and not is_old and not is_sent(last) else None


def kinds_added(before: Any, after: Any) -> list[str]:
    """The kinds of the messages that a run added, for the log.

    Shape: if it added no message, the types of the entries that cannot be read as one.
    """
    added = added_messages(before, after)
    old = {id(entry) for entry in unreadable_entries(before)}
    unread = [entry for entry in unreadable_entries(after) if id(entry) not in old]
    return [_kind(message) for message in added] or [type(entry).__name__ for entry in unread]


def _kind(message: BaseMessage) -> str:
    if _is_handoff(message):
        return "hand-off"
    if not isinstance(message, AIMessage):
        return message.type
    return "ai with tool calls" if message.tool_calls else "ai without text"


def is_handoff_back(message: BaseMessage) -> bool:
    """Whether langgraph-supervisor wrote this message as an agent handed control back."""
    return bool(message.response_metadata.get(_HANDOFF_BACK))


def _is_handoff(message: BaseMessage) -> bool:
    return is_handoff_back(message) or bool(message.response_metadata.get(_HANDOFF))


def _only_calls(message: AIMessage) -> bool:
    return bool(message.tool_calls) and not message.text


def _has_content(message: AIMessage) -> bool:
    if message.text or isinstance(message.content, str):
        return bool(message.text)
    return any(block["type"] in FILES for block in message.content_blocks)
