import asyncio
from contextlib import AbstractAsyncContextManager

import pytest
from tests.unit.cli.conftest import Agent, piece, result, silence, stream, task

from llamon_agent.cli.client import Told, connect
from llamon_agent.cli.conversation import listen, show, user_message
from llamon_agent.cli.exits import Unreached
from llamon_agent.cli.hearing import Note, Words
from llamon_agent.cli.screen import Screen
from llamon_agent.domain.message import Role, Text
from llamon_agent.wire.v10.client_codec import write_send_params

PARAMS = write_send_params(user_message((Text.of("hi"),), context_id=None, task_id=None))


def test_a_message_is_the_users_and_its_id_is_new() -> None:
    one, other = (user_message((Text.of("hi"),), context_id="c", task_id="t", metadata={"k": 1}) for _ in range(2))
    assert (one.role, one.parts, one.context_id, one.task_id) == (Role.USER, (Text.of("hi"),), "c", "t")
    assert one.metadata == {"k": 1}
    assert one.message_id != other.message_id


@pytest.mark.parametrize("streaming", [True, False])
async def test_everything_the_agent_tells_is_passed_on_in_order(agent: Agent, streaming: bool) -> None:
    events = [task("WORKING"), piece("Hi", append=False), task("COMPLETED", "Hi")] if streaming else [task("COMPLETED")]
    agent.says(stream(*events) if streaming else result(events[0]))
    told: list[Told] = []
    async with asyncio.timeout(5), connect(agent.origin, None) as client:
        await listen(client, PARAMS, told.append, stream=streaming, timeout_s=5)
    assert len(told) == len(events)
    assert {one.heard.task_id for one in told} == {"t1"}


async def test_what_was_told_before_the_time_was_up_is_kept(agent: Agent) -> None:
    agent.says(stream(task("WORKING"), then=silence))
    told: list[Told] = []
    async with asyncio.timeout(5), connect(agent.origin, None) as client:
        with pytest.raises(Unreached, match=r"within 0\.2 seconds"):
            await listen(client, PARAMS, told.append, stream=True, timeout_s=0.2)
    assert len(told) == 1


async def test_one_second_is_told_in_the_singular(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    def at_once(delay_s: float) -> AbstractAsyncContextManager[object]:
        return asyncio.timeout_at(0)

    agent.says(stream(task("WORKING"), then=silence))
    async with asyncio.timeout(5), connect(agent.origin, None) as client:
        monkeypatch.setattr("llamon_agent.cli.conversation.asyncio.timeout", at_once)
        with pytest.raises(Unreached, match="within 1 second;"):
            await listen(client, PARAMS, print, stream=True, timeout_s=1)


def test_words_and_notes_go_their_ways(capsys: pytest.CaptureFixture[str]) -> None:
    show(Screen(), [Words("a"), Note("n"), Words("b")])
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("ab", "n\n")
