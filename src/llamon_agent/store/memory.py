"""Tasks in memory: for `--ephemeral`, for tests, and as the simplest implementation of the stores' contracts."""

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from itertools import islice

import msgspec

from llamon_agent.domain.errors import BackendError, Conflict, KeyTaken
from llamon_agent.domain.task import Task, TaskPage, TaskPushConfig, TaskQuery
from llamon_agent.runs.ports.agent import Turn
from llamon_agent.runs.ports.store import Abandoned, IdempotencyKey, Pruned, Remembered
from llamon_agent.store.orders import Orders, Place
from llamon_agent.store.records import body_of, checked_names, task_in

_Key = tuple[str, str, str]
"""(owner, agent, key)"""

_Name = tuple[str, ...]
"""Of an order of tasks: of an owner's and an agent's, of those in one state or context, or of all owners'."""

_PAUSED: _Name = ("paused",)
_ENDED: _Name = ("ended",)

_read_push = msgspec.json.Decoder(TaskPushConfig).decode


class MemoryTaskStore:
    """A `TaskStore` and `PushStore` that ends with the process. It keeps what a database would read back, and as
    that is frozen it returns it uncopied. No other process can use it, so there is nothing to hold or to take over.
    """

    holder = "memory"
    is_durable = False

    def __init__(self) -> None:
        self._tasks: dict[str, Task] = {}
        self._orders: Orders[_Name] = Orders()
        self._pushes: dict[str, dict[str, TaskPushConfig]] = {}  # by task and id
        self._keys: dict[_Key, tuple[str, IdempotencyKey]] = {}  # -> task id, key
        self._keys_of: dict[str, list[_Key]] = {}  # by task
        self._closed = False

    async def reached(self) -> None:
        self._check_open()

    async def create(
        self,
        task: Task,
        *,
        turn: Turn | None = None,
        key: IdempotencyKey | None = None,
    ) -> None:
        task = self._kept(task, turn, key)
        self._check_key(task, key)
        if task.id in self._tasks:
            raise Conflict
        self._keep_key(task, key)
        self._put(task)

    async def save(
        self,
        task: Task,
        *,
        expect: int,
        turn: Turn | None = None,
        key: IdempotencyKey | None = None,
    ) -> None:
        task = self._kept(task, turn, key)
        self._check_key(task, key)
        kept = self._tasks.get(task.id)
        if kept is None or kept.seq != expect or kept.is_terminal:
            raise Conflict()
        self._keep_key(task, key)
        self._put(task)

    async def get(self, owner: str, agent: str, task_id: str) -> Task | None:
        self._check_open(owner, agent, task_id)
        task = self._tasks.get(task_id)
        return task if task is not None and (task.owner, task.agent) == (owner, agent) else None

    async def list(self, query: TaskQuery) -> TaskPage:
        self._check_open(query.owner, query.agent, query.context_id, *(query.after or ())[1:])
        found = self._found(query)
        begin = 0 if query.changed_since_ms is None else bisect_left(found, (query.changed_since_ms, ""))
        end = len(found) if query.after is None else max(begin, bisect_left(found, query.after))
        page: list[Task] = []
        size_bytes = 0
        for _, task_id in islice(_down(found, begin, end), query.limit):
            if size_bytes >= query.max_bytes:
                break
            page.append(self._tasks[task_id])
            size_bytes += len(body_of(page[-1]))
        more = len(page) < end - begin
        return TaskPage(tasks=tuple(page), total=len(found) - begin, more=more, size_bytes=size_bytes)

    async def paused_in(self, owner: str, agent: str, context_id: str) -> Task | None:
        self._check_open(owner, agent, context_id)
        paused = self._orders[_paused_in(owner, agent, context_id)]
        return self._tasks[paused[-1][1]] if paused else None

    async def find_key(self, owner: str, agent: str, key: str) -> Remembered | None:
        self._check_open(owner, agent, key)
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
        return tuple(self._tasks[each] for each in self._orders.before(_PAUSED, before_ms, limit))

    async def prune(self, *, before_ms: int, limit: int) -> Pruned:
        self._check_open()
        gone = [self._tasks[each] for each in self._orders.before(_ENDED, before_ms, limit)]
        for task in gone:
            self._forget(task)
        contexts = dict.fromkeys((task.owner, task.agent, task.context_id) for task in gone)
        return Pruned(
            task_ids=tuple(task.id for task in gone),
            contexts=tuple(each for each in contexts if not self._orders[_in_context(*each)]),
        )

    async def forget_keys(self, *, before_ms: int, limit: int) -> int:
        self._check_open()
        old = [name for name, (_, key) in self._keys.items() if key.at_ms < before_ms][:limit]
        for name in old:
            task_id, _ = self._keys.pop(name)
            self._keys_of[task_id].remove(name)
        return len(old)

    async def put_push(self, push: TaskPushConfig) -> None:
        self._check_open()
        self._pushes.setdefault(push.task_id, {})[push.config.id] = _read_push(body_of(push))

    async def list_push(self, owner: str, agent: str, task_id: str) -> tuple[TaskPushConfig, ...]:
        self._check_open(owner, agent, task_id)
        kept = self._pushes.get(task_id, {})
        return tuple(push for _, push in sorted(kept.items()) if (push.owner, push.agent) == (owner, agent))

    async def delete_push(self, owner: str, agent: str, task_id: str, config_id: str) -> None:
        self._check_open(config_id)
        for push in await self.list_push(owner, agent, task_id):
            if push.config.id == config_id:
                del self._pushes[task_id][config_id]

    async def mark_delivered(self, task_id: str, config_id: str, seq: int) -> None:
        self._check_open(task_id, config_id)
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

    def _found(self, query: TaskQuery) -> Sequence[Place]:
        """The places of the tasks that the query finds, whenever they changed."""
        if query.context_id is None:
            return self._orders[_of_owner(query.owner, query.agent, query.state or "")]
        found = self._orders[_in_context(query.owner, query.agent, query.context_id)]
        if query.state is None:
            return found
        return [place for place in found if self._tasks[place[1]].status.state is query.state]

    def _put(self, task: Task) -> None:
        """Keep a value in the place of the one before."""
        kept = self._tasks.get(task.id)
        self._tasks[task.id] = task
        if kept is None:
            self._orders.add(_place(task), _names(task))
        elif kept.status is not task.status and (_place(kept), _names(kept)) != (_place(task), _names(task)):
            self._orders.remove(_place(kept), _names(kept))
            self._orders.add(_place(task), _names(task))

    def _check_key(self, task: Task, key: IdempotencyKey | None) -> None:
        if key is not None and (found := self._keys.get((task.owner, task.agent, key.value))) is not None:
            raise KeyTaken(found[0], found[1].digest)

    def _keep_key(self, task: Task, key: IdempotencyKey | None) -> None:
        if key is not None:
            name = (task.owner, task.agent, key.value)
            self._keys[name] = (task.id, key)
            self._keys_of.setdefault(task.id, []).append(name)

    def _forget(self, task: Task) -> None:
        del self._tasks[task.id]
        self._orders.remove(_place(task), _names(task))
        self._pushes.pop(task.id, None)
        for name in self._keys_of.pop(task.id, ()):
            del self._keys[name]

    def _kept(self, task: Task, turn: Turn | None, key: IdempotencyKey | None) -> Task:
        """The task as a database would read it back. A turn is checked only: there is no takeover."""
        self._check_open(*(() if key is None else (key.value, key.digest)))
        if turn is not None:
            body_of(turn)
        return task_in(body_of(task))

    def _check_open(self, *names: str | None) -> None:
        if self._closed:
            raise BackendError()
        checked_names(*names)


def _place(task: Task) -> Place:
    """Where a task stands in every order that it is in; a list begins at the end of one."""
    return task.status.at_ms, task.id


def _names(task: Task) -> list[_Name]:
    """The orders that a task is in."""
    names = [
        _of_owner(task.owner, task.agent, ""),
        _of_owner(task.owner, task.agent, task.status.state),
        _in_context(task.owner, task.agent, task.context_id),
    ]
    if task.is_paused:
        names += [_PAUSED, _paused_in(task.owner, task.agent, task.context_id)]
    return [*names, _ENDED] if task.is_terminal else names


def _of_owner(owner: str, agent: str, state: str) -> _Name:
    return ("state", owner, agent, state)


def _in_context(owner: str, agent: str, context_id: str) -> _Name:
    return ("context", owner, agent, context_id)


def _paused_in(owner: str, agent: str, context_id: str) -> _Name:
    return ("paused", owner, agent, context_id)


def _down(places: Sequence[Place], begin: int, end: int) -> Iterator[Place]:
    """The places from the last one before `end` down to `begin`."""
    return map(places.__getitem__, range(end - 1, begin - 1, -1))
