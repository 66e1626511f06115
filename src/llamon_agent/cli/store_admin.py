"""What the operator's commands change: in the store itself, or through the edge that works on it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from llamon_agent.app import new_id, now_ms
from llamon_agent.cli.client import connect
from llamon_agent.cli.exits import Usage
from llamon_agent.cli.serve import default_file
from llamon_agent.config.data import DataConfig
from llamon_agent.config.load import load_data_config
from llamon_agent.domain.errors import TaskNotFound
from llamon_agent.domain.events import Cancelled
from llamon_agent.domain.principal import thread_id
from llamon_agent.domain.task import Task
from llamon_agent.runs.decisions import decide_cancel
from llamon_agent.runs.housekeeping import BATCH, prune_batch
from llamon_agent.runs.ports.store import ContextKey, TaskStore
from llamon_agent.runs.task_recorder import TaskRecorder
from llamon_agent.serving.storage import Storage, inspect_storage, open_storage
from llamon_agent.store.sqlite.folder import FolderInUse


# MERGED-DOC: Where the operator's commands find what an edge has stored.
@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Place:
    """The options that say which edge's store is meant, as `llamon serve` has them."""

    config: Annotated[Path | None, Parameter(show_default=False)] = None
    """The edge's configuration file. Without it: edge.yaml or configs/edge.yaml, if there is one."""
    data: Annotated[Path | None, Parameter(show_default=False)] = None
    """The edge's data folder."""

    def found(self) -> DataConfig:
        """Where tasks and threads are. Raises: Usage, ConfigError."""
        flags: dict[str, Any] = {"data": {"folder": str(self.data)}} if self.data else {}
        data = load_data_config(self.config or default_file(), flags)
        if data.ephemeral:
            raise Usage("data.ephemeral: this edge keeps its tasks in memory, where no command can look.")
        return data


_CANCEL_THERE = "cancel the task there, with --url"

_LEASE_MS = 60_000
"""For how long this process may be at it, before its edge takes it to be dead."""


async def cancel_at(url: str, token: str | None, task_id: str) -> None:
    """Cancel a task through its edge. Raises: Usage, Unreached, Refused, NotA2A."""
    async with connect(url, token) as client:
        await client.cancel(task_id)


async def cancel_stored(data: DataConfig, task_id: str) -> None:
    """Cancel a task that no edge works on. Its agent is not asked: a question that waits is put again when the
    conversation goes on.

    Raises: Usage, ConfigError; TaskNotFound, TaskNotCancelable; BackendError.
    """
    with inspect_storage(data) as stored:
        task = stored.find(task_id)
    if task is None:
        raise TaskNotFound
    if not decide_cancel(task, again_ok=True):
        return
    async with _alone(data, _CANCEL_THERE) as storage:
        await storage.store.renew(until_ms=now_ms() + _LEASE_MS)
        try:
            await _cancel(storage.store, task)
        finally:
            await storage.store.release_holder()


async def _cancel(store: TaskStore, task: Task) -> None:
    """Raises: Usage: a process works on it; Conflict."""
    answer_id = None
    if not task.is_settled:
        taken = await store.take_over(now_ms=now_ms(), limit=1, task_id=task.id)
        if not taken:
            raise Usage(_in_use(_CANCEL_THERE))
        task, turn = taken[0].task, taken[0].turn
        answer_id = turn.answer_id if turn is not None else None
    recorder = TaskRecorder(store, clock=now_ms, new_id=new_id)
    await recorder.orphan(task, Cancelled(), answer_id=answer_id)


async def prune_stored(data: DataConfig, *, before_ms: int) -> tuple[int, int]:
    """Forget the tasks that ended earlier; how many there were, and how many conversations went with them.

    Raises: Usage, ConfigError, BackendError.
    """
    with inspect_storage(data):
        pass  # a store that is not there is not made
    tasks = conversations = 0
    async with _alone(data, "it forgets by itself what data.retention says") as storage, AsyncExitStack() as stack:
        forget = _forgetting(storage, stack)
        while True:
            pruned = await prune_batch(storage.store, forget, before_ms=before_ms)
            tasks, conversations = tasks + len(pruned.task_ids), conversations + len(pruned.contexts)
            if len(pruned.task_ids) < BATCH:
                return tasks, conversations


@asynccontextmanager
async def _alone(data: DataConfig, otherwise: str) -> AsyncIterator[Storage]:
    """The store, where no edge owns it. Raises: Usage, ConfigError."""
    try:
        async with open_storage(data) as storage:
            yield storage
    except FolderInUse as exc:
        raise Usage(_in_use(otherwise)) from exc


def _in_use(otherwise: str) -> str:
    return f"An edge is running on these tasks: {otherwise}, or stop the edge first."


def _forgetting(storage: Storage, stack: AsyncExitStack) -> Callable[[ContextKey], Awaitable[None]]:
    """What deletes threads, of whichever agent, as far as the edge keeps them itself."""
    opened = {}

    async def forget(context: ContextKey) -> None:
        owner, agent, context_id = context
        if agent not in opened:
            opened[agent] = await storage.open_threads(agent, stack)
        if (threads := opened[agent]) is not None:
            await threads.adelete_thread(thread_id(owner, context_id))

    return forget


async def migrate_stored(data: DataConfig) -> None:
    """Bring the schema to this version, and make it where there is none; in a database, the one of threads, too, whose
    tables all agents share. Raises: Usage, ConfigError.
    """
    async with (
        _alone(data, "it has brought the schema to its version at its start") as storage,
        AsyncExitStack() as stack,
    ):
        if data.postgres is not None:
            await storage.open_threads("any", stack)
