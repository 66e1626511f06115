"""Says in the log that something blocks the event loop, and where.

Theory. All calls and runs of an edge share one event loop. An agent that waits or computes in a coroutine without
giving it back stops them all. Python has no limit for that, so a thread asks the loop for an answer again and again,
and looks at the loop's stack where none comes.
"""

import asyncio
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from llamon_agent.domain.error_location import where_in

logger = logging.getLogger(__name__)

BLOCKED_S = 2.0
"""From when on a loop counts as blocked."""

TICK_S = 1.0
"""How often the loop is asked."""


@contextmanager
def watching_loop(
    running: Callable[[], Sequence[str]], *, blocked_s: float = BLOCKED_S, tick_s: float = TICK_S
) -> Iterator[None]:
    """Watch the running loop as long as the block runs. Shape: running gives the names of the agents at work."""
    loop, loop_thread, stopped = asyncio.get_running_loop(), threading.get_ident(), threading.Event()

    def watch() -> None:
        with suppress(RuntimeError):  # the loop is closed
            while not stopped.wait(tick_s):
                answered, asked_s = threading.Event(), time.monotonic()
                loop.call_soon_threadsafe(answered.set)
                if answered.wait(blocked_s):
                    continue
                _log_blocked(loop_thread, running(), blocked_s)
                while not answered.wait(tick_s) and not stopped.is_set():
                    pass
                logger.warning("the event loop was blocked for %.1f seconds", time.monotonic() - asked_s)

    thread = threading.Thread(target=watch, name="llamon-loop-watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()


def _log_blocked(loop_thread: int, agents: Sequence[str], blocked_s: float) -> None:
    frame = sys._current_frames().get(loop_thread)
    logger.warning(
        "the event loop has been blocked for %g seconds, so all calls wait: at %s; agents at work: %s",
        blocked_s,
        where_in(frame) if frame else "a place that is not known",
        ", ".join(sorted(set(agents))) or "none",
    )
