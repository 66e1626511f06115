"""Tasks and turns as every store keeps them, whole and as JSON; and what happens to one that cannot be kept or read.

Every store, the one in memory too, keeps what `body_of` writes and checks its names by `checked_names`. So what one of
them refuses all refuse, before the database is asked: it would fail a group of writes, and look like an outage.

A caller that asks for such a task gets an error of the store. Whatever goes through many tasks, of all owners, skips
it: one damaged record, or one of a newer version, must not stop the rest.
"""

import logging
from collections.abc import Iterable

import msgspec

from llamon_agent.domain.errors import BackendError, CannotBeKept
from llamon_agent.domain.task import Task
from llamon_agent.runs.ports.agent import Turn
from llamon_agent.runs.ports.store import Abandoned

_read_task = msgspec.json.Decoder(Task).decode
_read_turn = msgspec.json.Decoder(Turn).decode

_write = msgspec.json.Encoder().encode

_log = logging.getLogger(__name__)


def body_of(record: msgspec.Struct) -> bytes:
    """A record as JSON. Raises: CannotBeKept: it holds what has no JSON form."""
    try:
        return _write(record)
    except (TypeError, ValueError, RecursionError) as exc:  # a lone surrogate is a ValueError
        raise CannotBeKept from exc


def checked_names(*names: str | None) -> None:
    """Raises: CannotBeKept: one of them has no encoding, so it names nothing that is kept."""
    try:
        for name in names:
            (name or "").encode()
    except UnicodeEncodeError as exc:
        raise CannotBeKept from exc


def task_in(body: bytes) -> Task:
    """Raises: BackendError: the record holds no readable task."""
    try:
        return _read_task(body)
    except msgspec.MsgspecError as exc:
        _log.exception("the task store holds a task that cannot be read")
        raise BackendError() from exc


def readable(bodies: Iterable[bytes]) -> tuple[Task, ...]:
    """The tasks that can be read."""
    return tuple(task for body in bodies if (task := _task_or_none(body)) is not None)


def abandoned_in(rows: Iterable[tuple[bytes, bytes | None, int]]) -> tuple[Abandoned, ...]:
    """The runs that were taken over and can be read. A turn that cannot be read counts as missing.

    Shape: task, turn and attempt.
    """
    return tuple(
        Abandoned(task=task, turn=_turn_or_none(turn), attempt=attempt)
        for body, turn, attempt in rows
        if (task := _task_or_none(body)) is not None
    )


def _task_or_none(body: bytes) -> Task | None:
    try:
        return task_in(body)
    except BackendError:
        return None


def _turn_or_none(turn: bytes | None) -> Turn | None:
    try:
        return None if turn is None else _read_turn(turn)
    except msgspec.MsgspecError:
        _log.exception("the task store holds a turn that cannot be read")
        return None
