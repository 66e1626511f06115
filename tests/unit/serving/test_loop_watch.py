import asyncio
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from llamon_agent.serving.loop_watch import watching_loop


class Awaited(logging.Handler):
    """A log line that a thread waits for."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.line = ""
        self._text = text
        self._came = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if self._text in record.getMessage():
            self.line = record.getMessage()
            self._came.set()

    def wait(self) -> bool:
        return self._came.wait(10)


@contextmanager
def awaiting(text: str) -> Iterator[Awaited]:
    handler = Awaited(text)
    logging.getLogger("llamon_agent").addHandler(handler)
    try:
        yield handler
    finally:
        logging.getLogger("llamon_agent").removeHandler(handler)


async def test_a_blocked_loop_is_named_with_the_place_and_the_agents() -> None:
    with (
        awaiting("has been blocked") as blocked,
        awaiting("was blocked for") as free,
        watching_loop(lambda: ["slow", "slow", "other"], blocked_s=0.05, tick_s=0.01),
    ):
        assert blocked.wait()  # this blocks the loop
        assert await asyncio.to_thread(free.wait)
    assert f"{__file__}:" in blocked.line
    assert blocked.line.endswith("agents at work: other, slow")


async def test_the_watch_ends_with_its_block() -> None:
    with watching_loop(list, tick_s=0.01):
        [thread] = [each for each in threading.enumerate() if each.name == "llamon-loop-watch"]
    await asyncio.to_thread(thread.join, 10)
    assert not thread.is_alive()


async def test_a_loop_that_answers_is_not_named(caplog: pytest.LogCaptureFixture) -> None:
    loop, asked, asked_often = asyncio.get_running_loop(), iter(range(5)), asyncio.Event()
    call_soon = loop.call_soon_threadsafe

    def count(callback: object, *arguments: object) -> asyncio.Handle:
        if next(asked, None) is None:
            call_soon(asked_often.set)
        return call_soon(callback, *arguments)  # type: ignore[arg-type]

    loop.call_soon_threadsafe = count  # type: ignore[method-assign, assignment]
    with watching_loop(list, blocked_s=10, tick_s=0.01):
        await asked_often.wait()
    assert caplog.records == []
