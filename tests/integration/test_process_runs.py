"""Commands under the run service: how their runs end, and that a stopped run has really stopped."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.unit.adapters.process.commands import agent_of, children, sh

from llamon_agent.domain.caller import Caller
from llamon_agent.domain.events import ArtifactUpdate
from llamon_agent.domain.message import Message, Role, Text, texts
from llamon_agent.domain.task import Task, TaskState
from llamon_agent.runs.ports.agent import Agent
from llamon_agent.runs.ports.run import RunRequest, Runtime, Target
from llamon_agent.runs.run import Run
from llamon_agent.runs.service import RunService
from llamon_agent.store.memory import MemoryTaskStore
from llamon_agent.testing.scripted import HandClock, counting_ids

ENDLESS = "echo begun; sleep 1000 & wait"


@asynccontextmanager
async def serving(agent: Agent, *, timeout_s: float = 60) -> AsyncIterator[RunService]:
    """The run service, and that no process is left when it has closed."""
    before = children()
    target = Target(name="demo", adapter="process", target="", timeout_s=timeout_s)
    service = RunService(MemoryTaskStore(), {"demo": Runtime(target, agent)}, clock=HandClock(), new_id=counting_ids())
    async with asyncio.timeout(10), service:
        yield service
    assert children() == before


async def begin(service: RunService, text: str = "hi", *, task_id: str | None = None) -> Run:
    message = Message(message_id="m", role=Role.USER, parts=(Text.of(text),))
    return await service.submit_run(
        RunRequest(caller=Caller(), agent="demo", message=message, prompt=text, task_id=task_id, context_id="c")
    )


async def begun(service: RunService) -> Run:
    """A run whose command has said something."""
    run = await begin(service)
    async for batch in run.follow():
        if any(isinstance(event, ArtifactUpdate) for event in batch):
            break
    return run


def said(task: Task) -> tuple[TaskState, str, str]:
    """The state, the answer, and what the status says."""
    answer = "".join(text for artifact in task.artifacts for text in texts(artifact.parts))
    status = texts(task.status.message.parts) if task.status.message else []
    return task.status.state, answer, "".join(status)


async def test_exit_code_zero_is_completed() -> None:
    async with serving(agent_of("cat")) as service:
        assert said(await (await begin(service)).wait_settled(5)) == (TaskState.COMPLETED, "hi", "")


async def test_another_exit_code_is_failed_with_what_was_said() -> None:
    async with serving(agent_of(sh("echo half; exit 3"))) as service:
        task = await (await begin(service)).wait_settled(5)
    assert said(task) == (TaskState.FAILED, "half", "The command ended with code 3.")
    assert task.artifacts[0].metadata == {"incomplete": True}


async def test_a_question_waits_and_is_answered_by_another_process() -> None:
    script = """read -r prompt; test "$prompt" = yes && echo '{"complete": "done"}' || echo '{"interrupt": "sure?"}'"""
    async with serving(agent_of(sh(script), output="jsonl")) as service:
        asked = await (await begin(service, "delete\n")).wait_settled(5)
        assert said(asked) == (TaskState.INPUT_REQUIRED, "", "sure?")
        answered = await (await begin(service, "yes\n", task_id=asked.id)).wait_settled(5)
    assert said(answered) == (TaskState.COMPLETED, "done", "")


async def test_a_cancel_ends_the_process_before_it_is_canceled() -> None:
    before = children()
    async with serving(agent_of(sh(ENDLESS))) as service:
        run = await begun(service)
        assert children() > before
        task = await service.cancel_run("default", "demo", run.task.id, again_ok=True)
        assert said(task) == (TaskState.CANCELED, "begun", "")
        assert children() == before


async def test_a_timeout_ends_the_process_and_says_so() -> None:
    before = children()
    async with serving(agent_of(sh(ENDLESS)), timeout_s=0.2) as service:
        task = await (await begin(service)).wait_settled(5)
        state, _, reason = said(task)
        assert (state, reason) == (TaskState.FAILED, "The agent did not finish within 0.2 seconds.")
        assert children() == before


async def test_an_edge_that_stops_takes_its_commands_along() -> None:
    async with serving(agent_of(sh(ENDLESS))) as service:
        run = await begun(service)
    assert run.task.status.state is TaskState.FAILED
