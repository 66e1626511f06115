"""Tasks and turns as every store keeps them, whole and as JSON; and what becomes of one that cannot be read.

A caller who asks for such a task is told that the store fails. Who goes through many of them, whoever's they are,
leaves it out: one damaged record, or one of a newer version, is in nobody else's way.
"""

import logging
from collections.abc import Iterable

import msgspec

from llamon_agent.domain.errors import BackendError
from llamon_agent.domain.task import Task
from llamon_agent.runs.ports.agent import Turn
from llamon_agent.runs.ports.store import Abandoned

_read_task = msgspec.json.Decoder(Task).decode
_read_turn = msgspec.json.Decoder(Turn).decode

_log = logging.getLogger(__name__)


def task_in(body: bytes) -> Task:
    """Raises: BackendError: what is kept is no task."""
    try:
        return _read_task(body)
    except msgspec.MsgspecError as exc:
        _log.exception("the task store keeps a task that cannot be read")
        raise BackendError() from exc


def readable(bodies: Iterable[bytes]) -> tuple[Task, ...]:
    """Those of the tasks that can be read."""
    return tuple(task for body in bodies if (task := _task_or_none(body)) is not None)


def abandoned_in(rows: Iterable[tuple[bytes, bytes | None, int]]) -> tuple[Abandoned, ...]:
    """What was taken over and can be read. A turn that cannot counts as none that was kept.

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
        _log.exception("the task store keeps a turn that cannot be read")
        return None
