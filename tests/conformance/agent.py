"""The agents that the kits talk to: plain custom agents, served by the real edge.

The official kit tells an agent what to do by the prefix of a `messageId`; `SCENARIOS` is what its scenario files ask
for. `count: N` is how a2a-testbed asks for work that can be followed and stopped. Whatever else a message says is
answered by the agent's ordinary behaviour: `scripted` completes, as an agent of today would; `asking` works for a while
and then asks, since the kits of 0.x go on with, follow and cancel whatever task they were given.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from typing import Any

from llamon_agent.domain.message import Message

Event = str | dict[str, Any]
Script = Callable[[], AsyncIterator[Event]]

WORKS_S = 3.0
"""How long `asking` works before it asks: longer than any of the kits looks at a task that it has just begun."""

FOLLOWED_S = 4.0
"""How long a task that will be followed stays active: twice the kits' streaming timeout."""


STEP_S = 0.05
"""How long a step of `count: N` takes."""

_COUNT = re.compile(r"count: (\d{1,3})\b")


def _saying(*events: Event) -> Script:
    async def script() -> AsyncIterator[Event]:
        for event in events:
            yield event

    return script


def _making(**part: object) -> Script:
    return _saying({"artifact": {"name": "output", "parts": [part]}})


async def _followed() -> AsyncIterator[Event]:
    yield {"progress": "Working"}
    await asyncio.sleep(FOLLOWED_S)
    yield "Done."


async def _failed() -> AsyncIterator[Event]:
    yield "half an answer"
    raise RuntimeError("a secret")


async def _held() -> AsyncIterator[Event]:
    yield {"progress": "Working"}
    await asyncio.Event().wait()  # until somebody cancels it


SCENARIOS: Mapping[str, Script] = {
    "tck-complete-task": _saying("Hello from TCK"),
    "tck-delayed-complete": _followed,
    "tck-artifact-text": _saying("Generated text content"),
    "tck-artifact-file-url": _making(
        url="https://example.com/output.txt", media_type="text/plain", filename="output.txt"
    ),
    "tck-artifact-file": _making(bytes=b"Generated file content", media_type="text/plain", filename="output.txt"),
    "tck-artifact-data": _making(data={"key": "value", "count": 42}),
    "tck-message-response": _saying({"reply": "Direct message response"}),
    "tck-input-required": _saying({"interrupt": "What else do you need?"}),
    "tck-auth-required": _saying({"auth": "Sign in at the travel desk."}),
    "tck-reject-task": _saying({"reject": "rejected"}),
    "tck-stream-001": _saying("Stream hello from TCK"),
    "tck-stream-002": _saying("Stream message only"),
    "tck-stream-003": _saying("Stream task lifecycle"),
    "tck-stream-ordering-001": _saying("Ordered output"),
    "tck-stream-artifact-text": _saying("Streamed text content"),
    "tck-stream-artifact-file": _making(bytes=b"Streamed file content", media_type="text/plain", filename="output.txt"),
    "tck-stream-artifact-chunked": _saying("chunk-1 ", "chunk-2"),
    "test-resubscribe-message-id": _followed,
    "llamon-hold": _held,
    "llamon-fail": _failed,
}
"""messageId prefix -> what is done; those of llamon are for the tests next to this file. A longer prefix wins over a
shorter one.
"""


def scenario_of(message_id: str) -> Script | None:
    """What a message's id asks for."""
    asked = [prefix for prefix in SCENARIOS if message_id.startswith(prefix)]
    return SCENARIOS[max(asked, key=len)] if asked else None


async def scripted(prompt: str, *, message: Message) -> AsyncIterator[Event]:
    """Do what the message asks for; else complete at once."""
    async for event in (_asked_for(prompt, message) or _saying("Hello from llamon-agent"))():
        yield event


async def asking(prompt: str, *, message: Message) -> AsyncIterator[Event]:
    """Do what the message asks for; else work for a while, and ask."""
    async for event in (_asked_for(prompt, message) or _asks)():
        yield event


def _asked_for(prompt: str, message: Message) -> Script | None:
    if script := scenario_of(message.message_id):
        return script
    counted = _COUNT.match(prompt)
    return partial(_counts, int(counted[1])) if counted else None


async def _counts(steps: int) -> AsyncIterator[Event]:
    for step in range(1, steps + 1):
        await asyncio.sleep(STEP_S)
        yield f"{step} "


async def _asks() -> AsyncIterator[Event]:
    yield {"progress": "Working"}
    await asyncio.sleep(WORKS_S)
    yield {"interrupt": "What else do you need?"}
