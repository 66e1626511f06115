import asyncio
import sys

import pytest

from llamon_agent.serving.process import AgentExited, contained_task


@pytest.fixture
async def contained() -> None:
    asyncio.get_running_loop().set_task_factory(contained_task)


async def exits() -> None:
    await asyncio.sleep(0)
    sys.exit(3)


async def interrupts() -> None:
    try:
        await asyncio.Event().wait()
    finally:
        raise KeyboardInterrupt


@pytest.mark.usefixtures("contained")
async def test_a_task_that_exits_fails_and_the_loop_goes_on() -> None:
    with pytest.raises(AgentExited) as raised:
        await asyncio.create_task(exits())
    assert isinstance(raised.value.__cause__, SystemExit)
    assert await asyncio.create_task(asyncio.sleep(0, "still here")) == "still here"


@pytest.mark.usefixtures("contained")
async def test_a_task_that_raises_an_interrupt_while_it_is_cancelled_fails() -> None:
    task = asyncio.create_task(interrupts())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(AgentExited):
        await task


@pytest.mark.usefixtures("contained")
async def test_a_task_that_never_starts_leaves_nothing_behind() -> None:
    task = asyncio.create_task(exits(), name="named")
    assert task.get_name() == "named"
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.usefixtures("contained")
async def test_groups_timeouts_and_results_work_as_ever() -> None:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(asyncio.sleep(0, 1))
    assert task.result() == 1
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.Event().wait(), 0.001)
