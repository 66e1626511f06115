import uuid

from hypothesis import given
from hypothesis import strategies as st

from llamon_agent.domain.ids import ordered_id, random_id

TIMES_MS = st.integers(0, (1 << 48) - 1)
RANDOM = st.binary(min_size=10, max_size=10)


@given(TIMES_MS, RANDOM)
def test_an_ordered_id_is_a_uuid_of_version_7_that_holds_its_time(now_ms: int, random: bytes) -> None:
    made = uuid.UUID(ordered_id(now_ms, random))
    assert (made.version, made.variant, made.int >> 80) == (7, uuid.RFC_4122, now_ms)


@given(TIMES_MS, TIMES_MS, RANDOM, RANDOM)
def test_ordered_ids_sort_by_time(one_ms: int, other_ms: int, one: bytes, other: bytes) -> None:
    if one_ms < other_ms:
        assert ordered_id(one_ms, one) < ordered_id(other_ms, other)


def test_every_random_bit_but_the_fixed_ones_is_in_the_id() -> None:
    none, all_of_them = (uuid.UUID(ordered_id(0, random)).int for random in (bytes(10), b"\xff" * 10))
    assert (none ^ all_of_them).bit_count() == 80 - 6


def test_random_ids_differ() -> None:
    assert len({random_id() for _ in range(1000)}) == 1000
