"""How a host's past messages become LangChain's.

An edge hands its adapters the mapping that belongs to the reading of histories, as this ring may not import that one.
Who makes an agent in a program of their own needs none of it: `plain_prefill` is what it comes to.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from llamon_agent.domain.message import Message, Role, texts

if TYPE_CHECKING:  # an agent that uses none of it must not load it
    from langchain_core.messages import BaseMessage

PrefillToLc = Callable[[Sequence[Message]], "list[BaseMessage]"]
"""From the host's past messages to LangChain's, in order."""


def plain_prefill(turns: Sequence[Message]) -> "list[BaseMessage]":
    """The turns' texts as messages without ids; whoever seeds them gives them their own."""
    from langchain_core.messages import AIMessage, HumanMessage

    kinds = {Role.USER: HumanMessage, Role.AGENT: AIMessage}
    return [kinds[turn.role](content="".join(texts(turn.parts))) for turn in turns]
