"""The demo agent as the README shows it, driven through the adapter."""

import asyncio
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from tests.unit.adapters.langgraph.scripted import (
    agent_of,
    asked,
    events_of,
    history,
    progress,
    spoken,
    turn,
    until,
    whole,
)

from llamon_agent.adapters.langgraph.agent import LangGraphAgent
from llamon_agent.adapters.langgraph.load import load_graph
from llamon_agent.domain.errors import AgentError
from llamon_agent.domain.events import Delta, Interrupt, Progress

FILE = Path(__file__).parents[3] / "examples" / "demo_agent.py"


@pytest.fixture(scope="module")
def demo() -> Any:
    spec = importlib.util.spec_from_file_location("demo_agent_under_test", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def agent(demo: Any) -> LangGraphAgent:
    demo.STEP_S = 0.0
    return agent_of(demo.graph.copy(update={"checkpointer": InMemorySaver()}))


Talk = Callable[[str], Any]


async def test_it_is_served_by_its_file() -> None:
    graph = (await load_graph(f"{FILE}:graph", checkpointer=InMemorySaver())).graph
    assert await agent_of(graph).invoke("hello", thread_id="t") == "You said: hello"


@pytest.mark.parametrize(
    ("told", "wanted", "answer"),
    [
        ("my number is 42", "what is my number?", "Your number is 42."),
        ("Remember 7", "Which number did I tell you?", "Your number is 7."),
        ("The code word is apple.", "what was the code word?", "The code word was apple."),
        ("내 숫자는 9", "내 숫자가 뭐야?", "Your number is 9."),
        ("암호는 사과야", "암호가 뭐야?", "The code word was 사과."),
        ("hello", "what is my number?", "You never told me a number."),
        ("hello", "what was the code word?", "You never told me a code word."),
    ],
)
async def test_it_remembers_what_it_was_told(agent: LangGraphAgent, told: str, wanted: str, answer: str) -> None:
    await events_of(agent, turn(told, task="1"))
    assert whole(await events_of(agent, turn(wanted, task="2"))) == answer


async def test_it_remembers_what_was_told_last(agent: LangGraphAgent) -> None:
    for task, text in enumerate(("my number is 1", "my number is 2")):
        await events_of(agent, turn(text, task=str(task)))
    assert whole(await events_of(agent, turn("what is my number?", task="3"))) == "Your number is 2."


@pytest.mark.parametrize("past", [("my number is 42", "ok"), ("what did you say?", "I said that the number is 42.")])
async def test_it_remembers_what_was_only_seeded(agent: LangGraphAgent, past: tuple[str, str]) -> None:
    taken = turn("what is my number?", past=history(*past))
    assert whole(await events_of(agent, taken)) == "Your number is 42."


async def test_it_streams_word_by_word(agent: LangGraphAgent) -> None:
    events = await events_of(agent, turn("hello there"))
    deltas = [event.text for event in events if isinstance(event, Delta) and not event.restart]
    assert deltas == ["You ", "said: ", "hello ", "there"]
    assert spoken(events) == whole(events)


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [("yes", "report.txt is deleted."), ("거절", "report.txt is kept, as you rejected it.")],
)
async def test_it_asks_before_it_deletes(agent: LangGraphAgent, answer: str, outcome: str) -> None:
    pause = asked(await events_of(agent, turn("Delete report.txt")))
    assert pause.text == "Delete report.txt?\nAnswer one of: approve, reject."
    assert isinstance((await events_of(agent, turn("yes, delete it", answers=True)))[-1], Interrupt)
    assert whole(await events_of(agent, turn(answer, answers=True))) == outcome


async def test_slow_work_tells_its_progress(agent: LangGraphAgent) -> None:
    events = await events_of(agent, turn("research llamas"))
    assert progress(events)[:2] == ["Calling research …", "Searching … (1 of 5)"]
    assert whole(events) == "Everything there is to know about llamas: it is worth knowing."
    counted = await events_of(agent, turn("count slowly to 2", task="2"))
    assert progress(counted)[1:3] == ["1 of 2", "2 of 2"]
    assert whole(counted) == "I have counted to 2."


async def test_slow_work_can_be_cancelled(demo: Any, agent: LangGraphAgent) -> None:
    demo.STEP_S = 3600.0
    running = agent.run(turn("count slowly", task="1"))
    async with asyncio.timeout(5):
        await until(running, Progress)
        await running.aclose()
        assert whole(await events_of(agent, turn("hello", task="2"))) == "You said: hello"


async def test_it_fails_when_told_to(agent: LangGraphAgent) -> None:
    with pytest.raises(AgentError):
        await events_of(agent, turn("fail"))


@pytest.mark.parametrize(
    ("messages", "reply"),
    [
        ([HumanMessage("안녕하세요!")], "안녕하세요! 무엇을 도와드릴까요?"),
        ([HumanMessage("")], "You said nothing, so I have nothing to repeat."),
        ([ToolMessage("done", tool_call_id="1")], "done"),
    ],
)
def test_the_script(demo: Any, messages: list[BaseMessage], reply: str) -> None:
    assert demo.reply_to(messages).text == reply


def test_the_model_answers_without_streaming_too(demo: Any) -> None:
    assert demo.ScriptedModel(disable_streaming=True).invoke("hi").content == "You said: hi"
    assert isinstance(demo.reply_to([HumanMessage("report.txt를 삭제해줘")]), AIMessage)
    assert demo.reply_to([HumanMessage("report.txt를 삭제해줘")]).tool_calls[0]["args"] == {"name": "report.txt"}
