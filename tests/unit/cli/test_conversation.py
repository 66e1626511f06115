import asyncio
from contextlib import AbstractAsyncContextManager

import pytest
from tests.loop_time import pass_time
from tests.unit.cli.conftest import Agent, piece, result, silence, stream, task

from llamon_agent.cli.conversation import connect_to, follow, show
from llamon_agent.cli.report import new_view
from llamon_agent.cli.screen import Screen
from llamon_agent.client.errors import TimedOut
from llamon_agent.client.rpc import Reply, new_message
from llamon_agent.domain.events import Delta, Progress
from llamon_agent.domain.message import Text

MESSAGE = new_message((Text.of("hi"),), context_id=None, task_id=None)


@pytest.mark.parametrize("streaming", [True, False])
async def test_everything_the_agent_tells_is_passed_on_in_order(agent: Agent, streaming: bool) -> None:
    events = [task("WORKING"), piece("Hi", append=False), task("COMPLETED", "Hi")] if streaming else [task("COMPLETED")]
    agent.says(stream(*events) if streaming else result(events[0]))
    told: list[Reply] = []
    async with asyncio.timeout(5), connect_to(agent.origin, None) as client:
        await follow(client, MESSAGE, told.append, view=new_view(), stream=streaming, timeout_s=5)
    assert len(told) == len(events)
    assert {one.event.task_id for one in told} == {"t1"}


async def test_what_was_told_before_the_time_was_up_is_kept(agent: Agent) -> None:
    agent.says(stream(task("WORKING"), then=silence))
    told: list[Reply] = []

    def receive(reply: Reply) -> None:
        told.append(reply)
        pass_time(20)

    async with asyncio.timeout(30), connect_to(agent.origin, None) as client:
        with pytest.raises(TimedOut) as raised:
            await follow(client, MESSAGE, receive, view=new_view(), stream=True, timeout_s=20)
    assert "within 20 seconds" in raised.value.detail
    assert len(told) == 1


async def test_one_second_is_told_in_the_singular(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    def at_once(delay_s: float) -> AbstractAsyncContextManager[object]:
        return asyncio.timeout_at(0)

    agent.says(stream(task("WORKING"), then=silence))
    async with asyncio.timeout(5), connect_to(agent.origin, None) as client:
        monkeypatch.setattr("llamon_agent.cli.conversation.asyncio.timeout", at_once)
        with pytest.raises(TimedOut) as raised:
            await follow(client, MESSAGE, print, view=new_view(), stream=True, timeout_s=1)
    assert "within 1 second;" in raised.value.detail


def test_words_and_notes_go_their_ways(capsys: pytest.CaptureFixture[str]) -> None:
    show(Screen(), [Delta(text="a"), Progress(text="n"), Delta(text="b")])
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("ab", "n\n")


@pytest.mark.parametrize(
    "news",
    [
        [Progress(text="Hello"), Progress(text="Hello"), Delta(text="Hello")],
        [Progress(text="Hel"), Progress(text="Hello"), Delta(text="Hel"), Delta(text="lo")],
        [Delta(text="Hel"), Delta(text="lo"), Progress(text="Hello")],
        [Progress(text="Hello"), Delta(text="Hello, you")],
    ],
)
def test_progress_that_is_the_answer_is_said_once(
    news: list[Progress | Delta], capsys: pytest.CaptureFixture[str]
) -> None:
    """Google's ADK sends its answer as a working status, too."""
    screen = Screen()
    show(screen, news)
    screen.end()
    printed = capsys.readouterr()
    assert printed.out.startswith("Hello")
    assert printed.err == ""


def test_other_progress_is_all_written_and_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen()
    show(screen, [Progress(text="searching"), Progress(text="reading"), Delta(text="Hi"), Progress(text="storing")])
    screen.end()
    assert capsys.readouterr().err == "searching\nreading\nstoring\n"
