"""Hearing an agent out: what it says becomes the task's, until it says how the run ends."""

import asyncio

from llamon_agent.domain.events import Cancelled, Complete, Error, Interrupt, NodeLost
from llamon_agent.runs.decisions import Outcome
from llamon_agent.runs.ports import Runtime, Turn
from llamon_agent.runs.recorder import Recorder, to_its_end
from llamon_agent.runs.run import Run

_EVENTS_PER_BREATH = 64
"""How many events an agent may say in one go before others get the event loop."""


async def hear_out(run: Run, turn: Turn, runtime: Runtime, recorder: Recorder, *, snapshot_every_s: float) -> Outcome:
    """Give the agent its turn, and tell the run's task what it says; how it ends.

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
            if isinstance(event, Complete | Interrupt | Error | Cancelled | NodeLost):
                return event
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
