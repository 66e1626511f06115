"""What hosts do while the edge dies: the ways to send a message, each until its task is settled."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from random import Random

from a2a.types.a2a_pb2 import TaskState
from tests.crash.hosts import Host, Sent
from tests.crash.returning import stream_returning

Scenario = Callable[[Host, list[Sent], Random], Awaitable[None]]
"""What is done with some messages to one agent, in one context."""


async def streams(host: Host, messages: list[Sent], random: Random) -> None:
    for sent in messages:
        await host.stream(sent)


async def returns(host: Host, messages: list[Sent], random: Random) -> None:
    for sent in messages:
        await stream_returning(host, sent, leave_after=random.randint(2, 12))


async def blocks(host: Host, messages: list[Sent], random: Random) -> None:
    for sent in messages:
        await host.block(sent)


async def begins_and_gets(host: Host, messages: list[Sent], random: Random) -> None:
    for sent in messages:
        await host.begin(sent)
        while sent.task_id and not sent.is_settled:
            await asyncio.sleep(0.02)
            await host.get(sent)


async def hurries(host: Host, messages: list[Sent], random: Random) -> None:
    """One after the other, also when it is not known yet what has become of the one before."""
    for sent in messages:
        await host.begin(sent)
        await asyncio.sleep(random.uniform(0, 0.1))
    for sent in messages:
        await host.follow(sent)


async def crowds(host: Host, messages: list[Sent], random: Random) -> None:
    """All at once, so that they wait for each other."""
    async with asyncio.TaskGroup() as group:
        for sent in messages:
            group.create_task(host.stream(sent) if random.random() < 0.5 else host.block(sent))


async def cancels(host: Host, messages: list[Sent], random: Random) -> None:
    for sent in messages:
        await host.begin(sent)
        await asyncio.sleep(random.uniform(0, 0.15))
        if sent.task_id:
            await host.cancel(sent)


async def answers(host: Host, messages: list[Sent], random: Random) -> None:
    for sent in messages:
        await (host.stream(sent) if random.random() < 0.5 else host.block(sent))
        await host.answer(sent, "approve")


async def leaves_asked(host: Host, messages: list[Sent], random: Random) -> None:
    """The last question waits, over every death that is still to come."""
    await answers(host, messages[:-1], random)
    await host.stream(messages[-1])


async def repeats(host: Host, messages: list[Sent], random: Random) -> None:
    """With an idempotency key, a message whose answer was lost can be sent again."""
    for sent in messages:
        await host.block(sent, key=f"key-{sent.token}")


SCENARIOS: Mapping[str, Scenario] = {
    each.__name__: each
    for each in (streams, returns, blocks, begins_and_gets, hurries, crowds, cancels, answers, leaves_asked, repeats)
}

ASKING = ("answers", "leaves_asked", "cancels")
"""Those that suit an agent that asks."""

TALKING = ("streams", "returns", "blocks", "begins_and_gets", "hurries", "crowds", "cancels", "repeats")


def is_left_asked(sent: Sent) -> bool:
    """Whether its task waits for an answer."""
    return sent.state == TaskState.TASK_STATE_INPUT_REQUIRED
