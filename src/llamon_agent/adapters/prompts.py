"""What a caller's message is to an agent that takes nothing but text."""

import msgspec

from llamon_agent.domain.errors import AgentError
from llamon_agent.domain.message import Data, Raw, Url
from llamon_agent.runs.ports import Turn


def text_prompt(turn: Turn) -> str:
    """The message's text, and behind it its data, a line of JSON each.

    Raises: AgentError: the message holds a file, which must not vanish in silence.
    """
    if any(isinstance(part, Raw | Url) for part in turn.message.parts):
        raise AgentError("This agent takes text and data, but no files.")
    data = [msgspec.json.encode(part.data).decode() for part in turn.message.parts if isinstance(part, Data)]
    return "\n".join([turn.prompt, *data] if turn.prompt else data)
