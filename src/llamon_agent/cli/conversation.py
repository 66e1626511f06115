"""One turn of talk: a message out, and everything that comes back until the turn is over."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from uuid import uuid4

from llamon_agent.cli.client import Client, Told
from llamon_agent.cli.exits import Unreached
from llamon_agent.cli.hearing import Note, Words
from llamon_agent.cli.screen import Screen
from llamon_agent.domain.message import Message, Metadata, Part, Role


def user_message(
    parts: Sequence[Part], *, context_id: str | None, task_id: str | None, metadata: Metadata | None = None
) -> Message:
    """A new message of the person's."""
    return Message(
        message_id=str(uuid4()),
        role=Role.USER,
        parts=tuple(parts),
        context_id=context_id,
        task_id=task_id,
        metadata=metadata,
    )


def show(screen: Screen, news: Sequence[Words | Note]) -> None:
    """What was heard, to a person."""
    for one in news:
        if isinstance(one, Words):
            screen.words(one.text)
        else:
            screen.note(one.text)


async def listen(
    client: Client, params: bytes, tell: Callable[[Told], None], *, stream: bool, timeout_s: float
) -> None:
    """Send a message and pass on what the agent tells, until it has told all. Raises: as `Client.ask`."""
    try:
        async with asyncio.timeout(timeout_s), aclosing(client.ask(params, stream=stream)) as told:
            async for one in told:
                tell(one)
    except TimeoutError as exc:
        limit = "1 second" if timeout_s == 1 else f"{timeout_s:g} seconds"
        raise Unreached(f"There was no whole answer within {limit}; the task may be going on.") from exc
