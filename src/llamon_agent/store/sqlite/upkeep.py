"""What an SQLite task store does in several statements of one transaction: keys, takeovers, retention.

The functions that change something run in the writer's thread. They read before they change anything, so that nothing
has to be rolled back.
"""

import sqlite3
from collections.abc import Collection

import msgspec

from llamon_agent.domain.errors import Conflict, KeyTaken
from llamon_agent.domain.task import Task
from llamon_agent.runs.ports.store import Abandoned, IdempotencyKey, Pruned, Remembered
from llamon_agent.store.records import abandoned_in, readable
from llamon_agent.store.sqlite.writer import Row
from llamon_agent.store.statements import load_statements

SQL = {**load_statements("sqlite/lease.sql"), **load_statements("sqlite/retention.sql")}


def find_key(connection: sqlite3.Connection, owner: str, agent: str, key: str) -> Remembered | None:
    """What a key stands for."""
    found = connection.execute(SQL["find_key"], {"owner": owner, "agent": agent, "key": key}).fetchone()
    return None if found is None else Remembered(digest=found[0], task_id=found[1])


def write_keyed(
    connection: sqlite3.Connection, statement: str, row: Row, task: Task, key: IdempotencyKey
) -> Conflict | None:
    """Write a task and its key; returns the conflict where that is not possible."""
    taken = find_key(connection, task.owner, task.agent, key.value)
    if taken is not None:
        return KeyTaken(taken.task_id, taken.digest)
    if connection.execute(statement, row).rowcount != 1:
        return Conflict()
    names = {"owner": task.owner, "agent": task.agent, "task_id": task.id}
    connection.execute(SQL["keep_key"], {**names, "key": key.value, "digest": key.digest, "at_ms": key.at_ms})
    return None


def renew(connection: sqlite3.Connection, holder: str, until_ms: int, *, successor: str) -> bool:
    """Renew the lease of the holder; if another process ended it, register its successor."""
    row = {"holder": holder, "until_ms": until_ms}
    if connection.execute(SQL["renew"], row).rowcount == 1:
        return True
    connection.execute(SQL["make_known"], {**row, "holder": successor})
    return False


def take_over(
    connection: sqlite3.Connection, holder: str, *, now_ms: int, limit: int, task_id: str | None
) -> tuple[Abandoned, ...]:
    """Delete the holders whose lease is over, and take over the runs that have no holder."""
    connection.execute(SQL["end_dead"], {"holder": holder, "now_ms": now_ms})
    row = {"holder": holder, "limit": limit, "task_id": task_id}
    found = abandoned_in(connection.execute(SQL["take_over"], row))
    return tuple(sorted(found, key=lambda each: (each.task.status.at_ms, each.task.id)))


def held(connection: sqlite3.Connection, holder: str, *, excluding: Collection[str], limit: int) -> tuple[Task, ...]:
    """The tasks that the holder holds, except these."""
    row = {"holder": holder, "excluding": msgspec.json.encode(list(excluding)).decode(), "limit": limit}
    return readable(body for (body,) in connection.execute(SQL["held"], row))


def paused_before(connection: sqlite3.Connection, *, before_ms: int, limit: int) -> tuple[Task, ...]:
    """Tasks that have waited for long."""
    row = {"before_ms": before_ms, "limit": limit}
    return readable(body for (body,) in connection.execute(SQL["paused_before"], row))


def prune(connection: sqlite3.Connection, *, before_ms: int, limit: int) -> Pruned:
    """Delete tasks that ended long ago, with their webhooks and keys."""
    gone = connection.execute(SQL["ended_before"], {"before_ms": before_ms, "limit": limit}).fetchall()
    for statement in ("forget_task", "forget_pushes", "forget_keys_of"):
        connection.executemany(SQL[statement], [{"id": task_id} for task_id, *_ in gone])
    contexts = dict.fromkeys((owner, agent, context_id) for _, owner, agent, context_id in gone)
    return Pruned(
        task_ids=tuple(task_id for task_id, *_ in gone),
        contexts=tuple(each for each in contexts if not _has_tasks(connection, *each)),
    )


def forget_keys(connection: sqlite3.Connection, *, before_ms: int, limit: int) -> int:
    """Delete old keys; how many there were."""
    return connection.execute(SQL["forget_keys"], {"before_ms": before_ms, "limit": limit}).rowcount


def _has_tasks(connection: sqlite3.Connection, owner: str, agent: str, context_id: str) -> bool:
    row = {"owner": owner, "agent": agent, "context_id": context_id}
    (found,) = connection.execute(SQL["has_tasks"], row).fetchone()
    return bool(found)
