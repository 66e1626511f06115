"""The echo agent says its prompt, in as many pieces as it was told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamon_agent.adapters.echo import EchoAgent
from llamon_agent.domain.events import AgentEvent, Complete, Delta, SeedOutcome, Started
from llamon_agent.domain.message import Message, Role
from llamon_agent.runs.ports.agent import Turn


async def said(agent: EchoAgent, prompt: str, history_received: int = 0) -> list[AgentEvent]:
    message = Message(message_id="m", role=Role.USER, parts=())
    turn = Turn(
        task_id="t",
        context_id="c",
        thread_id="c",
        session_id="c",
        message=message,
        prompt=prompt,
        history_received=history_received,
    )
    return [event async for event in agent.run(turn)]


async def test_the_prompt_comes_back() -> None:
    assert await said(EchoAgent(), "hello") == [Started(), Delta(text="hello"), Complete()]


async def test_an_empty_prompt_has_an_empty_answer() -> None:
    assert await said(EchoAgent(chunks=3), "") == [Started(), Complete()]


async def test_history_is_not_used_and_the_outcome_says_so() -> None:
    started, *_ = await said(EchoAgent(), "hello", history_received=3)
    assert started == Started(history=SeedOutcome(seeded=0, skipped=3, reason="not_supported"))


@pytest.mark.parametrize(("chunks", "pieces"), [(1, ["abcdefg"]), (3, ["ab", "cd", "efg"]), (99, list("abcdefg"))])
async def test_the_pieces_are_of_about_one_size(chunks: int, pieces: list[str]) -> None:
    assert await said(EchoAgent(chunks), "abcdefg") == [Started(), *(Delta(text=piece) for piece in pieces), Complete()]


@given(prompt=st.text(max_size=50), chunks=st.integers(1, 60))
async def test_the_pieces_join_to_the_prompt(prompt: str, chunks: int) -> None:
    deltas = [event.text for event in await said(EchoAgent(chunks), prompt) if isinstance(event, Delta)]
    assert "".join(deltas) == prompt
    assert len(deltas) == min(chunks, len(prompt))
    assert all(deltas)


async def test_there_is_nothing_to_forget() -> None:
    await EchoAgent().delete_thread("c")
