"""The time of the running event loop, which a test moves on in place of waiting."""

import asyncio


def pass_time(seconds: float) -> None:
    """Let so much time pass at once: timers and timeouts that are due by then fire on the loop's next turn."""
    loop = asyncio.get_running_loop()
    now = loop.time
    loop.time = lambda: now() + seconds  # type: ignore[method-assign]
