"""Hearing an agent out: what it says becomes the task's, until it says how the run ends."""

import asyncio

from llamon_agent.domain.events import Complete, Outcome, Started
from llamon_agent.runs.ports import Runtime, Turn
from llamon_agent.runs.recorder import Recorder, to_its_end
from llamon_agent.runs.run import Run, Stop

_EVENTS_PER_BREATH = 64
"""How many events an agent may say in one go before others get the event loop."""


async def hear_out(
    run: Run, turn: Turn, runtime: Runtime, recorder: Recorder, *, snapshot_every_s: float
) -> Outcome | Stop:
    """Give the agent its turn, and tell the run's task what it says; how it ends.

    A run that is opening is a task as soon as it says anything, beside that it has started and how it ends.

    Raises: what the agent raises. Cancelling closes the agent's generator first.
    """
    loop = asyncio.get_running_loop()
    next_record_s = loop.time() + snapshot_every_s
    count = 0
    events = runtime.agent.run(turn)
    try:
        async for event in events:
            if run.stopping is not None:
                return run.stopping
            if isinstance(event, Outcome):
                return event
            if run.opening is not None and not isinstance(event, Started):
                await to_its_end(recorder.open(run))
            run.live.hear(event)
            count += 1
            if count % _EVENTS_PER_BREATH == 0:
                await asyncio.sleep(0)
            if loop.time() >= next_record_s:
                await to_its_end(recorder.snapshot(run.live))
                next_record_s = loop.time() + snapshot_every_s
    finally:
        await events.aclose()
    return Complete()
