from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from tests.unit.adapters.langgraph.scripted import assert_valid, calling

from llamon_agent.adapters.langgraph.tool_history import seedable, with_tool_results


def result(name: str) -> ToolMessage:
    return ToolMessage("done", tool_call_id=f"call-{name}")


def shown(messages: list[BaseMessage] | None) -> Any:
    return messages and [getattr(message, "tool_call_id", None) or message.type for message in messages]


@pytest.mark.parametrize(
    ("messages", "whole"),
    [
        ([HumanMessage("q"), AIMessage("a")], None),
        ([calling("a"), result("a")], None),
        ([calling("a")], ["ai", "call-a"]),
        ([calling("a", "b"), result("b")], ["ai", "call-b", "call-a"]),
        ([calling("a"), HumanMessage("q")], ["ai", "call-a", "human"]),
        ([calling("a"), calling("b"), HumanMessage("q")], ["ai", "call-a", "ai", "call-b", "human"]),
        ([calling("a"), result("a"), calling("a")], ["ai", "call-a", "ai", "call-a"]),
        ([], None),
    ],
)
def test_a_missing_result_is_put_right_behind_its_call(messages: list[BaseMessage], whole: Any) -> None:
    assert shown(with_tool_results(messages)) == whole


def test_a_mended_result_says_that_it_was_cancelled() -> None:
    whole = with_tool_results([calling("a")])
    assert whole is not None
    assert isinstance(made := whole[-1], ToolMessage)
    assert (made.status, made.name, made.id) == ("error", "a", "cancelled:None:call-a")
    assert "cancelled" in str(made.text)


def test_a_mended_result_does_not_claim_that_nothing_was_done() -> None:
    """A call beside it may have finished, and its result was lost with the step: a model must not simply repeat it."""
    whole = with_tool_results([calling("a", "b"), result("b")])
    assert whole is not None
    assert "may have been carried out" in str(whole[-1].text)


@pytest.mark.parametrize(
    ("messages", "kept"),
    [
        ([result("a")], None),
        ([calling("a")], ["ai", "call-a"]),
        ([calling("a"), result("a"), AIMessage("x")], ["ai", "call-a", "ai"]),
        ([calling("a"), result("a"), result("a")], ["ai", "call-a"]),
        ([calling("a"), HumanMessage("q"), result("a")], ["ai", "call-a", "human"]),
        ([HumanMessage("q"), SystemMessage("s"), AIMessage("a")], ["human", "ai"]),
        ([AIMessage("a"), AIMessage("b")], ["ai", "ai"]),
        ([RemoveMessage(id="x"), HumanMessage("q")], ["human"]),
    ],
)
def test_of_a_foreign_history_only_what_is_valid_is_used(messages: list[BaseMessage], kept: Any) -> None:
    assert (shown(seedable(messages)) or None) == kept


piece = st.sampled_from("hosab").map(
    lambda kind: {
        "h": HumanMessage("q"),
        "o": AIMessage("a"),
        "s": SystemMessage("s"),
        "a": calling("a"),
        "b": result("a"),
    }[kind]
)


@given(st.lists(piece, max_size=6))
def test_mending_twice_is_mending_once(messages: list[BaseMessage]) -> None:
    assert with_tool_results(with_tool_results(messages) or messages) is None


@given(st.lists(piece, max_size=6))
def test_what_is_used_of_any_history_is_valid(messages: list[BaseMessage]) -> None:
    assert_valid(seedable(messages))
