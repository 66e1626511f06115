"""The changes that operators make: in the store itself, or through the edge that uses it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from llamon_agent.cli.conversation import connect_to
from llamon_agent.cli.exits import Usage
from llamon_agent.config.data import DataConfig
from llamon_agent.domain.caller import thread_id
from llamon_agent.domain.errors import TaskNotFound
from llamon_agent.domain.events import Cancelled
from llamon_agent.domain.task import Task
from llamon_agent.runs.decisions import decide_cancel
from llamon_agent.runs.housekeeping import BATCH, prune_batch
from llamon_agent.runs.ports.store import ContextKey, TaskStore
from llamon_agent.runs.task_recorder import TaskRecorder
from llamon_agent.serving.process import new_id, now_ms
from llamon_agent.serving.storage import Storage, inspect_storage, open_storage
from llamon_agent.store.sqlite.folder import FolderInUse, own_folder, size_of, vacuum_files

_CANCEL_THERE = "cancel the task there, with --url"

_LEASE_MS = 60_000
"""How long this process may take, before an edge counts it as dead."""


async def cancel_at(url: str, token: str | None, task_id: str) -> None:
    """Cancel a task through its edge. Raises: ConfigError, RemoteError."""
    async with connect_to(url, token) as agent:
        await agent.cancel(task_id)


async def cancel_stored(data: DataConfig, task_id: str) -> None:
    """Cancel a task that no edge works on. Its agent is not called: a question that is open is asked again when the
    conversation continues.

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
    """Raises: Usage: a process works on the task; Conflict."""
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
    """Delete the tasks that ended earlier; how many they were, and how many conversations were deleted with them.

    Raises: Usage, ConfigError, BackendError.
    """
    with inspect_storage(data):
        pass  # raises where there is no store, so that none is made
    tasks = conversations = 0
    async with _alone(data, "it deletes by itself what data.retention says") as storage, AsyncExitStack() as stack:
        delete_thread = _thread_deleter(storage, stack)
        while True:
            pruned = await prune_batch(storage.store, delete_thread, before_ms=before_ms)
            tasks, conversations = tasks + len(pruned.task_ids), conversations + len(pruned.contexts)
            if len(pruned.task_ids) < BATCH:
                return tasks, conversations


@asynccontextmanager
async def _alone(data: DataConfig, advice: str) -> AsyncIterator[Storage]:
    """The store, while no edge uses it. Raises: Usage, ConfigError."""
    try:
        async with open_storage(data) as storage:
            yield storage
    except FolderInUse as exc:
        raise Usage(_in_use(advice)) from exc


def _in_use(advice: str) -> str:
    return f"An edge is running on these tasks: {advice}. Or stop the edge first."


def _thread_deleter(storage: Storage, stack: AsyncExitStack) -> Callable[[ContextKey], Awaitable[None]]:
    """A function that deletes the threads of any agent, where the edge keeps them itself."""
    opened = {}

    async def delete_thread(context: ContextKey) -> None:
        owner, agent, context_id = context
        if agent not in opened:
            opened[agent] = await storage.open_threads(agent, stack)
        if (threads := opened[agent]) is not None:
            await threads.adelete_thread(thread_id(owner, context_id))

    return delete_thread


async def migrate_stored(data: DataConfig) -> None:
    """Bring the schema to this version, or make it. In a database this includes the schema of threads, whose tables all
    agents share.

    Raises: Usage, ConfigError.
    """
    async with (
        _alone(data, "it has migrated the schema at its start already") as storage,
        AsyncExitStack() as stack,
    ):
        if data.postgres is not None:
            await storage.open_threads("any", stack)


async def compact_stored(data: DataConfig) -> tuple[int, int] | None:
    """Delete the old checkpoints of all threads, then give the free pages of the files back to the disk.

    Units:  the bytes that the files of a data folder took before and take now; None for a database.
    Raises: Usage, ConfigError, BackendError.
    """
    with inspect_storage(data):
        pass  # raises where there is no store, so that none is made
    if data.postgres is not None:
        async with open_storage(data) as storage:
            await storage.prune_threads()
        return None
    advice = "it prunes threads by itself, and only files that no process has open can be made smaller"
    before = size_of(data.folder)
    async with _alone(data, advice) as storage:
        await storage.prune_threads()
    with own_folder(data.folder) as folder:
        return before, vacuum_files(folder)
