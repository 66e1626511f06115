"""Lists of LangChain messages that a provider accepts: every tool call has its result, and every result its call.

A tool that was cancelled, or whose process died, leaves a call without a result; a model provider refuses such a
history, and with it every later turn of the conversation.
"""

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

CANCELLED_RESULT = "The run was cancelled before this call's result was kept; it may have been carried out."


def with_tool_results(messages: Sequence[BaseMessage]) -> list[BaseMessage] | None:
    """The history with a result for every tool call; None where there is nothing to mend.

    Shape: a missing result is put behind its AI message and behind the results that are there; everything else keeps
           its place. Calls are matched by place as well as by id, as some models number their calls anew each time.
    """
    whole: list[BaseMessage] = []
    missing: dict[str, BaseMessage] = {}
    for message in messages:
        if isinstance(message, ToolMessage):
            missing.pop(message.tool_call_id, None)
        else:
            whole += missing.values()
            missing = _results_for(message)
        whole.append(message)
    whole += missing.values()
    return whole if len(whole) > len(messages) else None


def seedable(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """What of a foreign history may be put in front of a conversation.

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


def _results_for(message: BaseMessage) -> dict[str, BaseMessage]:
    """By call id, the results that stand in where a message's tool calls have none."""
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
