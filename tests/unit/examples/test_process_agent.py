"""The word counter as its configuration serves it."""

import os
import sys
from pathlib import Path

import pytest
from tests.unit.adapters.process.commands import a_turn, said, text_of

from llamon_agent.adapters.process.agent import ProcessAgent, load_process
from llamon_agent.config.load import load_config
from llamon_agent.domain.errors import AgentError
from llamon_agent.domain.events import ArtifactMade, Complete, Interrupt, Progress
from llamon_agent.domain.message import Data

ROOT = Path(__file__).parents[3]


@pytest.fixture
def agent(monkeypatch: pytest.MonkeyPatch) -> ProcessAgent:
    monkeypatch.chdir(ROOT)
    (spec,) = load_config(Path("examples/process_agent.yaml"), {}).agent_specs()
    target = spec.target.target.replace("python3", sys.executable)
    return load_process(target, **dict(spec.process), environ=os.environ)


async def test_it_counts_words(agent: ProcessAgent) -> None:
    events = await said(agent, a_turn("one two Two"))
    assert Progress(text="counting") in events
    assert text_of(events) == "3 words, 2 of them different."
    (made,) = [event.artifact for event in events if isinstance(event, ArtifactMade)]
    assert (made.name, made.parts) == ("words", (Data(data={"one": 1, "two": 2}),))
    assert events[-1] == Complete()


async def test_it_asks_and_counts_the_answer(agent: ProcessAgent) -> None:
    asked = (await said(agent, a_turn("count")))[-1]
    assert isinstance(asked, Interrupt)
    assert asked.text == "Which text shall I count?"
    assert text_of(await said(agent, a_turn("just this", answers=True))) == "2 words, 2 of them different."


async def test_it_says_what_it_needs(agent: ProcessAgent) -> None:
    with pytest.raises(AgentError) as caught:
        await said(agent, a_turn(""))
    assert caught.value.public == "Send me a text to count."
