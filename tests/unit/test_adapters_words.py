"""The custom agent that docs/adapters.md shows, as its callers meet it: every word of it does what the page says."""

import re
from pathlib import Path
from typing import Any

from tests.unit.runs.serving import ask, request, serving, status_text

from llamon_agent.adapters.custom.agent import CustomAgent
from llamon_agent.adapters.prompts import plain_prefill
from llamon_agent.domain.message import Data, Text
from llamon_agent.domain.task import Artifact, TaskState, answer_text

PAGE = Path(__file__).parents[2] / "docs" / "adapters.md"


def clerk() -> CustomAgent:
    section = PAGE.read_text(encoding="utf-8").split("\n## custom\n")[1].split("\n## ")[0]
    (program,) = re.findall(r"^```python\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {}
    exec(program, names)
    return CustomAgent(names["clerk"], prefill_to_lc=plain_prefill)


async def test_a_reply_is_a_message() -> None:
    async with serving(clerk(), direct_messages=True) as service:
        run = await service.submit_run(request("hello"))
    assert run.reply is not None
    assert run.reply.parts == (Text.of("Hello! I keep the files."),)


async def test_a_refusal_rejects_the_task() -> None:
    async with serving(clerk(), direct_messages=True) as service:
        task = await ask(service, "hurry")
    assert (task.status.state, status_text(task)) == (TaskState.REJECTED, "I only work slowly.")


async def test_a_sign_in_is_asked_for_and_then_the_work_goes_on() -> None:
    async with serving(clerk(), direct_messages=True) as service:
        paused = await ask(service, "open the safe", context="c1")
        assert paused.status.state is TaskState.AUTH_REQUIRED
        task = await ask(service, "done", context="c1")
    assert (task.id, task.status.state) == (paused.id, TaskState.COMPLETED)
    assert answer_text(task.artifacts) == "The safe is open."


async def test_artifacts_come_whole_or_in_pieces_beside_the_answer() -> None:
    async with serving(clerk(), direct_messages=True) as service:
        task = await ask(service, "report")
    answer, log, table = task.artifacts
    assert answer == Artifact(artifact_id="answer-1", parts=(Text.of("Here it is."),))
    assert log == Artifact(artifact_id="log", name="log", parts=(Text.of("one two"),))
    assert (table.name, table.parts, table.metadata) == ("table", (Data(data=[1, 2]),), {"rows": 2})
