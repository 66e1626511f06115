"""Values that a store may not like are kept alike by every store, and the next turn finds the thread as it should be.

Postgres takes U+0000 neither in its text nor in its JSON, lone surrogates are in no encoding, and JSON has no number
that is none.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.postgres_server import PostgresServer

from llamon_agent.app import open_edge
from llamon_agent.config.edge import EdgeConfig

GRAPHS = Path(__file__).with_name("odd_agents.py")
KEYED = {"input_key": "q", "output_key": "out"}

_ids = count(1)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def data(request: pytest.FixtureRequest, tmp_path: Path, postgres: PostgresServer) -> Any:
    match request.param:
        case "memory":
            return {"ephemeral": True}
        case "sqlite":
            return {"folder": str(tmp_path)}
    return {"postgres": {"url": request.getfixturevalue("database_url"), "pool_min": 1}}


class Talk:
    """One conversation over the wire, in HTTP+JSON of 1.0."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self.http = http
        self.context = f"context {next(_ids)}"

    async def say(self, text: str, **more: Any) -> Any:
        """A turn: the task as it is then."""
        message = {
            "messageId": "m\0",
            "role": "ROLE_USER",
            "parts": [{"text": text}],
            "contextId": self.context,
            **more,
        }
        response = await self.http.post("/a2a/message:send", json={"message": message})
        assert response.status_code == 200, response.text
        return response.json()["task"]

    async def answer(self, text: str, **more: Any) -> str:
        """What a turn is answered with."""
        task = await self.say(text, **more)
        assert task["status"]["state"] == "TASK_STATE_COMPLETED", task["status"]
        again = await self.http.get(f"/a2a/tasks/{task['id']}")
        assert again.json()["artifacts"] == task["artifacts"]
        return "".join(part["text"] for part in task["artifacts"][-1]["parts"])


@asynccontextmanager
async def talking(data: Any, graph: str, langgraph: Any = KEYED, graphs: Path = GRAPHS) -> AsyncIterator[Talk]:
    sections = {
        "a2a": {"adapter": "langgraph", "target": f"{graphs}:{graph}"},
        "agents": {"demo": {"langgraph": langgraph}},
        "data": data,
    }
    async with (
        open_edge(EdgeConfig.model_validate(sections)) as edge,
        httpx2.AsyncClient(
            base_url="http://localhost", transport=httpx2.ASGITransport(edge), headers={"A2A-Version": "1.0"}
        ) as http,
    ):
        yield Talk(http)


async def test_a_prompt_with_a_nul_is_a_prompt_and_the_thread_goes_on(data: Any) -> None:
    async with talking(data, "remembers") as talk:
        assert await talk.answer("a\0b") == "|a\0b"
        assert await talk.answer("c\\0d") == "a\0b|c\\0d"
        assert await talk.answer("e") == "c\\0d|e"


async def test_messages_with_a_nul_are_messages(data: Any) -> None:
    async with talking(data, "chats", {}) as talk:
        first = await talk.answer("a\0b", metadata={"k\0": ["v\0"]})
        assert first == "a\0b"
        assert await talk.answer("c") == "a\0b|a\0b|c"


async def test_a_question_and_its_answer_may_hold_a_nul(data: Any) -> None:
    async with talking(data, "asks") as talk:
        asked = await talk.say("a\0b")
        assert asked["status"]["message"]["parts"][0]["text"] == "really a\0b?"
        assert await talk.answer("yes\0", taskId=asked["id"]) == "a\0b:yes\0"
        assert (await talk.say("c"))["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"


@pytest.mark.parametrize(
    ("word", "kept"),
    [
        ("nul", r"'a\x00b' None {'a\x00': ['\x00']}"),
        ("surrogate", "'a?b' None {'a': '?'}"),
        ("nan", "None nan None"),
        ("infinite", "None -inf None"),
        ("escape", r"'\\u0000 \\0' None None"),
    ],
)
async def test_a_state_keeps_what_a_node_has_put_there(data: Any, word: str, kept: str) -> None:
    async with talking(data, "keeps") as talk:
        assert await talk.answer(word) == "None None None"
        assert await talk.answer("again") == kept
        assert await talk.answer("again") == kept


async def test_a_state_keeps_objects_over_a_question_and_a_turn(data: Any) -> None:
    """Of the project's own classes, with values that LangGraph's serializer refuses, as on LangGraph's server."""
    async with talking(data, "finds", {}) as talk:
        expected = "yes"
        for word in ("one", "two"):
            asked = await talk.say(word)
            expected += f" https://example.com/{word}"
            assert await talk.answer("yes", taskId=asked["id"]) == expected
