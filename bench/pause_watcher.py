"""An agent that says for how long at most its event loop did nothing else, since it was asked before.

A timer is set for every millisecond. By how much it comes late is a pause, of wall time, and of the loop's thread's
processor time: the rest of a pause is what others on the machine took.
"""

import asyncio
import json
import time

TICK_S = 0.001


class Watch:
    """Measures pauses for as long as the loop runs. Shape: longest is a pair of wall and processor milliseconds."""

    def __init__(self) -> None:
        self.longest: tuple[float, float] | None = None
        self._before = (0.0, 0.0)

    def start(self) -> None:
        self._before = (time.perf_counter(), time.thread_time())
        asyncio.get_running_loop().call_later(TICK_S, self._tick)

    def _tick(self) -> None:
        wall_s, processor_s = (now - then for now, then in zip(_now(), self._before, strict=True))
        self.longest = max(self.longest or (0.0, 0.0), ((wall_s - TICK_S) * 1000, processor_s * 1000))
        self.start()


def _now() -> tuple[float, float]:
    return time.perf_counter(), time.thread_time()


_watch = Watch()


async def longest_pause(_message: str) -> str:
    """The longest pause since the last call, as JSON; the first call begins to watch."""
    if _watch.longest is None:
        _watch.start()
    longest, _watch.longest = _watch.longest, (0.0, 0.0)
    return json.dumps(longest)
