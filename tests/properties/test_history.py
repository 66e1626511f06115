from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage

from llamon_agent.inbound.a2a.history import convert_a2a_history_to_lc
from llamon_agent.inbound.a2a.history.converter import drop_current, read_history

words = st.text(max_size=5)
parts = st.one_of(
    st.fixed_dictionaries({"kind": st.sampled_from(["text", "file", "data", "x"]) | words, "text": words}),
    st.fixed_dictionaries({"text": words | st.none()}),
    words,
)
entries = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "agent", "ROLE_USER", "ROLE_AGENT", "system"]) | words},
    optional={"parts": st.lists(parts, max_size=3) | words, "messageId": st.sampled_from(["m1", "m2"]) | st.integers()},
)
anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.binary(max_size=4)
    | st.text(st.characters(), max_size=4)
    | st.builds(object)
    | entries,
    lambda inner: (
        st.lists(inner, max_size=14)
        | st.tuples(inner)
        | st.dictionaries(st.sampled_from(["role", "parts", "text", "kind"]) | st.integers(), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(anything)
def test_any_value_is_converted_and_stays_within_the_cap(value: object) -> None:
    messages = convert_a2a_history_to_lc(value)
    assert len(messages) <= 10
    assert all(type(message) in (HumanMessage, AIMessage) and message.text.strip() for message in messages)
    assert len({message.id for message in messages}) == len(messages)


@given(st.lists(entries, max_size=25))
def test_the_seed_is_the_end_of_what_could_be_read_in_order(history: list[dict[str, Any]]) -> None:
    reading = read_history(history)
    assert reading.received == len(history) == len(reading.turns) + reading.skipped
    read = ["".join(part.text for part in turn.parts if hasattr(part, "text")) for turn in reading.turns]
    assert [message.content for message in convert_a2a_history_to_lc(history)] == read[-10:]


@given(st.lists(entries, max_size=5), st.sampled_from(["m1", "m2"]))
def test_dropping_the_current_message_takes_at_most_the_last_turn(history: list[dict[str, Any]], current: str) -> None:
    before, after = read_history(history), drop_current(read_history(history), current)
    dropped = len(before.turns) - len(after.turns)
    assert dropped in (0, 1)
    assert before.turns[: len(after.turns)] == after.turns
    assert after.received == len(after.turns) + after.skipped
