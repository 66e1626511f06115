"""What a command is told: the message in words, and in front of a context's first one what was said before."""

from collections.abc import Sequence

from llamon_agent.adapters.prompts import text_prompt
from llamon_agent.domain.message import Message, Role, texts
from llamon_agent.runs.ports import Turn

_WHO = {Role.USER: "User", Role.AGENT: "Agent"}


def prompt_of(turn: Turn, history: Sequence[Message]) -> str:
    """The prompt behind the history.

    Shape:  a line `User: ...` or `Agent: ...` for each message of the history, an empty line, then the prompt; without
            history just the prompt.
    Raises: AgentError: it comes with a file, which words cannot tell.
    """
    prompt = text_prompt(turn)
    told = [_line_of(message) for message in history]
    return "\n".join([*told, "", prompt] if told else [prompt])


def _line_of(message: Message) -> str:
    return f"{_WHO[message.role]}: {''.join(texts(message.parts))}"
