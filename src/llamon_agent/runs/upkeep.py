"""What a housekeeper does to tasks and threads, without getting in the way of this process's runs.

A thread is deleted while nobody is in its context, and whoever comes meanwhile waits. Between processes there is no
such wait: who goes on with a context in the very moment in which another process forgets it, after a silence as long as
tasks are kept, may find its thread half gone.
"""

import asyncio
import logging
from collections.abc import Callable

from llamon_agent.domain.errors import AgentError, BackendError
from llamon_agent.domain.events import Error
from llamon_agent.domain.principal import thread_id
from llamon_agent.domain.task import Task
from llamon_agent.runs.ports import ContextKey, Limits, Runtime
from llamon_agent.runs.run import Run
from llamon_agent.runs.under_way import UnderWay

logger = logging.getLogger(__name__)

EXPIRED = "Nobody answered in time, so the task has ended."


class Upkeep:
    """Ends pauses, deletes threads. Shape: runtime_of gives what executes an agent's runs now, None if it is gone."""

    def __init__(self, under_way: UnderWay, limits: Limits, runtime_of: Callable[[str], Runtime | None]) -> None:
        self._under_way = under_way
        self._limits = limits
        self._runtime_of = runtime_of
        self._forgetting: dict[ContextKey, asyncio.Event] = {}

    async def expire(self, task: Task) -> bool:
        """End a paused task that nobody has answered; one that goes on by now is left alone. Whether it has ended.

        Raises: BackendError.
        """
        live = self._under_way.live.get(task.id)
        is_answered = task.id in self._under_way.runs or (live is not None and live.task.status != task.status)
        if is_answered or self._under_way.conductor.closing:
            return False
        run = Run(self._under_way.alive(task), self._runtime_of(task.agent), None, task, self._under_way.let_go)
        self._under_way.runs[task.id] = self._under_way.conductor.start_abandoning(run, Error(public=EXPIRED))
        return (await run.settled(self._limits.cancel_grace_s * 2)).is_terminal

    async def forget(self, context: ContextKey) -> None:
        """Delete the thread of a context that has no task left; one that has a task again is left alone.

        An agent that is not served any more keeps its threads: nobody is there to delete them.
        """
        owner, agent, context_id = context
        runtime = self._runtime_of(agent)
        if runtime is None or not self._under_way.lanes.is_free(context):
            return
        forgotten = self._forgetting[context] = asyncio.Event()
        try:
            await runtime.agent.forget(thread_id(owner, context_id))
        except (AgentError, BackendError) as exc:
            ids = {"context_id": context_id, "agent": agent}
            logger.warning("the thread of a forgotten conversation could not be deleted", exc_info=exc, extra=ids)
        finally:
            del self._forgetting[context]
            forgotten.set()

    async def forgotten(self, context: ContextKey) -> None:
        """Wait while the thread of a context is being deleted."""
        while (forgotten := self._forgetting.get(context)) is not None:
            await forgotten.wait()
