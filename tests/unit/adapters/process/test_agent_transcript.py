"""A command is told what was said before, and then the prompt."""

import pytest
from tests.unit.adapters.process.commands import a_message, a_turn

from llamon_agent.adapters.process.agent import prompt_of
from llamon_agent.domain.errors import AgentError
from llamon_agent.domain.message import Data, Message, Part, Raw, Role, Text, Url


def test_without_history_the_prompt_is_all() -> None:
    assert prompt_of(a_turn("hello\nyou"), ()) == "hello\nyou"


def test_history_stands_in_front_in_order() -> None:
    parts = (Text.of("a "), Data(data=1), Text.of("b"))
    history = [a_message("hi"), a_message("hello?", Role.AGENT), Message(message_id="h", role=Role.USER, parts=parts)]
    assert prompt_of(a_turn("go on"), history) == "User: hi\nAgent: hello?\nUser: a b\n\ngo on"


def test_data_is_told_as_json_behind_the_text() -> None:
    data = (Data(data={"ok": True}), Data(data=None))
    assert prompt_of(a_turn("look", parts=(Text.of("look"), *data)), ()) == 'look\n{"ok":true}\nnull'
    assert prompt_of(a_turn("", parts=data), ()) == '{"ok":true}\nnull'


def test_an_empty_message_is_an_empty_prompt() -> None:
    assert prompt_of(a_turn(""), ()) == ""


@pytest.mark.parametrize("file", [Raw(data=b"x"), Url(url="file:///x")])
def test_a_file_is_refused_rather_than_dropped(file: Part) -> None:
    with pytest.raises(AgentError) as caught:
        prompt_of(a_turn("look", parts=(Text.of("look"), file)), ())
    assert caught.value.public == "This agent takes text and data, but no files."
