"""Any Python object as an agent: `llamon serve --adapter custom examples/custom_agent.py:Shopkeeper`

It streams, reports its progress, asks before it orders, and remembers by conversation. Besides the prompt it gets
what it names as parameters: `thread_id` names the conversation, `prefill_messages` is a host's history, `answer` is the
reply to its question.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Any

Event = dict[str, Any]


class Shopkeeper:
    """Keeps a basket for each conversation."""

    def __init__(self) -> None:
        self._baskets: dict[str, list[str]] = {}

    async def stream(
        self, prompt: str, *, thread_id: str, prefill_messages: Sequence[Any] = (), answer: str | None = None
    ) -> AsyncIterator[str | Event]:
        """Take one turn: `buy X` puts X into the basket, `order` asks and then orders, anything else shows it."""
        basket = self._baskets.setdefault(thread_id, [])
        for message in prefill_messages:  # given once, while this conversation is new here
            basket += wanted(message.text)
        if answer is not None:
            yield self._ordered(basket) if answer.strip().lower() in ("yes", "네") else "Nothing is ordered."
        elif prompt.strip().lower() == "order":
            yield {"progress": "Counting the basket"}
            yield {"interrupt": f"Order {listed(basket)}? Answer yes to order."}
        else:
            basket += wanted(prompt)
            yield "Your basket: "
            yield f"{listed(basket)}."

    def _ordered(self, basket: list[str]) -> str:
        answer = f"Ordered: {listed(basket)}."
        basket.clear()
        return answer


def wanted(text: str) -> list[str]:
    """What a sentence puts into the basket."""
    verb, _, thing = text.strip().partition(" ")
    return [thing] if verb.lower() == "buy" and thing else []


def listed(basket: Sequence[str]) -> str:
    return ", ".join(basket) or "nothing"
