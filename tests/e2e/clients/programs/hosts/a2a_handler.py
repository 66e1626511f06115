"""a2a-handler: its command line, with the JSON that it prints for programs. It keeps its files in a home of its own."""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from tests.e2e.clients.programs.wire import serve

Json = dict[str, Any]
COMMAND = Path(sys.executable).with_name("handler")


class Connection:
    """An agent's address, with the open question of each conversation."""

    def __init__(self, url: str, home: str) -> None:
        self._url = url
        self._environment = os.environ | {"HOME": home}
        self._asking: dict[str, str] = {}

    async def say(self, text: str, conversation: str) -> Json:
        """A task's answer is its artifacts; where it has none, or failed, the status says more."""
        task = await self._task(text, "--context-id", conversation, *self._answering(conversation))
        state = task["status"]["state"]
        if state == "TASK_STATE_INPUT_REQUIRED":
            self._asking[conversation] = task["id"]
        said = task.get("artifacts") or [task["status"]["message"]]
        shown = "".join(part["text"] for one in said for part in one["parts"])
        return {"text": shown, "failed": state == "TASK_STATE_FAILED"}

    async def stream(self, text: str, conversation: str) -> AsyncIterator[str]:
        shown = ""
        async for event in self._run("message", "send", "--text", text, "--context-id", conversation, "--stream"):
            if event["type"] == "artifact":
                shown += event["text"]
                yield shown

    async def cancel(self, text: str) -> str:
        task_id = str((await self._task(text, "--no-wait"))["id"])
        async for _ in self._run("task", "cancel", "--task", task_id):
            pass
        return task_id

    def _answering(self, conversation: str) -> list[str]:
        return ["--task-id", self._asking.pop(conversation)] if conversation in self._asking else []

    async def _task(self, text: str, *options: str) -> Json:
        [task] = [each async for each in self._run("message", "send", "--text", text, *options)]
        return task

    async def _run(self, *arguments: str) -> AsyncIterator[Json]:
        """What it prints, a value a line."""
        command = [str(COMMAND), "--output", "ndjson", *arguments, "--url", self._url]
        process = await asyncio.create_subprocess_exec(
            *command, stdout=asyncio.subprocess.PIPE, env=self._environment, limit=1 << 24
        )
        assert process.stdout is not None
        async for line in process.stdout:
            yield json.loads(line)
        if await process.wait():
            raise RuntimeError(f"handler ended with {process.returncode}")


async def connect(url: str, **_: str) -> Connection:
    return Connection(url, tempfile.mkdtemp())


if __name__ == "__main__":
    asyncio.run(serve(connect))
