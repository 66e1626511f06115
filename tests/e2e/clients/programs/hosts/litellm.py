"""LiteLLM: `asend_message` and `asend_message_streaming` with a client of `create_a2a_client`."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from typing import Any

from a2a.compat.v0_3.types import MessageSendParams, SendMessageRequest, SendStreamingMessageRequest
from litellm.a2a_protocol import asend_message, asend_message_streaming, create_a2a_client
from tests.e2e.clients.programs.wire import serve

Json = dict[str, Any]


class Connection:
    """The agent's address, with the open question of each conversation."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._asking: dict[str, str] = {}

    async def say(self, text: str, conversation: str, history: list[Json] | None = None) -> Json:
        params = self._params(text, conversation, {"history": history} if history else None)
        client = await create_a2a_client(base_url=self._url)
        answer = await asend_message(a2a_client=client, request=SendMessageRequest(id="1", params=params))
        task = answer.result
        if task["status"]["state"] == "input-required":
            self._asking[conversation] = task["id"]
        said = task.get("artifacts") or [task["status"].get("message") or {"parts": []}]
        return {"text": _text(said), "failed": task["status"]["state"] == "failed"}

    async def stream(self, text: str, conversation: str) -> AsyncIterator[str]:
        request = SendStreamingMessageRequest(id="1", params=self._params(text, conversation))
        client = await create_a2a_client(base_url=self._url, streaming=True)
        artifacts: dict[str, str] = {}
        async for answer in asend_message_streaming(a2a_client=client, request=request):
            event = answer.model_dump(mode="json", exclude_none=True)["result"]
            if event["kind"] == "artifact-update":
                name = event["artifact"]["artifactId"]
                before = artifacts.get(name, "") if event.get("append") else ""
                artifacts[name] = before + _text([event["artifact"]])
                yield "".join(artifacts.values())

    def _params(self, text: str, conversation: str, metadata: Json | None = None) -> MessageSendParams:
        message = {
            "role": "user",
            "parts": [{"kind": "text", "text": text}],
            "messageId": str(uuid.uuid4()),
            "contextId": conversation,
            "taskId": self._asking.pop(conversation, None),
            "metadata": metadata,
        }
        return MessageSendParams.model_validate({"message": message})


def _text(said: list[Json]) -> str:
    return "".join(part.get("text", "") for one in said for part in one["parts"])


async def connect(url: str, **_: str) -> Connection:
    return Connection(url)


if __name__ == "__main__":
    asyncio.run(serve(connect))
