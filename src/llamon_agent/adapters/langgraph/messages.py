"""The lists of messages that a thread holds, and those that may be put into it.

- A model provider refuses a history in which a tool call has no result, or a result no call. A tool that was cancelled,
  or whose process died, leaves such a call, and with it every later turn of the conversation would fail.
- A message whose id the thread has would replace the old one in its place (langgraph add_messages).
- With a window a thread keeps its newest messages only, cut by LangChain's own trimming. The window starts at a human
  message, so a tool call never loses its result, and it always holds the current message. The input that brings the
  current message also removes those that fall out of the window.
"""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
    convert_to_messages,
    trim_messages,
)
from pydantic import BaseModel

MESSAGES = "messages"
"""The state key of a graph's messages."""

CANCELLED_RESULT = "The run was cancelled before this call's result was kept; it may have been carried out."


def messages_in(values: Any) -> tuple[BaseMessage, ...]:
    """The messages of a state; none where it keeps none."""
    found = values.get(MESSAGES) if isinstance(values, dict) else None
    return tuple(message for message in found if isinstance(message, BaseMessage)) if isinstance(found, list) else ()


def entries_in(values: Any) -> list[Any]:
    """The entries of a state's messages as they are. A value that is no list is the only entry."""
    found = values.get(MESSAGES) if isinstance(values, dict) else None
    return found if isinstance(found, list) else [] if found is None else [found]


def readable_messages(values: Any) -> list[BaseMessage]:
    """The messages of a state, for reading; also those of a key without LangGraph's reducer of messages.

    Shape: such a key holds messages as the graph wrote them: also mappings, pairs or strings, as LangChain takes them,
           or pydantic models of such mappings. A string is a human message. The id of such a message is its place.
    """
    entries = enumerate(entries_in(values))
    return [message for place, each in entries if (message := _message(each, str(place))) is not None]


def unreadable_entries(values: Any) -> list[Any]:
    """The entries of a state's messages that are no messages in any form."""
    return [each for each in entries_in(values) if _message(each, "") is None]


def with_tool_results(messages: Sequence[Any]) -> list[Any] | None:
    """The history with a result for every tool call; None where none is missing.

    Shape: a missing result comes after its AI message and the results that are there; everything else keeps its place.
           Calls are matched by place as well as by id, as some models number their calls anew each time. Entries may
           also be of other kinds, of which only mappings that are results of tool calls matter.
    """
    whole: list[Any] = []
    missing: dict[str, BaseMessage] = {}
    for message in messages:
        if (call_id := _call_of_result(message)) is not None:
            missing.pop(call_id, None)
        else:
            whole += missing.values()
            missing = _results_for(message)
        whole.append(message)
    whole += missing.values()
    return whole if len(whole) > len(messages) else None


def seedable(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The messages of a host's history that may begin a conversation.

    Shape: human and AI messages, and tool results that follow their call. System messages are left out, as the graph
           has its own and providers take one at the front only; so is everything that would change the thread.
    """
    kept: list[BaseMessage] = []
    open_calls: set[str] = set()
    for message in messages:
        if isinstance(message, HumanMessage | AIMessage):
            open_calls = set(_results_for(message))
        elif not isinstance(message, ToolMessage) or message.tool_call_id not in open_calls:
            continue
        else:
            open_calls.remove(message.tool_call_id)
        kept.append(message)
    return with_tool_results(kept) or kept


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


def human_message(
    content: str | list[str | dict[str, Any]], wanted_id: str, thread: Sequence[BaseMessage]
) -> HumanMessage:
    """The current message, with an id that the thread does not have yet, as hosts reuse their message ids."""
    taken = {message.id for message in thread}
    new_id, count = wanted_id, 1
    while new_id in taken:
        count += 1
        new_id = f"{wanted_id}:{count}"
    return HumanMessage(content=content, id=new_id)


def _call_of_result(entry: Any) -> Any:
    """The id of the tool call that an entry is the result of; None for any other entry."""
    if isinstance(entry, ToolMessage):
        return entry.tool_call_id
    return entry.get("tool_call_id") if isinstance(entry, dict) else None


def _results_for(message: Any) -> dict[str, BaseMessage]:
    """The substitutes for missing results of a message's tool calls, by call id."""
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    return {
        call_id: ToolMessage(
            content=CANCELLED_RESULT,
            tool_call_id=call_id,
            name=call["name"],
            status="error",
            id=f"cancelled:{message.id}:{call_id}",
        )
        for call in calls
        if (call_id := call["id"]) is not None
    }


def _window(messages: list[BaseMessage], window_size: int) -> list[BaseMessage]:
    kept: list[BaseMessage] = trim_messages(
        messages, max_tokens=window_size, token_counter=len, strategy="last", start_on="human", include_system=True
    )
    return kept or messages[-1:]


def _message(value: Any, new_id: str) -> BaseMessage | None:
    if isinstance(value, BaseMessage):
        return value
    plain = value.model_dump() if isinstance(value, BaseModel) else value
    if not isinstance(plain, dict | tuple | str):
        return None
    try:
        [message] = convert_to_messages([plain])
    except (ValueError, LookupError, TypeError, NotImplementedError):  # it is not a message
        return None
    return message if message.id else message.model_copy(update={"id": new_id})
