"""Tasks in memory: for `--ephemeral`, for tests, and as the simplest implementation of the stores' contracts."""

from collections.abc import Collection, Iterable

import msgspec

from llamon_agent.domain.errors import BackendError, Conflict, KeyTaken
from llamon_agent.domain.task import Task, TaskPage, TaskPushConfig, TaskQuery
from llamon_agent.runs.ports.agent import Turn
from llamon_agent.runs.ports.store import Abandoned, IdempotencyKey, Pruned, Remembered


class MemoryTaskStore:
    """A `TaskStore` and `PushStore` that ends with the process. Tasks are frozen, so it returns them uncopied. No other
    process can use it, so there is nothing to hold and nothing to take over.
    """

    holder = "memory"
    is_durable = False

    def __init__(self) -> None:
        self._tasks: dict[str, Task] = {}
        self._contexts: dict[str, list[str]] = {}  # the ids of each context's tasks, so that listing one is cheap
        self._pushes: dict[str, dict[str, TaskPushConfig]] = {}  # by task and id
        self._keys: dict[tuple[str, str, str], tuple[str, IdempotencyKey]] = {}  # owner, agent, key -> task id, key
        self._closed = False

    async def reached(self) -> None:
        self._check_open()

    async def create(
        self,
        task: Task,
        *,
        turn: Turn | None = None,  # noqa: ARG002 -- there is no takeover
        key: IdempotencyKey | None = None,
    ) -> None:
        self._check_open()
        self._check_key(task, key)
        if task.id in self._tasks:
            raise Conflict
        self._keep_key(task, key)
        self._tasks[task.id] = task
        self._contexts.setdefault(task.context_id, []).append(task.id)

    async def save(
        self,
        task: Task,
        *,
        expect: int,
        turn: Turn | None = None,  # noqa: ARG002 -- there is no takeover
        key: IdempotencyKey | None = None,
    ) -> None:
        self._check_open()
        self._check_key(task, key)
        kept = self._tasks.get(task.id)
        if kept is None or kept.seq != expect or kept.is_terminal:
            raise Conflict()
        self._keep_key(task, key)
        self._tasks[task.id] = task

    async def get(self, owner: str, agent: str, task_id: str) -> Task | None:
        self._check_open()
        task = self._tasks.get(task_id)
        return task if task is not None and (task.owner, task.agent) == (owner, agent) else None

    async def list(self, query: TaskQuery) -> TaskPage:
        self._check_open()
        found = sorted((task for task in self._candidates(query) if _matches(query, task)), key=_order, reverse=True)
        rest = [task for task in found if query.after is None or _order(task) < query.after]
        return TaskPage(tasks=tuple(rest[: query.limit]), total=len(found), more=len(rest) > query.limit)

    async def find_key(self, owner: str, agent: str, key: str) -> Remembered | None:
        self._check_open()
        task_id, kept = self._keys.get((owner, agent, key), ("", None))
        return None if kept is None else Remembered(digest=kept.digest, task_id=task_id)

    async def renew(self, *, until_ms: int) -> bool:  # noqa: ARG002 -- it lives as long as its process
        self._check_open()
        return True

    async def release_holder(self) -> None:
        self._check_open()

    async def take_over(
        self,
        *,
        now_ms: int,  # noqa: ARG002 -- there is none
        limit: int,  # noqa: ARG002
        task_id: str | None = None,  # noqa: ARG002
    ) -> tuple[Abandoned, ...]:
        self._check_open()
        return ()

    async def held(
        self,
        *,
        excluding: Collection[str],  # noqa: ARG002 -- there is nothing to hold
        limit: int,  # noqa: ARG002
    ) -> tuple[Task, ...]:
        self._check_open()
        return ()

    async def paused_before(self, *, before_ms: int, limit: int) -> tuple[Task, ...]:
        self._check_open()
        old = [task for task in self._tasks.values() if task.is_paused and task.status.at_ms < before_ms]
        return tuple(sorted(old, key=_order)[:limit])

    async def prune(self, *, before_ms: int, limit: int) -> Pruned:
        self._check_open()
        old = [task for task in self._tasks.values() if task.is_terminal and task.status.at_ms < before_ms]
        gone = sorted(old, key=_order)[:limit]
        for task in gone:
            self._forget(task)
        ids = {task.id for task in gone}
        self._keys = {name: kept for name, kept in self._keys.items() if kept[0] not in ids}
        contexts = dict.fromkeys((task.owner, task.agent, task.context_id) for task in gone)
        left = {
            (task.owner, task.agent, context_id)
            for _, _, context_id in contexts
            for task in map(self._tasks.__getitem__, self._contexts.get(context_id, ()))
        }
        return Pruned(
            task_ids=tuple(task.id for task in gone), contexts=tuple(each for each in contexts if each not in left)
        )

    async def forget_keys(self, *, before_ms: int, limit: int) -> int:
        self._check_open()
        old = [name for name, (_, key) in self._keys.items() if key.at_ms < before_ms][:limit]
        for name in old:
            del self._keys[name]
        return len(old)

    async def put_push(self, push: TaskPushConfig) -> None:
        self._check_open()
        self._pushes.setdefault(push.task_id, {})[push.config.id] = push

    async def list_push(self, owner: str, agent: str, task_id: str) -> tuple[TaskPushConfig, ...]:
        self._check_open()
        kept = self._pushes.get(task_id, {})
        return tuple(push for _, push in sorted(kept.items()) if (push.owner, push.agent) == (owner, agent))

    async def delete_push(self, owner: str, agent: str, task_id: str, config_id: str) -> None:
        for push in await self.list_push(owner, agent, task_id):
            if push.config.id == config_id:
                del self._pushes[task_id][config_id]

    async def mark_delivered(self, task_id: str, config_id: str, seq: int) -> None:
        self._check_open()
        kept = self._pushes.get(task_id, {})
        if config_id in kept and kept[config_id].told_seq < seq:
            kept[config_id] = msgspec.structs.replace(kept[config_id], told_seq=seq)

    async def undelivered(self) -> tuple[TaskPushConfig, ...]:
        self._check_open()
        kept = [push for _, pushes in sorted(self._pushes.items()) for _, push in sorted(pushes.items())]
        return tuple(push for push in kept if self._is_undelivered(push))

    async def close(self) -> None:
        self._closed = True

    def _is_undelivered(self, push: TaskPushConfig) -> bool:
        task = self._tasks.get(push.task_id)
        return task is not None and (not task.is_terminal or task.seq > push.told_seq)

    def _candidates(self, query: TaskQuery) -> Iterable[Task]:
        if query.context_id is None:
            return self._tasks.values()
        return map(self._tasks.__getitem__, self._contexts.get(query.context_id, ()))

    def _check_key(self, task: Task, key: IdempotencyKey | None) -> None:
        if key is not None and (found := self._keys.get((task.owner, task.agent, key.value))) is not None:
            raise KeyTaken(found[0], found[1].digest)

    def _keep_key(self, task: Task, key: IdempotencyKey | None) -> None:
        if key is not None:
            self._keys[task.owner, task.agent, key.value] = (task.id, key)

    def _forget(self, task: Task) -> None:
        del self._tasks[task.id]
        self._pushes.pop(task.id, None)
        siblings = self._contexts[task.context_id]
        siblings.remove(task.id)
        if not siblings:
            del self._contexts[task.context_id]

    def _check_open(self) -> None:
        if self._closed:
            raise BackendError()


def _matches(query: TaskQuery, task: Task) -> bool:
    return (
        (task.owner, task.agent) == (query.owner, query.agent)
        and (query.context_id is None or task.context_id == query.context_id)
        and (not query.states or task.status.state in query.states)
        and (query.changed_since_ms is None or task.status.at_ms >= query.changed_since_ms)
    )


def _order(task: Task) -> tuple[int, str]:
    """The sort key of a list, whose highest comes first."""
    return task.status.at_ms, task.id
