import gc
import weakref
from collections.abc import Iterator

import pytest

from llamon_agent.serving.process import THRESHOLDS, freeze_gc, rarer_collections


class Knot:
    """Something that only a search for garbage finds."""

    def __init__(self) -> None:
        self.me = self


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    yield
    gc.unfreeze()


def test_garbage_is_looked_for_less_often_inside_only() -> None:
    before = gc.get_threshold()
    with rarer_collections():
        assert gc.get_threshold()[:2] == THRESHOLDS[:2]  # Python 3.14 takes no third
        freeze_gc()
        assert gc.get_freeze_count() > 1000
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)


def test_what_has_settled_becomes_garbage_by_settling_again() -> None:
    knot = Knot()
    freeze_gc()
    gone = weakref.ref(knot)
    del knot
    gc.collect()
    assert gone() is not None
    freeze_gc()
    assert gone() is None


def test_cycles_that_come_and_go_stay_few() -> None:
    alive: weakref.WeakSet[Knot] = weakref.WeakSet()
    most = 0
    with rarer_collections():
        freeze_gc()
        for _ in range(100_000):
            alive.add(Knot())
            most = max(most, len(alive))
    assert most < 3 * THRESHOLDS[0]
