import operator
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from tests.unit.adapters.langgraph.scripted import assert_valid, calling, chat_graph, plain
from typing_extensions import TypedDict

from llamon_agent.adapters.langgraph.window import check_memory, within_window
from llamon_agent.domain.errors import ConfigError


def told(count: int) -> list[BaseMessage]:
    return [
        (HumanMessage if place % 2 == 0 else AIMessage)(content=str(place), id=f"m{place}") for place in range(count)
    ]


def left(saved: list[BaseMessage], new: list[BaseMessage], window: int | None) -> list[BaseMessage]:
    merged: Any = add_messages(saved, within_window(saved, new, window))  # type: ignore[arg-type]
    return list(merged)


NOW = HumanMessage("now", id="now")


def test_without_a_window_everything_stays() -> None:
    assert within_window(told(40), [NOW], None) == [NOW]


def test_what_falls_out_of_the_window_is_removed_by_the_same_input() -> None:
    given_ = within_window(told(4), [NOW], 3)
    assert [type(message) for message in given_] == [RemoveMessage, RemoveMessage, HumanMessage]
    assert [message.id for message in left(told(4), [NOW], 3)] == ["m2", "m3", "now"]


def test_the_window_starts_at_a_human_message() -> None:
    assert [message.id for message in left(told(4), [NOW], 4)] == ["m2", "m3", "now"]


def test_seeds_beyond_the_window_are_left_out() -> None:
    assert [message.id for message in within_window([], [*told(4), NOW], 1)] == ["now"]


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


class Plus(TypedDict):
    messages: Annotated[list[Any], operator.add]


def plus_graph() -> Any:
    builder = StateGraph(Plus)
    builder.add_node("node", lambda state: {"messages": []})
    builder.add_edge(START, "node")
    return builder.compile()


def test_a_window_needs_messages_that_can_be_removed() -> None:
    check_memory(plus_graph(), None, "t")
    check_memory(chat_graph(plain()), 4, "t")
    with pytest.raises(ConfigError, match="add_messages"):
        check_memory(plus_graph(), 4, "t")
    with pytest.raises(ConfigError, match="at least 1"):
        check_memory(chat_graph(plain()), 0, "t")
