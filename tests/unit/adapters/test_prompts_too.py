"""What an agent is told that takes nothing but text."""

import pytest

from llamon_agent.adapters.prompts import text_prompt
from llamon_agent.domain.errors import AgentError
from llamon_agent.domain.message import Data, Message, Part, Raw, Role, Text, Url
from llamon_agent.runs.ports.agent import Turn


def turn(*parts: Part, prompt: str = "") -> Turn:
    message = Message(message_id="m", role=Role.USER, parts=parts)
    return Turn(task_id="t", context_id="c", thread_id="c", session_id="c", message=message, prompt=prompt)


def test_data_follows_the_text_a_line_each() -> None:
    parts = (Data(data={"x": 1}), Text.of("look"), Data(data=None))
    assert text_prompt(turn(*parts, prompt="look")) == 'look\n{"x":1}\nnull'


def test_data_alone_is_a_prompt() -> None:
    assert text_prompt(turn(Data(data=[1]))) == "[1]"


@pytest.mark.parametrize("file", [Raw(data=b"x"), Url(url="https://example.com/x")])
def test_a_file_does_not_vanish(file: Part) -> None:
    with pytest.raises(AgentError, match="no files"):
        text_prompt(turn(Text.of("look"), file, prompt="look"))
