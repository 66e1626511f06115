"""Whether an answer is whole: with a whole answer comes the reason why the model stopped, with a broken one none.

A clean end of a stream proves nothing, as a proxy or a dying server ends it in the same way. The reason in the last
chunk counts. Each package puts it under a name of its own; the values are the providers' words.
"""

import json
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage

CUT_OFF = "The model's answer broke off before it was finished."
TOO_MUCH = "The model's answer was cut off at its limit of length."
WITHHELD = "The model's provider withheld the answer, by its rules of content."
REFUSAL = "The model refused to answer."
NOTHING = "The model gave no answer; it may have refused to."
NO_CALL = "The model called a tool in a form that cannot be read."

_REASONS = ("finish_reason", "stop_reason", "stopReason", "done_reason", "done", "status")
"""Where the reason is: OpenAI and Google; Anthropic; Bedrock; Ollama (old servers: done); OpenAI's Responses."""

_ALWAYS_GIVE_REASON = frozenset({"BaseChatOpenAI", "ChatAnthropic", "ChatOllama"})
"""Classes whose whole answers always have a reason; answers of other packages may be whole without one."""

_LIMITS = ("length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded")
_RULES = (
    "content_filter",
    "refusal",
    "guardrail",
    "safety",
    "image_safety",
    "recitation",
    "blocklist",
    "prohibited_content",
    "spii",
)
_BREAKS = (
    "incomplete",
    "in_progress",
    "failed",
    "cancelled",
    "error",
    "malformed",
    "load",
    "pause_turn",
    "insufficient_system_resource",
)


def gives_reason(model: BaseChatModel) -> bool:
    """Whether a whole answer of this model always has a reason for its end."""
    return any(each.__name__ in _ALWAYS_GIVE_REASON for each in type(model).__mro__)


def flaw_of(message: AIMessage, *, gives_reason: bool) -> str | None:
    """What is wrong with an answer, for the caller; None where it is whole."""
    if _refuses(message):
        return REFUSAL
    reason = _reason(message.response_metadata)
    if reason is None:
        return CUT_OFF if gives_reason else None
    # By the beginning, as merging chunks doubles a reason that came twice.
    if reason.startswith(_LIMITS):
        return TOO_MUCH
    if reason.startswith(_RULES):
        return WITHHELD
    if reason.startswith(_BREAKS):
        return CUT_OFF
    return NO_CALL if message.invalid_tool_calls and not message.tool_calls else None


def is_empty(message: AIMessage) -> bool:
    """Whether an answer has neither content nor tool calls.

    A refusal in a stream of OpenAI's looks like this, as langchain_openai drops its words
    (_convert_delta_to_message_chunk).
    """
    content = message.content or message.additional_kwargs.get("audio")
    return not (content or message.tool_calls or message.invalid_tool_calls)


def is_json(text: str) -> bool:
    """Whether a tool call's arguments are whole; a call without arguments has an empty text.

    LangChain completes what came of them (langchain_core parse_partial_json): a tool could be called with half a path.
    """
    try:
        json.loads(text or "{}", strict=False)
    except ValueError:
        return False
    return True


def _refuses(message: AIMessage) -> bool:
    """Whether there is a refusal in place of the answer, as OpenAI's models give it."""
    blocks = message.content if isinstance(message.content, list) else []
    refusals = any(isinstance(block, dict) and block.get("type") == "refusal" for block in blocks)
    return refusals or bool(message.additional_kwargs.get("refusal"))


def _reason(metadata: dict[str, Any]) -> str | None:
    """Why the model stopped, in lower case."""
    details = metadata.get("incomplete_details")
    if isinstance(details, dict) and details.get("reason"):
        return str(details["reason"]).casefold()
    found = next((metadata[name] for name in _REASONS if metadata.get(name)), None)
    return None if found is None else str(found).casefold()
