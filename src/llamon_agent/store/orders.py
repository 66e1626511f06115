"""Values in order, under several names at once: what a list in memory is read from.

A list that is sorted when it is asked for costs the more, the more there is. Here each value is put in its place when
it is written. That moves the values after it, which are few, as most of what is written is new.
"""

from bisect import bisect_left, insort
from collections.abc import Hashable, Iterable, Sequence
from typing import Generic, TypeVar

Place = tuple[int, str]
"""(at_ms, id)"""

N = TypeVar("N", bound=Hashable)


class Orders(Generic[N]):
    """Places in ascending order, by the names of the orders. Shape: an order without a place is not there."""

    def __init__(self) -> None:
        self._orders: dict[N, list[Place]] = {}

    def __getitem__(self, name: N) -> Sequence[Place]:
        """The places of an order, for reading."""
        return self._orders.get(name, ())

    def __len__(self) -> int:
        return len(self._orders)

    def add(self, place: Place, names: Iterable[N]) -> None:
        for name in names:
            insort(self._orders.setdefault(name, []), place)

    def remove(self, place: Place, names: Iterable[N]) -> None:
        for name in names:
            order = self._orders[name]
            del order[bisect_left(order, place)]
            if not order:
                del self._orders[name]

    def before(self, name: N, at_ms: int, limit: int) -> list[str]:
        """The ids of the first places that are earlier."""
        order = self[name]
        end = min(limit, bisect_left(order, (at_ms, "")))
        return [each for _, each in order[:end]]
