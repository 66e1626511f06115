"""The ports: what the run service needs from an agent, from a store and from the machine.

Each is a handful of methods whose contract is its docstring. `llamon_agent.testing` ships a fake of each and the
contract suite that every implementation passes.
"""

from collections.abc import AsyncGenerator, Callable
from typing import Protocol

import msgspec

from llamon_agent.domain.events import RunEvent
from llamon_agent.domain.message import Message, Metadata
from llamon_agent.domain.push import TaskPushConfig
from llamon_agent.domain.task import Task, TaskState

Clock = Callable[[], int]
"""Milliseconds since 1970 UTC."""

NewId = Callable[[], str]
"""A new id that nobody else has."""


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """One turn for an agent to take.

    Shape: prompt is the message's text parts joined by a newline; prefill is the host's history, oldest first and
           already capped, for an empty thread only; history_received counts the turns that came, so that what was not
           seeded can be told. `answers` says that the task was paused and this message answers its question.
    """

    task_id: str
    context_id: str
    thread_id: str
    session_id: str
    message: Message
    prompt: str
    prefill: tuple[Message, ...] = ()
    history_received: int = 0
    answers: bool = False
    metadata: Metadata = {}


class Agent(Protocol):
    """Something that answers turns. Shared by all runs, so a run's state lives in its generator, never here."""

    def run(self, turn: Turn) -> AsyncGenerator[RunEvent]:
        """Answer one turn.

        Shape:  any number of events, of which the one that ends the run is the last: Interrupt, Complete, Reply or
                Rejected, and from an agent that runs elsewhere also Error, Cancelled or NodeLost; ending without one is
                Complete. With `turn.answers`, an answer that does not fit yields the Interrupt again and does no work.
        Raises: AgentError, its cause chained. Cancelling is closing: then stop the work, repair what it left, re-raise.
        """
        ...

    async def abandon(self, thread_id: str) -> None:
        """The pause of this thread is dead: drop its pending question, so that the next turn starts clean.

        Raises: AgentError. A thread without a pause is left as it is.
        """
        ...


class TaskQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which tasks to list.

    Shape: only the owner's tasks of one agent; None filters nothing. `states` empty is any. `after` is the place of the
           last task of the page before: (at_ms, id).
    Units: changed_since_ms counts milliseconds since 1970 UTC, inclusive; limit counts tasks, from 1.
    """

    owner: str
    agent: str
    context_id: str | None = None
    states: tuple[TaskState, ...] = ()
    changed_since_ms: int | None = None
    after: tuple[int, str] | None = None
    limit: int = 50


class TaskPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some of the tasks that a query finds, newest status first (then by id, descending), and how many there are in
    all.

    Shape: total ignores `after` and `limit`; more says that tasks follow the last one of this page.
    """

    tasks: tuple[Task, ...]
    total: int
    more: bool


class TaskStore(Protocol):
    """Where tasks are kept. What a call has returned from is as safe as the store can make it.

    Raises: BackendError from any method when the store is away.
    """

    async def create(self, task: Task) -> None:
        """Keep a new task. Raises: Conflict if its id is taken."""
        ...

    async def save(self, task: Task, *, expect: int) -> None:
        """Replace a task by a newer value, if the kept one still has seq `expect` and is not terminal.

        Raises: Conflict, and then nothing was written.
        """
        ...

    async def get(self, owner: str, agent: str, task_id: str) -> Task | None:
        """The task, or None where there is none or it is somebody else's."""
        ...

    async def list(self, query: TaskQuery) -> TaskPage:
        """A page of tasks."""
        ...

    async def unfinished(self) -> tuple[Task, ...]:
        """Every task that is neither terminal nor paused, whoever owns it, oldest first."""
        ...

    async def close(self) -> None:
        """Finish what was begun and let go of everything. Safe to call twice."""
        ...


class PushStore(Protocol):
    """Where the webhooks of tasks are kept: beside the tasks, and as safe as they are.

    Raises: BackendError from any method when the store is away.
    """

    async def put_push(self, push: TaskPushConfig) -> None:
        """Keep a webhook; one of the same task and id is replaced, `told_seq` and all."""
        ...

    async def list_push(self, owner: str, agent: str, task_id: str) -> tuple[TaskPushConfig, ...]:
        """The webhooks of a task, by id; none where there is no such task, or it is somebody else's."""
        ...

    async def delete_push(self, owner: str, agent: str, task_id: str, config_id: str) -> None:
        """Forget a webhook; fine where there is none."""
        ...

    async def push_told(self, task_id: str, config_id: str, seq: int) -> None:
        """The webhook has taken everything up to `seq`; a lower one than is kept changes nothing, nor does a webhook
        that is gone.
        """
        ...

    async def untold_push(self) -> tuple[TaskPushConfig, ...]:
        """The webhooks that something is still to be told, whoever owns them: their task has not ended, or has a newer
        event than they were told of. By task and id.
        """
        ...


class Store(TaskStore, PushStore, Protocol):
    """Where an edge keeps what it must not forget."""


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A message for an agent, to become a run.

    Shape: task_id and context_id are what the caller named, None where it named none; history_received counts the turns
           that came, of which prefill are the ones that may be seeded; metadata is the run's: `source`, `blocking`, and
           what the host sent; objection says why the message may answer a question and may not begin a task.
    """

    owner: str
    agent: str
    message: Message
    prompt: str
    task_id: str | None = None
    context_id: str | None = None
    prefill: tuple[Message, ...] = ()
    history_received: int = 0
    metadata: Metadata = {}
    objection: str | None = None


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How much the run service allows. Times are seconds, sizes are counts or bytes as the name says.

    Shape: record_again_s are the pauses between the tries to record a run's end while the store is away;
           waiting_per_context is how many messages may wait behind a run of the same context; window_bytes is how much
           of a task's event log is kept for readers that fall behind or come back.
    """

    cancel_grace_s: float = 10.0
    waiting_per_context: int = 8
    snapshot_every_s: float = 1.0
    record_again_s: tuple[float, ...] = (0.2, 0.5, 1, 2, 5, 10, 20)
    window_bytes: int = 1 << 20


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A configured agent: which node executes it, by which adapter, driving what.

    Shape: session_id is a template in which {context_id} stands for the context; None is the context itself.
           direct_messages says that a Reply to a new message is told as a message, and no task is made of it.
    Units: timeout_s is how many seconds a run may take.
    """

    name: str
    adapter: str
    target: str
    node: str = "local"
    session_id: str | None = None
    timeout_s: float = 600.0
    direct_messages: bool = False

    def session_of(self, context_id: str) -> str:
        """The session of a context."""
        return (self.session_id or "{context_id}").replace("{context_id}", context_id)


class Runtime(msgspec.Struct, frozen=True):
    """A configured agent and what executes it."""

    target: Target
    agent: Agent
