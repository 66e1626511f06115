"""Namespaces as tables keep them: exact under every pattern, and read back as they were."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.base import ListNamespacesOp, MatchCondition

from llamon_agent.adapters.langgraph.stores.namespaces import Namespace, label_of, listed, read, written

labels = st.text(st.characters(exclude_categories=["Cs"]), max_size=4) | st.text("aA_%*.1/=~\0", max_size=4)
namespaces = st.lists(labels, max_size=3).map(tuple)


@given(namespaces)
def test_a_namespace_is_read_as_it_was_written(namespace: Namespace) -> None:
    assert read(written(namespace)) == namespace


@given(namespaces, namespaces)
def test_a_text_begins_with_another_only_if_its_namespace_does(one: Namespace, other: Namespace) -> None:
    begins = ".".join(written(other)).lower().startswith(".".join(written(one)).lower())
    assert begins == (other[: len(one)] == one)


@given(namespaces)
def test_what_is_written_has_no_character_of_a_pattern_and_no_upper_case(namespace: Namespace) -> None:
    text = "".join(written(namespace))
    assert not set(text) & set("%_*?[]\\.'\0")
    assert text == text.lower()
    assert text.isascii()


@given(st.lists(st.tuples(st.text(max_size=5), st.text(max_size=5)), unique=True, min_size=2, max_size=6))
def test_no_two_callers_of_any_agents_have_one_label(pairs: Sequence[tuple[str, str]]) -> None:
    made = [label_of(*pair) for pair in pairs]
    assert len(set(made)) == len(made)
    assert {len(label) for label in made} == {64}


ALL = [("a",), ("a", "b"), ("a", "b", "c"), ("x", "b")]


@pytest.mark.parametrize(
    ("op", "found"),
    [
        (ListNamespacesOp(), ALL),
        (ListNamespacesOp(match_conditions=(MatchCondition("prefix", ("a",)),), max_depth=2), ALL[:2]),
        (ListNamespacesOp(match_conditions=(MatchCondition("suffix", ("b",)),)), [("a", "b"), ("x", "b")]),
        (ListNamespacesOp(match_conditions=(MatchCondition("suffix", ("*", "a")),)), []),
        (ListNamespacesOp(match_conditions=(MatchCondition("prefix", ("*", "b")),), limit=1, offset=1), [ALL[2]]),
    ],
)
def test_a_list_goes_by_conditions_depth_and_page(op: ListNamespacesOp, found: list[Namespace]) -> None:
    assert listed(op, ALL) == found
