"""Graphs of the functional API over HTTP, without any configuration."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.integration import entrypoint_agents
from tests.integration.test_fields import texts_and_data
from tests.integration.test_odd_values import talking

GRAPHS = Path(entrypoint_agents.__file__)


@pytest.fixture(params=["memory", "sqlite"])
def data(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return {"ephemeral": True} if request.param == "memory" else {"folder": str(tmp_path)}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("text", "about hi"),
        ("same", "the same"),
        ("bare", "You said hi"),
        ("reworded", "in other words"),
        ("number", "2"),
        ("nothing", ""),
    ],
)
async def test_the_return_value_is_the_answer_each_time(data: Any, name: str, said: str) -> None:
    async with talking(data, name, {}, GRAPHS) as talk:
        for _ in range(2):
            task = await talk.say("hi")
            assert task["status"]["state"] == "TASK_STATE_COMPLETED"
            texts, values = texts_and_data({"artifacts": [], **task})
            assert ("".join(texts), values) == (said, [])


async def test_what_a_run_saves_is_there_for_the_next_one_also_after_a_failure(data: Any) -> None:
    async with talking(data, "counts", {}, GRAPHS) as talk:
        assert await talk.answer("one") == "1: one"
        failed = await talk.say("break")
        assert failed["status"]["state"] == "TASK_STATE_FAILED"
        assert "secret" not in str(failed)
        assert await talk.answer("two") == "2: two"


async def test_a_conversation_goes_on_and_its_last_message_is_the_answer(data: Any) -> None:
    async with talking(data, "talks", {}, GRAPHS) as talk:
        history = [{"role": role, "parts": [{"text": text}]} for role, text in (("user", "before"), ("agent", "yes"))]
        assert await talk.answer("one", metadata={"history": history}) == "You said before, one"
        assert await talk.answer("two", metadata={"history": history}) == "You said before, one, two"


@pytest.mark.parametrize(
    ("name", "parts", "said", "value"),
    [
        ("state", [{"text": "hi"}], "heard hi", {"score": 3}),
        ("mapping", [{"text": "hi"}], "hi", {"answer": "hi", "count": 1}),
        ("mapping", [{"data": {"topic": "tea", "more": 1}}], "tea", {"answer": "tea", "count": 2}),
        ("anything", [{"text": "hi"}], None, {"got": "str", "twice": "hihi"}),
        ("anything", [{"data": [1]}], "list", {"got": "list", "twice": [1, 1]}),
        ("order", [{"text": "tea"}], "1 tea", {"total": 2, "text": "1 tea"}),
        ("order", [{"text": "tea"}, {"data": {"count": 3}}], "3 tea", {"total": 6, "text": "3 tea"}),
        ("strict", [{"data": {"item": "tea", "count": 1}}], "tea", {"item": "tea", "count": 2}),
    ],
)
async def test_objects_go_in_and_come_out(data: Any, name: str, parts: Any, said: str | None, value: Any) -> None:
    async with talking(data, name, {}, GRAPHS) as talk:
        for _ in range(2):
            texts, values = texts_and_data(await talk.say("", parts=parts))
            assert values == [value]
            assert "".join(texts) == said if said is not None else json.loads("".join(texts)) == value


@pytest.mark.parametrize(
    ("name", "part", "told"),
    [
        ("strict", {"data": {"item": "tea", "count": "many"}}, "values that do not fit"),
        ("strict", {"data": {"other": 1}}, "Its fields: item, count"),
        ("text", {"raw": "aGk=", "mediaType": "image/png"}, "this agent takes text"),
        ("anything", {"data": None}, "a text or one data part"),
    ],
)
async def test_what_does_not_fit_is_refused_before_there_is_a_task(name: str, part: Any, told: str) -> None:
    async with talking({"ephemeral": True}, name, {}, GRAPHS) as talk:
        message = {"messageId": "m", "role": "ROLE_USER", "parts": [part]}
        refused = (await talk.http.post("/a2a/message:send", json={"message": message})).json()
        assert told in str(refused)
        assert "task" not in refused


async def test_tokens_are_streamed_and_what_is_not_the_answer_is_withdrawn() -> None:
    for name, said in (("bare", "You said hi"), ("reworded", "in other words")):
        async with talking({"ephemeral": True}, name, {}, GRAPHS) as talk:
            message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}
            response = await talk.http.post("/a2a/message:stream", json={"message": message})
            events = [json.loads(line[5:]) for line in response.text.splitlines() if line.startswith("data:")]
            updates = [event["artifactUpdate"] for event in events if "artifactUpdate" in event]
            pieces = ["".join(part["text"] for part in each["artifact"]["parts"]) for each in updates]
            whole = ""
            for update, piece in zip(updates, pieces, strict=True):
                whole = whole + piece if update.get("append") else piece
            assert whole == said
            assert "You " in pieces[0]
            assert len(pieces) > 2


async def test_a_question_survives_a_restart_and_finished_tasks_do_not_run_again(tmp_path: Path) -> None:
    async with talking({"folder": str(tmp_path)}, "asks", {}, GRAPHS) as talk:
        asked = await talk.say("once")
        assert asked["status"]["message"]["parts"][0]["text"] == "Which city?"
        context = talk.context
    async with talking({"folder": str(tmp_path)}, "asks", {}, GRAPHS) as talk:
        task = await talk.say("Rome", taskId=asked["id"], contextId=context)
        assert texts_and_data(task) == (["You said once in Rome, 1 kept, 1 call"], [])
        asked = await talk.say("again", contextId=context)
        assert texts_and_data(await talk.say("Oslo", taskId=asked["id"], contextId=context)) == (
            ["You said again in Oslo, 2 kept, 1 call"],
            [],
        )


async def test_the_card_says_which_fields_an_entrypoint_takes() -> None:
    async with talking({"ephemeral": True}, "order", {}, GRAPHS) as talk:
        card = (await talk.http.get("/.well-known/agent-card.json")).json()
        [fields] = [each for each in card["capabilities"]["extensions"] if "/fields/" in each["uri"]]
        assert fields["params"]["textField"] == "item"
        assert fields["params"]["input"]["required"] == ["item"]
        assert set(fields["params"]["output"]["properties"]) == {"total", "text"}
        assert "fields" in [skill["id"] for skill in card["skills"]]
