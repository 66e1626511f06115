"""The example of a custom agent, as `llamon serve --adapter custom` loads it."""

from pathlib import Path

import msgspec

from llamon_agent.adapters.custom.agent import load_custom
from llamon_agent.adapters.prompts import plain_prefill
from llamon_agent.domain.events import Complete, Delta, Interrupt, Progress
from llamon_agent.domain.message import Message, Role, Text
from llamon_agent.runs.ports.agent import Agent, Turn

EXAMPLE = Path(__file__).parents[3] / "examples" / "custom_agent.py"


async def shopkeeper() -> Agent:
    return await load_custom(f"{EXAMPLE}:Shopkeeper", prefill_to_lc=plain_prefill)


def turn(prompt: str, thread: str = "c", *, answers: bool = False) -> Turn:
    message = Message(message_id="m", role=Role.USER, parts=(Text.of(prompt),))
    return Turn(
        task_id="t",
        context_id=thread,
        thread_id=thread,
        session_id=thread,
        message=message,
        prompt=prompt,
        answers=answers,
    )


async def said(agent: Agent, taken: Turn) -> str:
    return "".join(
        [event.text async for event in agent.run(taken) if isinstance(event, Delta | Complete) and event.text]
    )


async def test_it_keeps_a_basket_for_each_conversation() -> None:
    agent = await shopkeeper()
    await said(agent, turn("buy tea"))
    assert await said(agent, turn("buy rice")) == "Your basket: tea, rice."
    assert await said(agent, turn("show", "other")) == "Your basket: nothing."


async def test_it_asks_before_it_orders_and_only_yes_is_yes() -> None:
    agent = await shopkeeper()
    await said(agent, turn("buy tea"))
    for answer, told in (("hm", "Nothing is ordered."), ("yes", "Ordered: tea.")):
        asked = [event async for event in agent.run(turn("order"))]
        assert Progress(text="Counting the basket") in asked
        assert isinstance(asked[-1], Interrupt)
        assert asked[-1].text == "Order tea? Answer yes to order."
        assert await said(agent, turn(answer, answers=True)) == told


async def test_what_a_host_remembers_is_in_the_basket_once() -> None:
    agent = await shopkeeper()
    past = Message(message_id="h", role=Role.USER, parts=(Text.of("buy salt"),))
    seeded = msgspec.structs.replace(turn("show"), prefill=(past,), history_received=1)
    assert await said(agent, seeded) == "Your basket: salt."
    assert await said(agent, seeded) == "Your basket: salt."
