"""The middleware around scripted models, in a real agent graph."""

import logging
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from tests.unit.adapters.langgraph.scripted import (
    Plain,
    agent_of,
    events_of,
    plain,
    progress,
    spoken,
    streaming,
    turn,
    whole,
)
from typing_extensions import override

from llamon_agent.adapters.langgraph.agent import LangGraphAgent
from llamon_agent.adapters.model.calls import MAX_RETRY_AFTER_S, CallLimit, CarefulCalls, redacted, wait_before_s
from llamon_agent.adapters.model.endings import CUT_OFF, NO_CALL
from llamon_agent.adapters.model.failures import BROKE_OFF, BUSY, REFUSED, UNREACHABLE, Failure
from llamon_agent.domain.errors import AgentError


class Refused(Exception):
    """An error of a provider, with a status."""

    def __init__(self, status_code: int, text: str = "no") -> None:
        super().__init__(text)
        self.status_code = status_code


class Breaking(Plain):
    """Says pieces, and then its connection is gone."""

    @override
    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        self.asked.append(messages)
        for piece in self.replies:
            yield ChatGenerationChunk(message=piece)
        raise ConnectionResetError


class Waits:
    """Waits for nothing, and keeps how long it should have."""

    def __init__(self) -> None:
        self.waited: list[float] = []

    async def __call__(self, wait_s: float) -> None:
        self.waited.append(wait_s)


def served(model: Plain, waits: Waits, *, tools: Sequence[Any] = (), **options: Any) -> LangGraphAgent:
    given = {"max_retries": 2, "gives_reason": False, **options}
    return agent_of(create_agent(model, list(tools), middleware=[CarefulCalls(wait=waits, **given)]))


async def test_a_call_is_retried_and_the_caller_gets_a_note() -> None:
    model, waits = plain(Refused(429), Refused(503), "at last"), Waits()
    events = await events_of(served(model, waits), turn("hi"))
    assert (spoken(events), whole(events)) == ("at last", "at last")
    assert len(waits.waited) == 2
    assert progress(events) == ["The model's provider is not ready; trying again in 1 s …"] * 2


async def test_it_is_tried_so_often_and_no_more() -> None:
    model, waits = plain(*[Refused(429)] * 5), Waits()
    with pytest.raises(AgentError, match=BUSY):
        await events_of(served(model, waits), turn("hi"))
    assert len(model.asked) == 3
    with pytest.raises(AgentError, match=BUSY):
        await events_of(served(model, waits, max_retries=0), turn("hi"))
    assert len(model.asked) == 4


async def test_what_cannot_pass_is_not_tried_again() -> None:
    model, waits = plain(Refused(400), "never"), Waits()
    with pytest.raises(AgentError, match=REFUSED):
        await events_of(served(model, waits), turn("hi"))
    assert waits.waited == []


async def test_nothing_is_tried_again_once_a_piece_has_come() -> None:
    waits = Waits()
    silent, speaking = (Breaking(replies=pieces, asked=[]) for pieces in ([], [AIMessageChunk(content="Hel")]))
    with pytest.raises(AgentError, match=UNREACHABLE):
        await events_of(served(silent, waits), turn("hi"))
    with pytest.raises(AgentError, match=BROKE_OFF):
        await events_of(served(speaking, waits), turn("hi"))
    assert (len(silent.asked), len(speaking.asked)) == (3, 1)


async def test_an_answer_that_is_not_whole_fails_and_is_not_tried_again() -> None:
    model, waits = streaming("half an answer"), Waits()
    with pytest.raises(AgentError, match=CUT_OFF):
        await events_of(served(model, waits, gives_reason=True), turn("hi"))
    assert waits.waited == []


@pytest.mark.parametrize(
    ("pieces", "called"),
    [
        ([tool_call_chunk(name="look", args='{"place": ', id="1", index=0), tool_call_chunk(args='"/ho', index=0)], []),
        (
            [tool_call_chunk(name="look", args='{"place":', id="1", index=0), tool_call_chunk(args='"a"}', index=0)],
            ["a"],
        ),
        (
            [
                tool_call_chunk(name="look", args='{"place":"a"}', id="1", index=None),
                tool_call_chunk(name="look", args='{"place":"b"}', id="2", index=None),
            ],
            ["a", "b"],
        ),
    ],
    ids=["half", "in pieces", "two whole ones"],
)
async def test_a_tool_is_never_called_with_half_its_arguments(pieces: list[Any], called: list[str]) -> None:
    looked: list[str] = []

    @tool
    async def look(place: str) -> str:
        """Look at a place."""
        looked.append(place)
        return "seen"

    class Calling(Breaking):
        """Calls once, then answers."""

        @override
        async def _astream(
            self,
            messages: list[BaseMessage],
            stop: list[str] | None = None,
            run_manager: AsyncCallbackManagerForLLMRun | None = None,
            **kwargs: Any,
        ) -> AsyncIterator[ChatGenerationChunk]:
            if not self.replies:
                yield ChatGenerationChunk(message=AIMessageChunk(content="done"))
            while self.replies:
                message = AIMessageChunk(content="", tool_call_chunks=[self.replies.pop(0)])
                yield ChatGenerationChunk(message=message)

    agent = served(Calling(replies=pieces, asked=[]), Waits(), tools=[look])
    if called:
        assert whole(await events_of(agent, turn("hi"))) == "done"
    else:
        with pytest.raises(AgentError, match=NO_CALL):
            await events_of(agent, turn("hi"))
    assert sorted(looked) == called


async def test_no_log_and_no_error_shows_a_key(caplog: pytest.LogCaptureFixture) -> None:
    key = "sk-0123456789"
    model, waits = plain(*[Refused(429, f"Incorrect key {key} provided")] * 3), Waits()
    with caplog.at_level(logging.DEBUG), pytest.raises(AgentError) as raised:
        await events_of(served(model, waits, secrets=(key,)), turn("hi"))
    logging.getLogger("test").warning("failed", exc_info=raised.value)
    assert key not in caplog.text
    assert "Incorrect key *** provided" in caplog.text


async def test_what_a_tool_raises_is_not_blamed_on_the_provider() -> None:
    @tool
    async def look() -> str:
        """Look."""
        raise ConnectionResetError

    call = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "1", "type": "tool_call"}])
    with pytest.raises(AgentError) as raised:
        await events_of(served(plain(call), Waits(), tools=[look]), turn("hi"))
    assert raised.value.public == AgentError.public


@pytest.mark.parametrize(
    ("failure", "attempt", "draw", "wait_s"),
    [
        (Failure(BUSY, may_pass=True), 0, 0.0, 0.5),
        (Failure(BUSY, may_pass=True), 2, 0.0, 2.0),
        (Failure(BUSY, may_pass=True), 2, 1.0, 1.5),
        (Failure(BUSY, may_pass=True), 9, 0.0, 8.0),
        (Failure(BUSY, may_pass=True, retry_after_s=3.0), 0, 1.0, 3.0),
        (Failure(BUSY, may_pass=True, retry_after_s=MAX_RETRY_AFTER_S + 1), 0, 1.0, None),
        (Failure(REFUSED), 0, 0.0, None),
    ],
)
def test_a_wait_grows_is_bounded_and_follows_the_provider(
    failure: Failure, attempt: int, draw: float, wait_s: float | None
) -> None:
    assert wait_before_s(failure, attempt, draw) == wait_s


def test_secrets_are_redacted() -> None:
    assert redacted("key abc and xyz", ("abc", "xyz")) == "key *** and ***"


@tool
async def look() -> str:
    """Look."""
    return "seen"


def a_call(number: int) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": str(number), "type": "tool_call"}])


async def test_a_run_may_call_its_model_so_often_and_each_run_anew() -> None:
    model = plain(a_call(1), "first", a_call(2), a_call(3), "never")
    agent = agent_of(create_agent(model, [look], middleware=[CallLimit(2)], checkpointer=InMemorySaver()))
    assert whole(await events_of(agent, turn("one"))) == "first"
    with pytest.raises(AgentError, match="called 2 times"):
        await events_of(agent, turn("two"))
    assert len(model.asked) == 4
