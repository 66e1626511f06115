"""What the edge adds to a run as LangChain callbacks, which reach every model and tool that the graph's code calls.

- A call for structured output is marked, so that its text is not sent. LangGraph streams each piece of a message with
  its call's metadata, which lacks the format. A callback gets every call before its first piece, with the options of
  the call, and writes a mark into the same metadata.
  Source: langgraph StreamMessagesHandler.on_chat_model_start (it keeps the object), langchain_core
  CallbackManager.on_chat_model_start (every handler gets the same one).
- Code that is not async is stopped in its thread, at the next token of a model or where it begins another call.
  LangGraph streams every model of a run whose messages are streamed, also where the code calls `invoke`.
"""

from collections.abc import Mapping
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler

from llamon_agent.adapters.worker_threads import check_not_stopped

_MARK = "llamon_structured_output"

_FORMAT = "ls_structured_output_format"
"""The key that `with_structured_output` writes into the options of a call, for every model and method."""

_PARAMS = ("response_format", "response_schema", "response_json_schema", "output_format", "format")
"""The providers' names of a format that was bound by hand: OpenAI and most others; Google; Anthropic; Ollama."""


class StructuredOutput(BaseCallbackHandler):
    """A callback that marks the calls with a structured output format. Holds no state."""

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


class StopInThread(BaseCallbackHandler):
    """A callback that ends the code of a run that is being stopped, where that runs in a thread. Holds no state.

    Raises: RunStopped, which passes through LangChain, as that takes an `Exception` only.
    """

    run_inline = True

    def on_llm_new_token(self, *args: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """A model goes on, or something begins."""
        check_not_stopped()

    on_chain_start = on_chat_model_start = on_llm_start = on_retriever_start = on_tool_start = on_llm_new_token
