"""Pydantic's fasta2a before 1.0: `A2AClient`, with an agent's address. It sends, and reads tasks."""

import asyncio
import uuid
from typing import Any

from fasta2a.client import A2AClient
from fasta2a.schema import Message, TextPart
from tests.e2e.clients.programs.wire import serve

Json = dict[str, Any]


class RpcError(Exception):
    """The error that the client gives back instead of raising it."""


class Connection:
    """A client."""

    def __init__(self, client: A2AClient) -> None:
        self._client = client

    async def say(self, text: str, conversation: str, history: list[Json] | None = None) -> Json:
        message = Message(
            kind="message",
            role="user",
            parts=[TextPart(kind="text", text=text)],
            message_id=str(uuid.uuid4()),
            context_id=conversation,
        )
        metadata = {"history": history} if history else None
        configuration = {"accepted_output_modes": ["text/plain"], "blocking": True}
        answer = await self._client.send_message(message, metadata=metadata, configuration=configuration)
        if "error" in answer:
            raise RpcError(str(answer["error"]))
        task = answer["result"]
        said = task.get("artifacts") or [task["status"]["message"]]
        shown = "".join(part.get("text", "") for one in said for part in one["parts"])
        return {"text": shown, "failed": task["status"]["state"] == "failed"}


async def connect(url: str, **_: str) -> Connection:
    return Connection(A2AClient(f"{url}/a2a"))


if __name__ == "__main__":
    asyncio.run(serve(connect))
