"""Messages that do not go through `add_messages` are read as the graph's code reads them; after a restart, too."""

from pathlib import Path
from typing import Any

import pytest
from tests.integration.test_odd_values import Talk, talking

GRAPHS = Path(__file__).with_name("entry_agents.py")
READ_BY_ROLE = ["plain_by_key", "plain_by_attribute", "typed_by_key", "typed_by_attribute", "dicts", "entries"]


@pytest.fixture(params=["memory", "sqlite", "restarted"])
def data(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return {"ephemeral": True} if request.param == "memory" else {"folder": str(tmp_path)}


def history(*said: str) -> Any:
    roles = ("ROLE_USER", "ROLE_AGENT") * len(said)
    turns = zip(roles, said, strict=False)
    return {"history": [{"messageId": text, "role": role, "parts": [{"text": text}]} for role, text in turns]}


async def two_answers(data: Any, graph: str, *, restarts: bool, metadata: Any) -> list[str]:
    async with talking(data, graph, {}, GRAPHS) as talk:
        first = await talk.answer("one", metadata=metadata)
        if not restarts:
            return [first, await talk.answer("two")]
    async with talking(data, graph, {}, GRAPHS) as again:
        goes_on = Talk(again.http)
        goes_on.context = talk.context
        return [first, await goes_on.answer("two")]


@pytest.mark.parametrize("graph", READ_BY_ROLE)
async def test_code_finds_messages_in_the_form_that_it_reads(
    data: Any, graph: str, request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture
) -> None:
    restarts = "restarted" in request.node.callspec.id
    first, second = await two_answers(data, graph, restarts=restarts, metadata=history("before", "then"))
    assert first == "[user=before assistant=then user=one]"
    assert second == f"[user=before assistant=then user=one assistant={first} user=two]"
    assert "Readable" not in caplog.text


async def test_strings_stay_strings(data: Any) -> None:
    first, second = await two_answers(data, "strings", restarts=False, metadata=history("before", "then"))
    assert (first, second) == ("[before|then|one]", f"[before|then|one|{first}|two]")


async def test_an_answer_in_the_place_of_the_message_may_say_the_same(data: Any) -> None:
    assert await two_answers(data, "replaced", restarts=False, metadata={}) == ["one", "two"]
