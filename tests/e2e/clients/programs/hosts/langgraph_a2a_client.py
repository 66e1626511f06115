"""langgraph-a2a-client: the tools that a graph's model is given; here we call the one that sends."""

import asyncio
from typing import Any

from langgraph_a2a_client import A2AClientToolProvider
from tests.e2e.clients.programs.wire import serve


class ToolError(Exception):
    """The error that the tool gives back instead of raising it."""


class Connection:
    """The tool, and the agent's address."""

    def __init__(self, send: Any, url: str) -> None:
        self._send = send
        self._url = url

    async def say(self, text: str, conversation: str) -> dict[str, Any]:
        result = await self._send.ainvoke({"message_text": text, "target_agent_url": self._url})
        if result["status"] == "error":
            raise ToolError(result["error"])
        task = result["response"]["task"]
        said = [*(task.get("artifacts") or []), *([task["status"]["message"]] if "message" in task["status"] else [])]
        return {"text": "".join(part["text"] for one in said for part in one["parts"])}


async def connect(url: str, **_: str) -> Connection:
    tools = {tool.name: tool for tool in A2AClientToolProvider(known_agent_urls=[url]).tools}
    return Connection(tools["a2a_send_message"], url)


if __name__ == "__main__":
    asyncio.run(serve(connect))
