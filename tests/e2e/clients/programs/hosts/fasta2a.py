"""Pydantic's fasta2a: `A2AClient`, with an agent's address. It speaks JSON-RPC by its own types."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from typing import Any

from fasta2a.client import A2AClient
from fasta2a.schema import Message, Part
from tests.e2e.clients.programs.wire import serve

Json = dict[str, Any]


class RpcError(Exception):
    """The error that the client gives back instead of raising it."""


class Connection:
    """A client."""

    def __init__(self, client: A2AClient) -> None:
        self._client = client

    async def say(self, text: str, conversation: str, history: list[Json] | None = None) -> Json:
        answer = await self._client.send_message(_message(text, conversation, history))
        task = _result(answer).get("task", {"status": {"state": "unknown"}})
        said = task.get("artifacts") or [task["status"].get("message", {"parts": []})]
        return {"text": _text(said), "failed": task["status"]["state"] == "failed"}

    async def stream(self, text: str, conversation: str) -> AsyncIterator[str]:
        artifacts: Json = {}
        async for answer in self._client.stream_message(_message(text, conversation)):
            if update := _result(answer).get("artifact_update"):
                name, before = update["artifact"]["artifact_id"], ""
                before = artifacts.get(name, "") if update.get("append") else ""
                artifacts[name] = before + _text([update["artifact"]])
                yield "".join(artifacts.values())


def _message(text: str, conversation: str, history: list[Json] | None = None) -> Message:
    message = Message(role="user", parts=[Part(text=text)], message_id=str(uuid.uuid4()), context_id=conversation)
    if history:
        message["metadata"] = {"history": history}
    return message


def _result(answer: Any) -> Any:
    if "error" in answer:
        raise RpcError(str(answer["error"]))
    return answer["result"]


def _text(said: list[Json]) -> str:
    return "".join(part.get("text", "") for one in said for part in one["parts"])


async def connect(url: str, **_: str) -> Connection:
    return Connection(A2AClient(f"{url}/a2a"))


if __name__ == "__main__":
    asyncio.run(serve(connect))
