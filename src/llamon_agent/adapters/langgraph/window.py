"""Optional memory: a thread keeps its newest messages only, cut by LangChain's own trimming.

The window starts at a human message, so a tool call never loses its result, and it always holds the current one. What
falls out of it is removed from the thread by the same input that brings the current message.
"""

from collections.abc import Sequence

from langchain_core.messages import BaseMessage, RemoveMessage, trim_messages
from langgraph.channels.binop import BinaryOperatorAggregate
from langgraph.graph.message import add_messages

from llamon_agent.adapters.langgraph.thread import MESSAGES, Graph
from llamon_agent.domain.errors import ConfigError


def within_window(
    saved: Sequence[BaseMessage], new: Sequence[BaseMessage], window_size: int | None
) -> list[BaseMessage]:
    """The input that leaves the thread with its window.

    Shape: removals of saved messages first, then those of the new messages that are kept; None is no limit.
    Units: window_size counts messages, from 1.
    """
    if window_size is None:
        return list(new)
    kept = {message.id for message in _window([*saved, *new], window_size)}
    removed = [RemoveMessage(id=message.id) for message in saved if message.id and message.id not in kept]
    return [*removed, *(message for message in new if message.id in kept)]


def check_memory(graph: Graph, window_size: int | None, target: str) -> None:
    """Refuse a window that could not be kept. Raises: ConfigError."""
    if window_size is None:
        return
    if window_size < 1:
        raise ConfigError(f"The target {target!r}: window_size counts messages and must be at least 1.")
    channel = graph.channels.get(MESSAGES)
    if not (isinstance(channel, BinaryOperatorAggregate) and channel.operator is add_messages):
        raise ConfigError(
            f"The target {target!r}: window_size needs a state whose 'messages' use add_messages, as only those can be "
            "removed; leave window_size out."
        )


def _window(messages: list[BaseMessage], window_size: int) -> list[BaseMessage]:
    kept: list[BaseMessage] = trim_messages(
        messages, max_tokens=window_size, token_counter=len, strategy="last", start_on="human", include_system=True
    )
    return kept or messages[-1:]
