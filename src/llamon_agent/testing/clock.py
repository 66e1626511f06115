"""Time and ids that a test turns by hand."""

from itertools import count

from llamon_agent.runs.ports.run import NewId


class HandClock:
    """A `Clock` that stands still until it is told. Units: now_ms and ms are milliseconds."""

    def __init__(self, now_ms: int = 1_000) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        return self.now_ms

    def advance(self, ms: int) -> None:
        self.now_ms += ms


def counting_ids(prefix: str = "id") -> NewId:
    """Ids that a test can foretell: `id-1`, `id-2`, ..."""
    numbers = count(1)
    return lambda: f"{prefix}-{next(numbers)}"
