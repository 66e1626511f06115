"""The domain's values as Postgres columns, and back.

Values are kept whole, as JSON in bytea: jsonb refuses \\u0000, rewrites its input, and took twice the time for a task
of 20 kB. The other columns are for queries. A column of text takes every character except U+0000, which a caller's
names may hold.
"""

import logging
from typing import Any

import msgspec

from llamon_agent.domain.errors import BackendError
from llamon_agent.domain.task import Task, TaskPushConfig, TaskQuery
from llamon_agent.runs.ports.agent import Turn
from llamon_agent.runs.ports.store import IdempotencyKey
from llamon_agent.store.records import body_of, checked_names
from llamon_agent.store.statements import EARLIEST_MS, FIRST_STATE, LAST_STATE, LATEST_MS

Row = dict[str, Any]

_read_push = msgspec.json.Decoder(TaskPushConfig).decode

_log = logging.getLogger(__name__)


def kept_text(text: str) -> str:
    """A text as a column can hold it. Different texts stay different. Raises: CannotBeKept."""
    checked_names(text)
    return text.replace("\\", "\\\\").replace("\0", "\\0")


def original_text(kept: str) -> str:
    """The text that `kept_text` was given."""
    return "\\".join(part.replace("\\0", "\0") for part in kept.split("\\\\"))


def names(**texts: str) -> Row:
    """Columns of text."""
    return {name: kept_text(text) for name, text in texts.items()}


def created_row(task: Task, turn: Turn | None, key: IdempotencyKey | None) -> Row:
    return {
        **_changes(task, turn, key),
        **names(owner=task.owner, agent=task.agent, context_id=task.context_id),
    }


def saved_row(task: Task, expect: int, turn: Turn | None, key: IdempotencyKey | None) -> Row:
    return {**_changes(task, turn, key), "settled": task.is_settled, "expect": expect, "again": False}


def _changes(task: Task, turn: Turn | None, key: IdempotencyKey | None) -> Row:
    """What a save may change, and the id."""
    return {
        "id": kept_text(task.id),
        "state": task.status.state.value,
        "terminal": task.is_terminal,
        "at_ms": task.status.at_ms,
        "seq": task.seq,
        "body": body_of(task),
        "turn": None if turn is None or task.is_settled else body_of(turn),
        "key": None if key is None else kept_text(key.value),
        "digest": None if key is None else key.digest,
        "key_at_ms": None if key is None else key.at_ms,
    }


def push_row(push: TaskPushConfig) -> Row:
    key = names(owner=push.owner, agent=push.agent, task_id=push.task_id, id=push.config.id)
    return {**key, "told_seq": push.told_seq, "body": body_of(push)}


def query_row(query: TaskQuery) -> Row:
    """The query as parameters. A filter that is off becomes one that every row passes."""
    after_ms, after_id = query.after or (LATEST_MS, "")
    state = None if query.state is None else query.state.value
    return {
        **names(owner=query.owner, agent=query.agent, context_id=query.context_id or "", after_id=after_id),
        "changed_since_ms": EARLIEST_MS if query.changed_since_ms is None else query.changed_since_ms,
        "after_ms": after_ms,
        "state": state,
        "first_state": state or FIRST_STATE,
        "last_state": state or LAST_STATE,
        "rows": query.limit + 1,  # one more than asked for: it shows whether there are more
        "max_bytes": query.max_bytes,
    }


def push_in(body: bytes, told_seq: int) -> TaskPushConfig:
    """Raises: BackendError: the row holds no readable webhook."""
    try:
        return msgspec.structs.replace(_read_push(body), told_seq=told_seq)
    except msgspec.MsgspecError as exc:
        _log.exception("the task store holds a webhook that cannot be read")
        raise BackendError() from exc
