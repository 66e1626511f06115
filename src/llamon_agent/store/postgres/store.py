"""Tasks in a Postgres database, which many processes may share.

Several processes never break a task: each statement compares and sets, and checks which process holds the run. Writes
of tasks are committed in groups, one group at a time. Each read, and each of the few other writes, takes a connection
of its own.
"""

import asyncio
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import asynccontextmanager
from typing import Any

from llamon_agent.domain.errors import BackendError, Conflict, KeyTaken
from llamon_agent.domain.ids import random_id
from llamon_agent.domain.task import Task, TaskPage, TaskPushConfig, TaskQuery
from llamon_agent.runs.ports.agent import Turn
from llamon_agent.runs.ports.store import Abandoned, IdempotencyKey, Pruned, Remembered
from llamon_agent.store.postgres.pool import Connection, Pool
from llamon_agent.store.postgres.rows import (
    created_row,
    kept_text,
    names,
    original_text,
    push_in,
    push_row,
    query_row,
    saved_row,
)
from llamon_agent.store.postgres.schema import migrate
from llamon_agent.store.postgres.writer import DEADLINE_S, GroupCommitWriter
from llamon_agent.store.records import abandoned_in, readable, task_in
from llamon_agent.store.statements import load_statements

_LISTS = load_statements("postgres/list.sql")
_SQL = {
    **{
        f"list_{kind}_{total}": _LISTS["list"].format(page=_LISTS[f"page_{kind}"], total=_LISTS[total])
        for kind in ("all", "state", "context")
        for total in ("total", f"count_{kind}")
    },
    **load_statements("postgres/task.sql"),
    **load_statements("postgres/lease.sql"),
    **load_statements("postgres/push.sql"),
}

Rows = list[tuple[Any, ...]]


class PostgresTaskStore:
    """A `TaskStore` and `PushStore` in a database. Belongs to one event loop; the caller closes the pool."""

    is_durable = True

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._writer = GroupCommitWriter(pool, holder=random_id())
        self._known = False
        self._doubtful_takes: list[str] = []  # tasks that this process may hold without knowing it
        self._closed = False

    @classmethod
    async def open(cls, pool: Pool) -> "PostgresTaskStore":
        """A store in this database, whose schema is brought to this version where needed.

        Raises: ConfigError: the schema is a newer version's, or may not be changed.
        """
        await migrate(pool)
        return cls(pool)

    @property
    def holder(self) -> str:
        return self._writer.holder

    async def reached(self) -> None:
        if self._closed:
            raise BackendError()
        with self._pool.access.probing():
            async with asyncio.timeout(DEADLINE_S), self._pool.connection() as connection:
                await connection.execute(_SQL["reached"])

    async def create(self, task: Task, *, turn: Turn | None = None, key: IdempotencyKey | None = None) -> None:
        if not await self._writer.write("create", created_row(task, turn, key)):
            raise await self._conflict_of(task, key)

    async def save(
        self, task: Task, *, expect: int, turn: Turn | None = None, key: IdempotencyKey | None = None
    ) -> None:
        if not await self._writer.write("save", saved_row(task, expect, turn, key)):
            raise await self._conflict_of(task, key)

    async def get(self, owner: str, agent: str, task_id: str) -> Task | None:
        found = await self._fetch("get", **names(id=task_id, owner=owner, agent=agent))
        return task_in(found[0][0]) if found else None

    async def list(self, query: TaskQuery) -> TaskPage:
        total = "total" if query.is_counted else f"count_{query.narrowed_by}"
        found = await self._fetch(f"list_{query.narrowed_by}_{total}", **query_row(query))
        rows = [body for _, task_id, body in found if task_id is not None]  # an empty page still has its total
        bodies = [body for body in rows if body is not None]
        tasks = tuple(map(task_in, bodies))
        more, size_bytes = len(bodies) < len(rows), sum(map(len, bodies))
        return TaskPage(tasks=tasks, total=found[0][0], more=more, size_bytes=size_bytes)

    async def paused_in(self, owner: str, agent: str, context_id: str) -> Task | None:
        found = await self._fetch("paused_in", **names(owner=owner, agent=agent, context_id=context_id))
        return task_in(found[0][0]) if found else None

    async def find_key(self, owner: str, agent: str, key: str) -> Remembered | None:
        found = await self._fetch("find_key", **names(owner=owner, agent=agent, key=key))
        return Remembered(digest=found[0][0], task_id=original_text(found[0][1])) if found else None

    async def renew(self, *, until_ms: int) -> bool:
        async with self._connection(writes=True) as connection:
            await self._writer.clear_doubts(connection)
            if not self._known:
                await connection.execute(_SQL["make_known"], {"holder": self.holder, "until_ms": until_ms})
                self._known = True
                return True
            renewed = await connection.execute(_SQL["renew"], {"holder": self.holder, "until_ms": until_ms})
            if renewed.rowcount:
                return True
            holder = random_id()
            await connection.execute(_SQL["make_known"], {"holder": holder, "until_ms": until_ms})
            self._writer.holder = holder
            return False

    async def release_holder(self) -> None:
        async with self._connection(writes=True) as connection:
            await self._writer.clear_doubts(connection)
            await connection.execute(_SQL["release_holder"], {"holder": self.holder})

    async def take_over(self, *, now_ms: int, limit: int, task_id: str | None = None) -> tuple[Abandoned, ...]:
        asked: list[str] = []
        try:
            async with self._connection(writes=True) as connection, connection.transaction():
                asked += await self._abandoned(connection, now_ms, limit, task_id)
                taken = await self._take(connection, asked)
        except BaseException:
            self._doubtful_takes = [*dict.fromkeys([*self._doubtful_takes, *asked])]
            raise
        is_partial = len(asked) == limit or task_id is not None
        self._doubtful_takes = [each for each in self._doubtful_takes if is_partial and each not in asked]
        return abandoned_in((body, turn, attempt) for body, turn, attempt in taken)

    async def held(self, *, excluding: Collection[str], limit: int) -> tuple[Task, ...]:
        kept = [kept_text(each) for each in excluding]
        found = await self._fetch("held", holder=self.holder, excluding=kept, limit=limit)
        return readable(body for (body,) in found)

    async def paused_before(self, *, before_ms: int, limit: int) -> tuple[Task, ...]:
        found = await self._fetch("paused_before", before_ms=before_ms, limit=limit)
        return readable(body for (body,) in found)

    async def prune(self, *, before_ms: int, limit: int) -> Pruned:
        row = {"before_ms": before_ms, "limit": limit}
        async with self._connection(writes=True) as connection, connection.transaction():
            await connection.execute(_SQL["wait_for_turn"])
            found = await (await connection.execute(_SQL["prune"], row, binary=True)).fetchall()
        contexts = [
            (original_text(owner), original_text(agent), original_text(context_id))
            for _, owner, agent, context_id, has_more in found
            if not has_more
        ]
        return Pruned(task_ids=tuple(original_text(row[0]) for row in found), contexts=tuple(dict.fromkeys(contexts)))

    async def forget_keys(self, *, before_ms: int, limit: int) -> int:
        return await self._execute("forget_keys", before_ms=before_ms, limit=limit)

    async def put_push(self, push: TaskPushConfig) -> None:
        await self._execute("put_push", **push_row(push))

    async def list_push(self, owner: str, agent: str, task_id: str) -> tuple[TaskPushConfig, ...]:
        found = await self._fetch("list_push", **names(owner=owner, agent=agent, task_id=task_id))
        return tuple(push_in(*row) for row in found)

    async def delete_push(self, owner: str, agent: str, task_id: str, config_id: str) -> None:
        await self._execute("delete_push", **names(owner=owner, agent=agent, task_id=task_id, id=config_id))

    async def mark_delivered(self, task_id: str, config_id: str, seq: int) -> None:
        await self._execute("mark_delivered", **names(task_id=task_id, id=config_id), seq=seq)

    async def undelivered(self) -> tuple[TaskPushConfig, ...]:
        return tuple(push_in(*row) for row in await self._fetch("undelivered"))

    async def close(self) -> None:
        self._closed = True
        await self._writer.close()

    async def _conflict_of(self, task: Task, key: IdempotencyKey | None) -> Conflict:
        """The reason why a write changed nothing."""
        taken = None if key is None else await self.find_key(task.owner, task.agent, key.value)
        return Conflict() if taken is None else KeyTaken(taken.task_id, taken.digest)

    async def _abandoned(self, connection: Connection, now_ms: int, limit: int, task_id: str | None) -> Sequence[str]:
        await connection.execute(_SQL["wait_for_turn"])
        await connection.execute(_SQL["end_holders"], {"holder": self.holder, "now_ms": now_ms})
        only = None if task_id is None else kept_text(task_id)
        row = {"holder": self.holder, "doubtful": self._doubtful_takes, "limit": limit, "only": only}
        return [id for (id,) in await (await connection.execute(_SQL["abandoned"], row)).fetchall()]  # noqa: A001

    async def _take(self, connection: Connection, ids: Sequence[str]) -> Rows:
        cursor = await connection.execute(_SQL["take"], {"id": ids, "holder": self.holder}, binary=True)
        return await cursor.fetchall()

    async def _fetch(self, statement: str, *, writes: bool = False, **row: Any) -> Rows:
        """Execute a statement; its rows. Raises: BackendError."""
        async with self._connection(writes=writes) as connection:
            return await (await connection.execute(_SQL[statement], row, binary=True)).fetchall()

    async def _execute(self, statement: str, **row: Any) -> int:
        """Execute a statement; how many rows it changed. Raises: BackendError."""
        async with self._connection(writes=True) as connection:
            return (await connection.execute(_SQL[statement], row)).rowcount

    @asynccontextmanager
    async def _connection(self, *, writes: bool) -> AsyncGenerator[Connection]:
        """A connection for some statements, each a transaction of its own. Raises: BackendError."""
        if self._closed:
            raise BackendError()
        access = self._pool.access
        with access.writing() if writes else access.reading():
            async with asyncio.timeout(DEADLINE_S), self._pool.connection() as connection:
                yield connection
