"""Death at one exact moment, from within: right before or right after a write of the store or of the checkpointer."""

import os
import signal
from collections.abc import Callable
from functools import wraps
from itertools import count
from typing import Any, Literal, NamedTuple

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from llamon_agent.domain.task import Task
from llamon_agent.store.postgres.store import PostgresTaskStore
from llamon_agent.store.sqlite.store import SqliteTaskStore

Moment = Literal["before", "after"]

Kind = Literal["terminal", "paused", "unsettled", ""]


class Fault(NamedTuple):
    """When a process kills itself.

    Shape: at the nth call of the method; of `save`, only those of the given kind of state are counted.
    """

    when: Moment
    method: str
    kind: Kind
    nth: int

    def __str__(self) -> str:
        return " ".join(filter(None, (self.when, self.kind, self.method)))


def arm(fault: Fault) -> None:
    """Let this process die by the fault. Only for a process that was made to be killed."""
    for owner in _OWNERS:
        if hasattr(owner, fault.method):
            setattr(owner, fault.method, _deadly(getattr(owner, fault.method), fault))


_OWNERS = (SqliteTaskStore, PostgresTaskStore, AsyncSqliteSaver, AsyncPostgresSaver)
"""What is written to; a fault is of all that have its method, as an edge has one kind of store only."""


def _deadly(method: Callable[..., Any], fault: Fault) -> Callable[..., Any]:
    calls = count(1)

    @wraps(method)
    async def deadly(*args: Any, **kwargs: Any) -> Any:
        dies = _is_meant(fault, args) and next(calls) == fault.nth
        if dies and fault.when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = await method(*args, **kwargs)
        if dies:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    return deadly


def _is_meant(fault: Fault, args: tuple[Any, ...]) -> bool:
    task = args[1] if len(args) > 1 else None
    if not fault.kind or not isinstance(task, Task):
        return True
    is_kind = {"terminal": task.is_terminal, "paused": task.is_paused, "unsettled": not task.is_settled}
    return is_kind[fault.kind]
