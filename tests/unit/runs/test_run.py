import asyncio

import pytest
from tests.unit.runs.living import execution_of, run_of, task_of

from llamon_agent.domain.errors import BackendError
from llamon_agent.domain.events import Snapshot, StatusUpdate
from llamon_agent.domain.message import Message, Role, Text
from llamon_agent.domain.task import TaskState, TaskStatus
from llamon_agent.runs.run import Execution


async def test_a_run_that_ends_is_settled_as_it_ended() -> None:
    run, done = run_of(task_of()), task_of(state=TaskState.COMPLETED)
    waiting = asyncio.create_task(run.wait_settled(5))
    run.end(done)
    assert await waiting is done
    assert (run.task, run.has_ended, await run.wait_settled(0)) == (done, True, done)


async def test_one_that_does_not_end_in_time_is_shown_as_it_is() -> None:
    run = run_of(task_of())
    assert await run.wait_settled(0.001) == task_of()
    assert (run.task, run.has_ended) == (task_of(), False)


@pytest.mark.parametrize("lost", [BackendError("gone"), None])
async def test_an_end_that_could_not_be_recorded_is_an_error(lost: BackendError | None) -> None:
    run = run_of(task_of())
    run.live.lost = lost
    run.end(None)
    async with asyncio.timeout(5):
        await run.wait_ended()
    with pytest.raises(BackendError) as caught:
        await run.wait_settled(5)
    assert lost in (None, caught.value)


async def test_a_submission_returns_with_the_reply() -> None:
    execution = execution_of(task_of())
    opening = execution.opening = asyncio.get_running_loop().create_future()
    reply = Message(message_id="r", role=Role.AGENT, parts=(Text.of("hi"),))
    execution.open(reply)
    assert (opening.done(), execution.run.reply) == (True, reply)


async def test_opening_after_the_caller_has_left_changes_nothing() -> None:
    for end in (Execution.open, lambda execution: execution.refuse(BackendError())):
        execution = execution_of(task_of())
        opening = execution.opening = asyncio.get_running_loop().create_future()
        opening.cancel()
        for _ in range(2):
            end(execution)
        assert opening.cancelled()


async def test_the_end_stops_the_timers_of_a_run() -> None:
    execution = execution_of(task_of())
    execution.timers.append(asyncio.get_running_loop().call_later(60, print))
    execution.end(task_of())
    assert execution.timers[0].cancelled()


async def test_a_late_follower_gets_everything_since_the_submission() -> None:
    run = run_of(task_of())
    status = TaskStatus(state=TaskState.INPUT_REQUIRED, at_ms=1)
    run.live.event_log.publish(StatusUpdate(seq=2, status=status))
    async with asyncio.timeout(5):
        events = [event async for batch in run.follow() for event in batch]
    assert events == [Snapshot(task=task_of()), StatusUpdate(seq=2, status=status)]
