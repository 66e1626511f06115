"""Graphs without messages in their state, over HTTP and without any configuration."""

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.integration.test_odd_values import talking

GRAPHS = Path(__file__).with_name("field_agents.py")


def texts_and_data(task: Any) -> tuple[list[str], list[Any]]:
    parts = [part for artifact in task["artifacts"] for part in artifact["parts"]]
    return [part["text"] for part in parts if "text" in part], [part["data"] for part in parts if "data" in part]


@pytest.fixture(params=["memory", "sqlite"])
def data(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return {"ephemeral": True} if request.param == "memory" else {"folder": str(tmp_path)}


async def test_text_goes_in_and_comes_out(data: Any) -> None:
    async with talking(data, "starter", {}, GRAPHS) as talk:
        for text in ("hi", "hi", "you"):
            task = await talk.say(text)
            assert texts_and_data(task) == ([f"output of {text}"], [{"changeme": f"output of {text}"}])
            assert (await talk.http.get(f"/a2a/tasks/{task['id']}")).json()["artifacts"] == task["artifacts"]


async def test_text_comes_out_of_a_stream() -> None:
    async with talking({"ephemeral": True}, "starter", {}, GRAPHS) as talk:
        message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}
        response = await talk.http.post("/a2a/message:stream", json={"message": message})
        events = [json.loads(line[5:]) for line in response.text.splitlines() if line.startswith("data:")]
        updates = [event["artifactUpdate"]["artifact"] for event in events if "artifactUpdate" in event]
        parts = [part for artifact in updates for part in artifact["parts"]]
        assert "".join(part.get("text", "") for part in parts) == "output of hi"
        assert [part["data"] for part in parts if "data" in part] == [{"changeme": "output of hi"}]
        assert events[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"


async def test_data_are_the_input_and_the_output(data: Any) -> None:
    async with talking(data, "order", {}, GRAPHS) as talk:
        parts = [{"text": "tea"}, {"data": {"options": {"milk": 1, "mug": 2}}}]
        for _ in range(2):
            task = await talk.say("", parts=parts)
            said = f"tea in {talk.context}"
            assert texts_and_data(task) == ([said], [{"total": 3, "confirmation": said}])


async def test_a_question_is_answered_and_what_came_before_it_is_in_the_answer(data: Any) -> None:
    async with talking(data, "order", {}, GRAPHS) as talk:
        parts = [{"data": {"item": "car", "options": {"wheels": 400}}}]
        for _ in range(2):
            asked = await talk.say("", parts=parts)
            assert asked["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
            task = await talk.say("yes", taskId=asked["id"])
            said = f"car in {talk.context}"
            assert texts_and_data(task) == ([said], [{"total": 400, "confirmation": said}])


async def refusal(http: httpx2.AsyncClient, *parts: Any) -> Any:
    message = {"messageId": "m", "role": "ROLE_USER", "parts": parts}
    body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}
    return (await http.post("/a2a", json=body)).json()["error"]


@pytest.mark.parametrize(
    ("graph", "part", "fields"),
    [
        ("loose", {"text": "hi"}, "one, other"),
        ("starter", {"data": {"change_me": "hi"}}, "changeme"),
        ("order", {"data": {"item": "tea", "more": 1}}, "item, options"),
    ],
)
async def test_what_has_no_field_is_refused_before_there_is_a_task(graph: str, part: Any, fields: str) -> None:
    async with talking({"ephemeral": True}, graph, {}, GRAPHS) as talk:
        error = await refusal(talk.http, part)
        assert error["code"] == -32602
        assert error["message"].endswith(f"Its fields: {fields}.")
        assert (await talk.http.get("/a2a/tasks")).json()["tasks"] == []


@pytest.mark.parametrize(
    ("graph", "skill", "params"),
    [
        (
            "starter",
            "Takes data parts with these fields: changeme. Text is the field changeme.",
            {
                "input": {
                    "type": "object",
                    "properties": {"changeme": {"type": "string", "default": "example"}},
                    "required": [],
                },
                "textField": "changeme",
                "output": {"type": "object", "properties": {"changeme": {"type": "string", "default": "example"}}},
            },
        ),
        (
            "loose",
            "Takes data parts with these fields: one, other. Text alone belongs to none of them.",
            {
                "input": {
                    "type": "object",
                    "properties": {"one": {"type": "string"}, "other": {"type": "string"}},
                    "required": [],
                },
                "output": {"type": "object", "properties": {"one": {"type": "string"}, "other": {"type": "string"}}},
            },
        ),
        (
            "odd",
            "Takes data parts with these fields: q, calls, unspeakable. Text is the field q.",
            {
                "input": {
                    "type": "object",
                    "properties": {"q": {"type": "string"}, "calls": {}, "unspeakable": {}},
                    "required": ["q", "calls", "unspeakable"],
                },
                "textField": "q",
                "output": {"type": "object", "properties": {"q": {"type": "string"}, "calls": {}, "unspeakable": {}}},
            },
        ),
    ],
)
async def test_the_card_says_what_goes_in_and_what_comes_out(graph: str, skill: str, params: Any) -> None:
    async with talking({"ephemeral": True}, graph, {}, GRAPHS) as talk:
        for version in ("1.0", "0.3"):
            response = await talk.http.get("/.well-known/agent-card.json", headers={"A2A-Version": version})
            card = response.json()
            found = {each["uri"]: each for each in card["capabilities"]["extensions"]}
            assert found["https://llamon-agent.example/extensions/fields/v1"]["params"] == params
            assert [each["description"] for each in card["skills"]] == [skill]
            assert card["defaultOutputModes"] == ["text/plain", "application/json"]


async def test_a_caller_that_takes_only_data_gets_the_fields() -> None:
    async with talking({"ephemeral": True}, "starter", {}, GRAPHS) as talk:
        message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}
        body = {"message": message, "configuration": {"acceptedOutputModes": ["application/json"]}}
        task = (await talk.http.post("/a2a/message:send", json=body)).json()["task"]
        assert {"changeme": "output of hi"} in texts_and_data(task)[1]
