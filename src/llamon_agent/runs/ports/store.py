"""The ports that a store implements: tasks, leases, idempotency keys and webhooks.

Leases. A process that executes runs is a *holder*: it has an id, new at every start, and a time until which it lives,
which it renews. A run is *held* from the write that begins it to the write that settles its task, by the holder that
wrote last with a turn or took the run over. When the time of a holder has run out, others may end it; then its runs are
*abandoned*, and each can be taken over by one of them. There is one row per process, so that a renewal is one small
write, however many runs there are. Each task names the holder of its run, so that a process that was thought dead
overwrites nothing.
"""

from collections.abc import Collection
from typing import Protocol

import msgspec

from llamon_agent.domain.task import Task, TaskPage, TaskPushConfig, TaskQuery
from llamon_agent.runs.ports.agent import Turn


class IdempotencyKey(msgspec.Struct, frozen=True, kw_only=True):
    """A caller's name for a message, under which it is taken once per owner and agent.

    Shape: digest is made of all that was sent with it.
    Units: at_ms is when it came, in milliseconds since 1970 UTC.
    """

    value: str
    digest: str
    at_ms: int


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    """What a key stands for: what was sent with it, and the task that came of it."""

    digest: str
    task_id: str


class Abandoned(msgspec.Struct, frozen=True, kw_only=True):
    """An unsettled task whose holder is gone, and which the process that took it over holds now.

    Shape: turn is the one that its run was begun with, None where no turn was kept; attempt is the number of the try
           that would now be made.
    """

    task: Task
    turn: Turn | None
    attempt: int


ContextKey = tuple[str, str, str]
"""(owner, agent, context id)"""


class Pruned(msgspec.Struct, frozen=True, kw_only=True):
    """What was forgotten: tasks by their ids, and the contexts that now have no task left, each once."""

    task_ids: tuple[str, ...] = ()
    contexts: tuple[ContextKey, ...] = ()


class TaskStore(Protocol):
    """Where tasks are kept, and which process works on them. A write that has returned is as safe as the store can make
    it.

    Raises: BackendError from any method when the store is away. CannotBeKept, with every store alike, where a value
            has no JSON form or a name has no encoding; then the store is not asked.
    """

    @property
    def holder(self) -> str:
        """The holder that this store writes as; another one once a lease was lost."""
        ...

    @property
    def is_durable(self) -> bool:
        """Whether what it keeps outlives this process, so that another can go on."""
        ...

    async def reached(self) -> None:
        """Look, as cheaply as possible, whether calls would be answered now; the last write stands for the next one. It
        logs nothing.

        Raises: BackendError: they would not.
        """
        ...

    async def create(self, task: Task, *, turn: Turn | None = None, key: IdempotencyKey | None = None) -> None:
        """Keep a new task, and its key with it. With a turn, an unsettled one is held by `holder` now, in its first
        attempt.

        Raises: Conflict if its id is taken; KeyTaken if the key is: then nothing was written.
        """
        ...

    async def save(
        self, task: Task, *, expect: int, turn: Turn | None = None, key: IdempotencyKey | None = None
    ) -> None:
        """Replace a task by a newer value, if the kept one still has seq `expect` and is not terminal, and no other
        holder has it. A settled value releases the run; an unsettled one with a turn is held by `holder` now, in its
        first attempt; without a turn, holder, turn and attempt stay as they are.

        Raises: Conflict, or KeyTaken if it is the key that is in the way; and then nothing was written.
        """
        ...

    async def get(self, owner: str, agent: str, task_id: str) -> Task | None:
        """The task, or None if there is none or it belongs to another owner."""
        ...

    async def list(self, query: TaskQuery) -> TaskPage:
        """A page of tasks."""
        ...

    async def paused_in(self, owner: str, agent: str, context_id: str) -> Task | None:
        """The paused task of a context, the newest where there are several; None where none waits."""
        ...

    async def find_key(self, owner: str, agent: str, key: str) -> Remembered | None:
        """What a key stands for, None where it is not known."""
        ...

    async def renew(self, *, until_ms: int) -> bool:
        """The holder lives until then; the first call makes it known, before it holds anything.

        False: its time had run out, and another process has ended it. Its runs may have been taken over, so the caller
        stops them; from now on the store has another `holder`, which this call has made known instead.
        """
        ...

    async def release_holder(self) -> None:
        """The holder ends: another process can take over its runs at once. Safe to call twice."""
        ...

    async def take_over(self, *, now_ms: int, limit: int, task_id: str | None = None) -> tuple[Abandoned, ...]:
        """End every other holder whose time has run out by now, and take what is abandoned, at most `limit` of it,
        or that task only; where several processes do so at once, each task goes to one.

        Shape: unsettled tasks whose holder is not known any more, oldest status first (then by id), held by `holder`
               from now on. The attempt of one that is still `submitted`, which has not begun, stays as it is; any
               other's is one more than before.
        """
        ...

    async def held(self, *, excluding: Collection[str], limit: int) -> tuple[Task, ...]:
        """The tasks that `holder` holds, except these, at most `limit` of them. A process names the tasks that it works
        on: the end of any other one was never kept, or the store has lost it.
        """
        ...

    async def paused_before(self, *, before_ms: int, limit: int) -> tuple[Task, ...]:
        """Paused tasks of every owner whose status is older, the oldest first and at most `limit`."""
        ...

    async def prune(self, *, before_ms: int, limit: int) -> Pruned:
        """Forget terminal tasks whose status is older, the oldest first and at most `limit`, with their webhooks and
        keys.
        """
        ...

    async def forget_keys(self, *, before_ms: int, limit: int) -> int:
        """Forget keys that came earlier, at most `limit`; how many there were. Their tasks stay."""
        ...

    async def close(self) -> None:
        """Finish what was begun and release everything. Safe to call twice."""
        ...


class PushStore(Protocol):
    """Where the webhooks of tasks are kept: with the tasks, and as safe as they are.

    Raises: BackendError from any method when the store is away; CannotBeKept as in `TaskStore`.
    """

    async def put_push(self, push: TaskPushConfig) -> None:
        """Keep a webhook; one of the same task and id is replaced, `told_seq` and all."""
        ...

    async def list_push(self, owner: str, agent: str, task_id: str) -> tuple[TaskPushConfig, ...]:
        """The webhooks of a task, by id; none if there is no such task, or it belongs to another owner."""
        ...

    async def delete_push(self, owner: str, agent: str, task_id: str, config_id: str) -> None:
        """Forget a webhook; fine where there is none."""
        ...

    async def mark_delivered(self, task_id: str, config_id: str, seq: int) -> None:
        """The webhook has taken everything up to `seq`; a lower one than is kept changes nothing, nor does a webhook
        that is gone.
        """
        ...

    async def undelivered(self) -> tuple[TaskPushConfig, ...]:
        """The webhooks of every owner that something is still to be sent to: their task has not ended, or has a newer
        event than they have taken. By task and id.
        """
        ...


class Store(TaskStore, PushStore, Protocol):
    """Where an edge keeps what it must not forget."""
