"""Which calls of a model carry a structured output format: their text is for the graph's code, and is never spoken.

Theory. LangGraph streams each piece of a message with its call's metadata, in which the format is not. A callback hears
of every call before its first piece, with the options of the call, and writes a mark into the same metadata.
Source: langgraph StreamMessagesHandler.on_chat_model_start (it keeps the object), langchain_core
CallbackManager.on_chat_model_start (every handler is given the same one).
"""

from collections.abc import Mapping
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler

_MARK = "llamon_structured_output"

_FORMAT = "ls_structured_output_format"
"""What `with_structured_output` leaves in the options of a call, whatever the model and the method."""

_PARAMS = ("response_format", "response_schema", "response_json_schema", "output_format", "format")
"""What providers call a format that was bound by hand: OpenAI and most others; Google; Anthropic; Ollama."""


class StructuredOutput(BaseCallbackHandler):
    """Marks the calls that carry a format. Holds no state."""

    run_inline = True

    def on_chat_model_start(self, *args: Any, metadata: dict[str, Any] | None = None, **kwargs: Any) -> None:  # noqa: ARG002
        """A call begins."""
        if metadata is not None and _has_format(kwargs.get("options") or {}, kwargs.get("invocation_params") or {}):
            metadata[_MARK] = True


def is_structured(metadata: Mapping[str, Any]) -> bool:
    """Whether a streamed message comes from a call that was marked."""
    return _MARK in metadata


def _has_format(options: Mapping[str, Any], params: Mapping[str, Any]) -> bool:
    return bool(options.get(_FORMAT)) or any(map(_is_format, map(params.get, _PARAMS)))


def _is_format(value: Any) -> bool:
    """OpenAI's format `text` is what a call has anyway."""
    return bool(value) and not (isinstance(value, Mapping) and value.get("type") == "text")
