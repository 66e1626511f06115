"""An operator's look at all that is stored, of every owner: the port and its values.

It changes nothing, and works next to an edge on the same store. It blocks: it is for commands, not for an edge.
"""

from collections.abc import Iterator, Mapping
from typing import Protocol

import msgspec

from llamon_agent.domain.task import Task, TaskState


class TaskFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which tasks are meant; None, or no state, filters nothing.

    Units: since_ms (inclusive) and before_ms (exclusive) are of the status, in milliseconds since 1970 UTC.
    """

    owner: str | None = None
    agent: str | None = None
    context_id: str | None = None
    states: tuple[TaskState, ...] = ()
    since_ms: int | None = None
    before_ms: int | None = None


class StoreFacts(msgspec.Struct, frozen=True, kw_only=True):
    """How a store is doing.

    Shape: place is where it is, without secrets; schema is the version of what is there, 0 for nothing, needed that of
           this program; states counts the tasks by state.
    Units: size_bytes is what it takes on the disk.
    """

    kind: str
    place: str
    schema: int
    needed: int
    size_bytes: int = 0
    states: Mapping[TaskState, int] = {}
    webhooks: int = 0
    keys: int = 0

    @property
    def pending(self) -> int:
        """How many migrations are still to be made; below 0 if a newer version made the store."""
        return self.needed - self.schema


class Inspection(Protocol):
    """A store, looked at. Raises: BackendError from any method when it is away."""

    def latest(self, wanted: TaskFilter, *, limit: int) -> list[Task]:
        """The tasks whose status is newest, from the newest on (then by id, descending)."""
        ...

    def every(self, wanted: TaskFilter) -> Iterator[Task]:
        """All of the tasks, by id: the order in which they were made. However many there are, few are in memory."""
        ...

    def count(self, wanted: TaskFilter) -> int:
        """How many tasks there are."""
        ...

    def find(self, task_id: str) -> Task | None:
        """A task by its id."""
        ...

    def facts(self) -> StoreFacts:
        """How the store is doing."""
        ...
