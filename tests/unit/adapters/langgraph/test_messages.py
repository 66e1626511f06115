"""Lists of messages are valid for a provider, within their window, and without two equal ids."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langgraph.graph.message import add_messages
from tests.unit.adapters.langgraph.scripted import assert_valid, calling

from llamon_agent.adapters.langgraph.messages import human_message, seedable, with_tool_results, within_window


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
def test_a_missing_result_is_put_right_after_its_call(messages: list[BaseMessage], whole: Any) -> None:
    assert shown(with_tool_results(messages)) == whole


def test_a_substituted_result_says_that_it_was_cancelled() -> None:
    whole = with_tool_results([calling("a")])
    assert whole is not None
    assert isinstance(made := whole[-1], ToolMessage)
    assert (made.status, made.name, made.id) == ("error", "a", "cancelled:None:call-a")
    assert "cancelled" in str(made.text)


def test_a_substituted_result_does_not_claim_that_nothing_was_done() -> None:
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
def test_completing_results_twice_is_completing_them_once(messages: list[BaseMessage]) -> None:
    assert with_tool_results(with_tool_results(messages) or messages) is None


@given(st.lists(piece, max_size=6))
def test_what_is_used_of_any_history_is_valid(messages: list[BaseMessage]) -> None:
    assert_valid(seedable(messages))


def numbered(count: int) -> list[BaseMessage]:
    return [
        (HumanMessage if place % 2 == 0 else AIMessage)(content=str(place), id=f"m{place}") for place in range(count)
    ]


def left(saved: list[BaseMessage], new: list[BaseMessage], window: int | None) -> list[BaseMessage]:
    merged: Any = add_messages(saved, within_window(saved, new, window))  # type: ignore[arg-type]
    return list(merged)


NOW = HumanMessage("now", id="now")


def test_without_a_window_everything_stays() -> None:
    assert within_window(numbered(40), [NOW], None) == [NOW]


def test_what_falls_out_of_the_window_is_removed_by_the_same_input() -> None:
    given_ = within_window(numbered(4), [NOW], 3)
    assert [type(message) for message in given_] == [RemoveMessage, RemoveMessage, HumanMessage]
    assert [message.id for message in left(numbered(4), [NOW], 3)] == ["m2", "m3", "now"]


def test_the_window_starts_at_a_human_message() -> None:
    assert [message.id for message in left(numbered(4), [NOW], 4)] == ["m2", "m3", "now"]


def test_seeds_beyond_the_window_are_left_out() -> None:
    assert [message.id for message in within_window([], [*numbered(4), NOW], 1)] == ["now"]


steps = st.sampled_from(["said", "tool"])


@given(st.lists(steps, max_size=8), st.integers(1, 12))
def test_a_tool_call_never_loses_its_result_and_the_current_message_stays(kinds: list[str], window: int) -> None:
    saved: list[BaseMessage] = []
    for place, kind in enumerate(kinds):
        saved.append(HumanMessage("q", id=f"q{place}"))
        if kind == "tool":
            call = calling("a").model_copy(update={"id": f"c{place}"})
            saved += [call, ToolMessage("r", tool_call_id="call-a", id=f"r{place}")]
        saved.append(AIMessage("a", id=f"a{place}"))
    kept = left(saved, [NOW], window)
    assert_valid(kept)
    assert kept[-1].id == "now"
    assert len(kept) <= window


def test_the_current_message_never_takes_an_id_that_the_thread_has() -> None:
    thread = [HumanMessage("a", id="m"), HumanMessage("b", id="m:2")]
    assert [human_message("c", wanted, thread).id for wanted in ("m", "n")] == ["m:3", "n"]


def test_a_mapping_may_be_the_result_of_a_call_and_other_entries_keep_their_places() -> None:
    asks = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "c"}])
    answered = [{"role": "user", "content": "hi"}, asks, {"role": "tool", "tool_call_id": "c", "content": "seen"}]
    assert with_tool_results(answered) is None
    whole = with_tool_results([answered[0], asks, "more"])
    assert whole is not None
    assert [whole[0], whole[1], whole[2].tool_call_id, whole[3]] == [answered[0], asks, "c", "more"]
