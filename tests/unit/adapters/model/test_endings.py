from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_openai import AzureChatOpenAI
from tests.unit.adapters.langgraph.scripted import plain

from llamon_agent.adapters.model.endings import (
    CUT_OFF,
    NO_CALL,
    REFUSAL,
    TOO_MUCH,
    WITHHELD,
    flaw_of,
    gives_reason,
    is_empty,
    is_json,
)


def flaw(metadata: dict[str, Any]) -> str | None:
    return flaw_of(AIMessage("half", response_metadata=metadata), gives_reason=True)


@pytest.mark.parametrize(
    "metadata",
    [
        {"finish_reason": "stop"},
        {"finish_reason": "tool_calls"},
        {"finish_reason": "STOP"},
        {"finish_reason": "stopstop"},
        {"finish_reason": "a reason of next year"},
        {"stop_reason": "end_turn"},
        {"stop_reason": "stop_sequence"},
        {"stopReason": "end_turn"},
        {"done_reason": "stop"},
        {"done": True},
        {"status": "completed"},
    ],
)
def test_an_answer_that_its_provider_calls_done_is_whole(metadata: dict[str, Any]) -> None:
    assert flaw(metadata) is None


@pytest.mark.parametrize(
    ("metadata", "public"),
    [
        ({}, CUT_OFF),
        ({"model_provider": "openai"}, CUT_OFF),
        ({"finish_reason": None}, CUT_OFF),
        ({"done": False}, CUT_OFF),
        ({"status": "in_progress"}, CUT_OFF),
        ({"finish_reason": "error"}, CUT_OFF),
        ({"finish_reason": "MALFORMED_FUNCTION_CALL"}, CUT_OFF),
        ({"stop_reason": "pause_turn"}, CUT_OFF),
        ({"finish_reason": "length"}, TOO_MUCH),
        ({"finish_reason": "lengthlength"}, TOO_MUCH),
        ({"finish_reason": "MAX_TOKENS"}, TOO_MUCH),
        ({"stop_reason": "max_tokens"}, TOO_MUCH),
        ({"stopReason": "max_tokens"}, TOO_MUCH),
        ({"done_reason": "length", "done": True}, TOO_MUCH),
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, TOO_MUCH),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, WITHHELD),
        ({"status": "incomplete", "incomplete_details": None}, CUT_OFF),
        ({"finish_reason": "content_filter"}, WITHHELD),
        ({"finish_reason": "SAFETY"}, WITHHELD),
        ({"stop_reason": "refusal"}, WITHHELD),
        ({"stopReason": "guardrail_intervened"}, WITHHELD),
    ],
)
def test_a_half_answer_is_reported_as_one(metadata: dict[str, Any], public: str) -> None:
    assert flaw(metadata) == public


def test_an_answer_of_a_package_that_gives_no_reasons_counts_as_whole() -> None:
    assert flaw_of(AIMessage("all"), gives_reason=False) is None
    assert flaw_of(AIMessage("half", response_metadata={"finish_reason": "length"}), gives_reason=False) == TOO_MUCH


def test_a_call_that_cannot_be_read_is_no_answer() -> None:
    bad = {"name": "look", "args": "{", "id": "1", "error": None, "type": "invalid_tool_call"}
    good = {"name": "look", "args": {}, "id": "2", "type": "tool_call"}
    metadata = {"finish_reason": "tool_calls"}
    alone: Any = AIMessage("", invalid_tool_calls=[bad], response_metadata=metadata)
    beside: Any = AIMessage("", invalid_tool_calls=[bad], tool_calls=[good], response_metadata=metadata)
    assert flaw_of(alone, gives_reason=True) == NO_CALL
    assert flaw_of(beside, gives_reason=True) is None


@pytest.mark.parametrize(("text", "whole"), [("{}", True), ("", True), ('{"a": 1}', True), ('{"a": "/ho', False)])
def test_arguments_are_whole_if_they_are_json(text: str, whole: bool) -> None:
    assert is_json(text) is whole


def test_openai_and_what_is_made_of_it_always_tell() -> None:
    azure = AzureChatOpenAI(azure_endpoint="http://127.0.0.1", api_version="1", api_key="k" * 8)  # type: ignore[arg-type]
    assert gives_reason(azure)
    assert not gives_reason(plain())


@pytest.mark.parametrize(
    "message",
    [
        AIMessage("", additional_kwargs={"refusal": "I will not."}),
        AIMessage(["So: ", {"type": "refusal", "refusal": "I will not."}]),
    ],
)
def test_a_refusal_is_no_answer(message: AIMessage) -> None:
    assert flaw_of(message, gives_reason=False) == REFUSAL
    message.response_metadata = {"finish_reason": "stop"}
    assert flaw_of(message, gives_reason=True) == REFUSAL


@pytest.mark.parametrize(
    ("message", "empty"),
    [
        (AIMessage(""), True),
        (AIMessage([]), True),
        (AIMessage("a"), False),
        (AIMessage([{"type": "image", "url": "https://example.com/a.png"}]), False),
        (AIMessage("", additional_kwargs={"audio": {"data": "UklG"}}), False),
        (AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "1"}]), False),
    ],
)
def test_an_answer_without_anything_in_it_is_empty(message: AIMessage, empty: bool) -> None:
    assert is_empty(message) is empty
