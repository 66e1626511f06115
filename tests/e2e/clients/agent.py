"""An agent that does on demand whatever an A2A agent can do; the clients' tests call it.

The prompt's first word says what; see `_obeyed`.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

from llamon_agent.domain.events import ArtifactMade
from llamon_agent.domain.message import Message, Part, Raw
from llamon_agent.domain.task import Artifact

Said = str | dict[str, Any] | ArtifactMade

ALL_BYTES = bytes(range(256))
TABLE: dict[str, Any] = {
    "rows": [{"name": "한글", "n": 1}, {"name": "☃", "n": -2.5}],
    "none": None,
    "yes": True,
    "empty": {},
}


class Everything:
    """Keeps its messages by thread, its questions, and the runs that it holds."""

    def __init__(self) -> None:
        self._told: dict[str, list[str]] = {}
        self._gates: dict[str, asyncio.Event] = {}

    async def stream(
        self,
        prompt: str,
        *,
        message: Message,
        thread_id: str,
        prefill_messages: Sequence[Any] = (),
        answer: str | None = None,
    ) -> AsyncIterator[Said]:
        """Take one turn."""
        told = self._told.setdefault(thread_id, [])
        told += [str(each.text) for each in prefill_messages]
        if answer is not None:
            yield f"You answered: {answer}"
            return
        async for said in self._obeyed(prompt, message, told):
            yield said
        told.append(prompt)

    async def _obeyed(self, prompt: str, message: Message, told: Sequence[str]) -> AsyncIterator[Said]:
        command, *words = prompt.split(maxsplit=1)
        rest = " ".join(words)
        match command:
            case "find_key":
                yield " | ".join(told)
            case "ask":
                yield {"interrupt": f"Which {rest}?"}
            case "login":
                yield {"auth": f"Sign in to {rest}."}
            case "reject":
                yield {"reject": f"No {rest} here."}
            case "reply":
                yield {"reply": f"Directly: {rest}"}
            case "fail":
                yield "Half an "
                raise RuntimeError(rest)
            case "break":
                raise RuntimeError(rest)
            case "wait":
                yield {"progress": f"Waiting for {rest}"}
                await self._gate(rest).wait()
                yield f"Let go: {rest}"
            case "pause":
                yield "Before, "
                await self._gate(rest).wait()
                yield "and after."
            case "open":
                self._gate(rest).set()
                yield f"Opened: {rest}"
            case "mirror":
                for number, part in enumerate(message.parts[1:]):
                    yield ArtifactMade(artifact=Artifact(artifact_id=f"mirror-{number}", parts=(part,)))
                yield fingerprint(message.parts[1:])
            case "several":
                for artifact in SEVERAL:
                    yield {"artifact": artifact}
                yield "That was all."
            case "list":
                yield {"artifact": {"name": "list", "parts": [{"data": [1, "two", {"three": True}]}]}}
            case _:
                for word in f"You said: {prompt}".split(" "):
                    yield f"{word} "

    def _gate(self, name: str) -> asyncio.Event:
        return self._gates.setdefault(name, asyncio.Event())


SEVERAL: list[dict[str, Any]] = [
    {"name": "note", "description": "Some words.", "parts": [{"text": "first"}, {"data": {"second": 2}}]},
    {"name": "table", "parts": [{"data": TABLE}]},
    {
        "name": "files",
        "parts": [
            {"bytes": ALL_BYTES, "media_type": "application/octet-stream", "filename": "all.bin"},
            {"url": "https://example.com/a%20b?c=d#e", "media_type": "application/pdf"},
        ],
    },
]


def fingerprint(parts: Sequence[Part]) -> str:
    """What arrived, so that a test sees that the bytes were right on our side too."""
    return " ".join(hashlib.sha256(part.data).hexdigest() for part in parts if isinstance(part, Raw))
