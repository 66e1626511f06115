import asyncio
import logging
import threading

import pytest

from llamon_agent.serving.loop_watch import watching_loop


class Heard(logging.Handler):
    """Says when a line with a text comes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._text = text
        self.came = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())
        if self._text in self.lines[-1]:
            self.came.set()


async def heard_while(text: str, block: bool) -> list[str]:
    """What is logged until a line with the text comes."""
    handler = Heard(text)
    logging.getLogger("llamon_agent").addHandler(handler)
    try:
        with watching_loop(lambda: ["slow", "slow", "other"], blocked_s=0.05, tick_s=0.01):
            if block:
                assert handler.came.wait(10)
            await asyncio.to_thread(handler.came.wait, 10 if block else 0.2)
    finally:
        logging.getLogger("llamon_agent").removeHandler(handler)
    return handler.lines


async def test_a_blocked_loop_is_named_with_the_place_and_the_agents() -> None:
    [line] = await heard_while("has been blocked", block=True)
    assert f"{__file__}:" in line
    assert line.endswith("agents at work: other, slow")


async def test_the_end_of_a_block_is_told_with_its_length() -> None:
    handler = Heard("was blocked for")
    logging.getLogger("llamon_agent").addHandler(handler)
    began = Heard("has been blocked")
    logging.getLogger("llamon_agent").addHandler(began)
    try:
        with watching_loop(list, blocked_s=0.05, tick_s=0.01):
            assert began.came.wait(10)
            assert await asyncio.to_thread(handler.came.wait, 10)
    finally:
        logging.getLogger("llamon_agent").removeHandler(handler)
        logging.getLogger("llamon_agent").removeHandler(began)
    assert handler.lines[0].endswith("agents at work: none")


async def test_the_watch_ends_with_its_block() -> None:
    with watching_loop(list, tick_s=0.01):
        [thread] = [each for each in threading.enumerate() if each.name == "llamon-loop-watch"]
    assert not await asyncio.to_thread(_still_lives, thread)


def _still_lives(thread: threading.Thread) -> bool:
    thread.join(10)
    return thread.is_alive()


@pytest.mark.parametrize("tick_s", [0.01])
async def test_a_loop_that_answers_is_not_named(tick_s: float, caplog: pytest.LogCaptureFixture) -> None:
    answers = 0
    loop = asyncio.get_running_loop()
    enough = asyncio.Event()
    call_soon = loop.call_soon_threadsafe

    def count(callback: object, *arguments: object) -> asyncio.Handle:
        nonlocal answers
        answers += 1
        if answers == 5:
            call_soon(enough.set)
        return call_soon(callback, *arguments)  # type: ignore[arg-type]

    loop.call_soon_threadsafe = count  # type: ignore[method-assign, assignment]
    with watching_loop(list, blocked_s=10, tick_s=tick_s):
        await enough.wait()
    assert caplog.records == []
