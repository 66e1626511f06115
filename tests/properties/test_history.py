from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage

from llamon_agent.domain.message import Message, Role, Text
from llamon_agent.inbound.a2a.history import convert_a2a_history_to_lc
from llamon_agent.inbound.a2a.history.reading import drop_current, read_history
from llamon_agent.inbound.a2a.history.shapes import CHAT_HISTORY, COPILOT_STUDIO, ROLE_CONTENT, UI_MESSAGE, take_history

READERS = (ROLE_CONTENT, UI_MESSAGE, COPILOT_STUDIO)

words = st.text(max_size=5)
parts = st.one_of(
    st.fixed_dictionaries({"type": st.sampled_from(["text", "reasoning"]) | words, "text": words}),
    st.fixed_dictionaries({"kind": st.sampled_from(["text", "file", "data", "x"]) | words, "text": words}),
    st.fixed_dictionaries({"text": words | st.none()}),
    words,
)
entries = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "agent", "ROLE_USER", "ROLE_AGENT", "assistant", "system"]) | words},
    optional={
        "parts": st.lists(parts, max_size=3) | words,
        "content": st.lists(parts, max_size=3) | words,
        "messageId": st.sampled_from(["m1", "m2"]) | st.integers(),
    },
)
KEYS = ["role", "parts", "content", "type", "text", "kind", "Value", "From", "Text"]
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
        | st.dictionaries(st.sampled_from(KEYS) | st.integers(), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(anything, st.sampled_from(["history", CHAT_HISTORY]), st.sets(st.sampled_from(READERS)))
def test_any_value_is_converted_and_stays_within_the_cap(value: object, key: str, readers: set[str]) -> None:
    messages = convert_a2a_history_to_lc(take_history({key: value}, readers), readers=readers)
    assert len(messages) <= 10
    assert all(type(message) in (HumanMessage, AIMessage) and message.text.strip() for message in messages)
    assert len({message.id for message in messages}) == len(messages)


@given(st.lists(entries, max_size=25))
def test_the_seed_is_the_end_of_what_could_be_read_in_order(history: list[dict[str, Any]]) -> None:
    reading = read_history(history)
    assert reading.received == len(history) >= len(reading.turns)
    read = ["".join(part.text for part in turn.parts if hasattr(part, "text")) for turn in reading.turns]
    assert [message.content for message in convert_a2a_history_to_lc(history)] == read[-10:]


@given(st.lists(entries, max_size=5), words)
def test_dropping_the_current_message_takes_at_most_the_last_turn(history: list[dict[str, Any]], text: str) -> None:
    current = Message(message_id="m1", role=Role.USER, parts=(Text.of(text),))
    before = read_history(history, READERS)
    after = drop_current(before, current)
    assert len(before.turns) - len(after.turns) == after.has_current
    assert before.turns[: len(after.turns)] == after.turns
    assert after.received == before.received
