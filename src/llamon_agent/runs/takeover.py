"""What this process does with tasks that nobody works on: it goes on with their runs, or ends them."""

from collections.abc import Callable

from llamon_agent.domain.errors import BackendError, Conflict
from llamon_agent.domain.events import Error
from llamon_agent.domain.task import PAUSED, Task, TaskState
from llamon_agent.runs.ports import Abandoned, ContextKey, Limits, Runtime, TaskQuery, TaskStore
from llamon_agent.runs.recorder import Recorder
from llamon_agent.runs.recovery import Again, GiveUp, decide_recovery
from llamon_agent.runs.under_way import UnderWay

LOST = "The agent's answer could not be stored."


async def paused_in(store: TaskStore, context: ContextKey) -> Task | None:
    """The paused task that a context has by the store."""
    owner, agent, context_id = context
    query = TaskQuery(owner=owner, agent=agent, context_id=context_id, states=tuple(PAUSED), limit=1)
    page = await store.list(query)
    return page.tasks[0] if page.tasks else None


class Takeover:
    """Goes on with abandoned runs. Shape: runtime_of gives what executes an agent's runs now, None if it is gone."""

    def __init__(
        self,
        store: TaskStore,
        recorder: Recorder,
        under_way: UnderWay,
        limits: Limits,
        runtime_of: Callable[[str], Runtime | None],
    ) -> None:
        self._store = store
        self._recorder = recorder
        self._under_way = under_way
        self._limits = limits
        self._runtime_of = runtime_of

    async def resume(self, abandoned: Abandoned) -> None:
        """Take up a run that was taken over, or end its task. Raises: BackendError; its task is ended later."""
        task, runtime = abandoned.task, self._runtime_of(abandoned.task.agent)
        self._under_way.conductor.lost.pop(task.id, None)
        try:
            match decide_recovery(abandoned, runtime, max_attempts=self._limits.max_attempts):
                case GiveUp(public=public):
                    answer_id = abandoned.turn.answer_id if abandoned.turn else None
                    await self._recorder.orphan(task, Error(public=public), answer_id=answer_id)
                case Again(turn=turn):
                    if task.status.state is TaskState.SUBMITTED:
                        await self._stand_behind_pause(task)
                    else:
                        task = await self._recorder.taken_over(task, turn.attempt)
                    self._under_way.take_up(task, turn, runtime)
        except BackendError:
            self._under_way.conductor.lost[task.id] = task
            raise

    async def find_lost(self, *, limit: int) -> None:
        """Find tasks that this process holds by the store, and that have no run any more. Raises: BackendError."""
        for task in await self._store.held(beside=list(self._under_way.runs), limit=limit):
            if task.id not in self._under_way.runs:  # else it has begun meanwhile
                self._under_way.conductor.lost.setdefault(task.id, task)

    async def end_lost(self, task: Task) -> Task | None:
        """End a task whose own end, or what was recorded of it, was lost; None where that is not so, or no longer.

        Raises: BackendError.
        """
        lost = self._under_way.conductor.lost.pop(task.id, None)
        if lost is None or task.id in self._under_way.runs:
            return None
        try:
            return await self._recorder.orphan(task, Error(public=LOST))
        except Conflict:  # somebody else has seen to it
            return None
        except BackendError:
            self._under_way.conductor.lost[task.id] = task
            raise

    async def end_all_lost(self) -> None:
        """End every such task. Raises: BackendError."""
        for lost in list(self._under_way.conductor.lost.values()):
            task = await self._store.get(lost.owner, lost.agent, lost.id)
            if task is None or task.is_settled:
                self._under_way.conductor.lost.pop(lost.id, None)
            else:
                await self.end_lost(task)

    async def _stand_behind_pause(self, task: Task) -> None:
        """A task that waited goes on waiting behind the paused one of its context."""
        context = (task.owner, task.agent, task.context_id)
        paused = await paused_in(self._store, context)
        if paused is not None and self._under_way.lanes.is_free(context):
            self._under_way.alive(paused)
