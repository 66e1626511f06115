from hypothesis import given
from hypothesis import strategies as st

from llamon_agent.store.orders import Orders

PLACES = st.tuples(st.integers(0, 5), st.text("abc", max_size=2))


def test_an_order_without_places_is_not_there() -> None:
    orders: Orders[str] = Orders()
    orders.add((1, "a"), ["one", "two"])
    assert len(orders) == 2
    orders.remove((1, "a"), ["one"])
    assert len(orders) == 1
    assert list(orders["one"]) == []
    assert list(orders["two"]) == [(1, "a")]


@given(st.sets(PLACES), st.data())
def test_what_was_added_and_not_removed_is_in_order(places: set[tuple[int, str]], data: st.DataObject) -> None:
    orders: Orders[str] = Orders()
    for place in places:
        orders.add(place, ["all"])
    gone = data.draw(st.sets(st.sampled_from(sorted(places)))) if places else set()
    for place in gone:
        orders.remove(place, ["all"])
    assert list(orders["all"]) == sorted(places - gone)


def test_the_first_earlier_ones_are_named_up_to_a_limit() -> None:
    orders: Orders[str] = Orders()
    for place in ((3, "d"), (1, "a"), (2, "c"), (2, "b")):
        orders.add(place, ["all"])
    assert orders.before("all", 3, 10) == ["a", "b", "c"]
    assert orders.before("all", 3, 2) == ["a", "b"]
    assert orders.before("all", 2, 10) == ["a"]
    assert orders.before("other", 9, 10) == []
