"""How often Python looks for garbage in a process that is an edge and nothing else.

When Python looks thoroughly, it walks over everything that lives. Modules, agents and routes live as long as they are
served, so these walks find nothing, stop all calls for a tenth of a second, and are a sixth of the work of a call.
Therefore what is there once the edge is ready is left out (`settle`), and what comes later is looked at less often.

Only `llamon serve` does this: in a process that embeds the edge, garbage is its owner's concern.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

THRESHOLDS = (10_000, 5, 20)
"""Python's own are (700, 10, 10). With the first, it looks once in hundreds of calls instead of once in sixteen. With
the second, what has lived for a while is looked at while it is little, which keeps that pause short. All three together
let cycles that lived for long wait for about a million new objects. Source: docs/benchmarks.md, for the choice.
"""


@contextmanager
def looked_for_less_often() -> Iterator[None]:
    """With our thresholds inside the context; behind it all is as it was."""
    before = gc.get_threshold()
    gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)


def settle() -> None:
    """Take what is there now for what stays; garbage is thrown away first, also of what had been taken before."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
