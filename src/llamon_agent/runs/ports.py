"""The ports: what the run service needs from an agent, from a store and from the machine.

Each is a handful of methods whose contract is its docstring. `llamon_agent.testing` ships a fake of each and the
contract suite that every implementation passes.

Leases, in words. A process that executes runs is a *holder*: it has an id of its own, new at every start, and a time
until which it lives, which it renews. A run is *held* from the write that begins it to the write that settles its task,
by the holder that wrote last with a turn or took it over. When a holder's time has run out, others may end it, and then
its runs are *abandoned*: each can be taken over by one of them. There is one row per process, so that renewing costs
one small write, however many runs there are; and each task says who holds its run, so that a process that was thought
dead overwrites nothing.
"""

from collections.abc import AsyncGenerator, Callable, Collection
from typing import Literal, Protocol

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
           seeded can be told. `answers` says that the task was paused and this message answers its question. attempt
           counts from 1; from 2 on, the process that took the turn before has died in the middle of it. answer_id is
           the artifact that the turn's text becomes, the same in every attempt; asked is what the task asked, as it was
           told, where this answers it. Kept as JSON while its run is held.
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
    asked: tuple[Metadata, ...] = ()
    metadata: Metadata = {}
    attempt: int = 1
    answer_id: str = "answer-1"


class Agent(Protocol):
    """Something that answers turns. Shared by all runs, so a run's state lives in its generator, never here."""

    @property
    def recovers(self) -> bool:
        """Whether a turn that was cut off can be taken again: a turn with an `attempt` above 1 goes on where the one
        before was cut off, as far as the agent's own memory reaches.
        """
        ...

    def run(self, turn: Turn) -> AsyncGenerator[RunEvent]:
        """Answer one turn.

        Shape:  any number of events, of which the one that ends the run is the last: Interrupt, Complete, Reply or
                Rejected, and from an agent that runs elsewhere also Error, Cancelled or NodeLost; ending without one is
                Complete. With `turn.answers`, an answer that does not fit yields the Interrupt again and does no work.
        Raises: AgentError, its cause chained, and then the thread is fit for its next turn; BackendError, where its
                threads are kept is away. Cancelling is closing: then stop the work, free what is held, and re-raise.
                Behind both the thread is left as it is, for `abandon` or another attempt.
        """
        ...

    async def abandon(self, thread_id: str) -> None:
        """Nobody goes on with what this thread is in the middle of: drop its pending question, and put right what a
        turn that was closed has left, so that the next turn starts clean.

        Raises: AgentError, BackendError. A thread that nothing is the matter with is left as it is.
        """
        ...

    async def forget(self, thread_id: str) -> None:
        """Delete all that is kept of this thread: its tasks have gone, and who comes back begins anew.

        Raises: AgentError, BackendError. Fine where nothing is kept.
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


class IdempotencyKey(msgspec.Struct, frozen=True, kw_only=True):
    """A caller's name for a message, under which it is taken once per owner and agent.

    Shape: digest is made of all that was sent with it.
    Units: at_ms is when it came, in milliseconds since 1970 UTC.
    """

    value: str
    digest: str
    at_ms: int


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    """What a key stands for: what was sent with it, and the task that came of it."""

    digest: str
    task_id: str


class Abandoned(msgspec.Struct, frozen=True, kw_only=True):
    """An unsettled task whose holder is gone, and which is held by who took it over.

    Shape: turn is the one that its run was begun with, None where no turn was kept; attempt is the number of the try
           that would now be made.
    """

    task: Task
    turn: Turn | None
    attempt: int


ContextKey = tuple[str, str, str]
"""(owner, agent, context id)"""


class Pruned(msgspec.Struct, frozen=True, kw_only=True):
    """What was forgotten: tasks by their ids, and the contexts that now have no task left, each once."""

    task_ids: tuple[str, ...] = ()
    contexts: tuple[ContextKey, ...] = ()


class TaskStore(Protocol):
    """Where tasks are kept, and who works on them. What a call has returned from is as safe as the store can make it.

    Raises: BackendError from any method when the store is away.
    """

    @property
    def holder(self) -> str:
        """Who this store writes as; another one once a lease was lost."""
        ...

    @property
    def is_durable(self) -> bool:
        """Whether what it keeps outlives this process, so that another can go on."""
        ...

    async def reached(self) -> None:
        """Look whether calls would be answered now, as cheaply as can be found out; writes count by how the last one
        did. Tells the log nothing.

        Raises: BackendError: they would not.
        """
        ...

    async def create(self, task: Task, *, turn: Turn | None = None, key: IdempotencyKey | None = None) -> None:
        """Keep a new task, and its key with it. With a turn, an unsettled one is held by `holder` now, in its first
        attempt.

        Raises: Conflict if its id is taken; KeyTaken if the key is: then nothing was written.
        """
        ...

    async def save(
        self, task: Task, *, expect: int, turn: Turn | None = None, key: IdempotencyKey | None = None
    ) -> None:
        """Replace a task by a newer value, if the kept one still has seq `expect` and is not terminal, and nobody else
        holds it. A settled value lets go of the run; an unsettled one with a turn is held by `holder` now, in its first
        attempt; without a turn, holder, turn and attempt stay as they are.

        Raises: Conflict, or KeyTaken if it is the key that is in the way; and then nothing was written.
        """
        ...

    async def get(self, owner: str, agent: str, task_id: str) -> Task | None:
        """The task, or None where there is none or it is somebody else's."""
        ...

    async def list(self, query: TaskQuery) -> TaskPage:
        """A page of tasks."""
        ...

    async def recall(self, owner: str, agent: str, key: str) -> Remembered | None:
        """What a key stands for, None where it is not known."""
        ...

    async def renew(self, *, until_ms: int) -> bool:
        """The holder lives until then; the first call makes it known, before it holds anything.

        False: its time had run out, and another process has ended it. Its runs may have been taken over, so the caller
        stops them; from now on the store has another `holder`, which this call has made known instead.
        """
        ...

    async def let_go(self) -> None:
        """The holder ends: its runs can be taken over at once, by whoever comes next. Safe to call twice."""
        ...

    async def take_over(self, *, now_ms: int, limit: int, task_id: str | None = None) -> tuple[Abandoned, ...]:
        """End every other holder whose time has run out by now, and take what is abandoned, at most `limit` of it,
        or that task only; where several processes do so at once, each task goes to one.

        Shape: unsettled tasks whose holder is not known any more, oldest status first (then by id), held by `holder`
               from now on. The attempt of one that is still `submitted`, which nobody has begun, stays as it is; any
               other's is one more than before.
        """
        ...

    async def held(self, *, beside: Collection[str], limit: int) -> tuple[Task, ...]:
        """What `holder` holds, beside these tasks, at most `limit` of it. For a process that names what it works on:
        of any other one, the end was never kept, or the store has lost it.
        """
        ...

    async def unanswered(self, *, before_ms: int, limit: int) -> tuple[Task, ...]:
        """Paused tasks whose status is older, whoever owns them, the oldest first and at most `limit`."""
        ...

    async def prune(self, *, before_ms: int, limit: int) -> Pruned:
        """Forget terminal tasks whose status is older, the oldest first and at most `limit`, with their webhooks and
        keys.
        """
        ...

    async def forget_keys(self, *, before_ms: int, limit: int) -> int:
        """Forget keys that came earlier, at most `limit`; how many there were. Their tasks stay."""
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
           what the host sent; objection says why the message may answer a question and may not begin a task; key is
           the caller's key for this message and a digest of all that came with it, where repeats are to be one.
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
    key: tuple[str, str] | None = None


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How much the run service allows. Times are seconds, sizes are counts or bytes as the name says.

    Shape: record_again_s are the pauses between the tries to record a run's end while the store is away;
           waiting_per_context is how many messages may wait behind a run of the same context; window_bytes is how much
           of a task's event log is kept for readers that fall behind or come back; lease_s is how long a process that
           does not renew its lease is taken to be alive; max_attempts is how often a run is tried whose process died;
           look_s is how long a look may take whether the store is there, and for how long its outcome holds.
    """

    cancel_grace_s: float = 10.0
    waiting_per_context: int = 8
    snapshot_every_s: float = 1.0
    record_again_s: tuple[float, ...] = (0.2, 0.5, 1, 2, 5, 10, 20)
    window_bytes: int = 1 << 20
    lease_s: float = 15.0
    max_attempts: int = 3
    look_s: float = 1.0


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A configured agent: which node executes it, by which adapter, driving what.

    Shape: session_id is a template in which {context_id} stands for the context; None is the context itself.
           direct_messages says that a Reply to a new message is told as a message, and no task is made of it;
           task_ids, who names new tasks; when_busy, what becomes of a message to a task that is working.
    Units: timeout_s is how many seconds a run may take.
    """

    name: str
    adapter: str
    target: str
    node: str = "local"
    session_id: str | None = None
    timeout_s: float = 600.0
    direct_messages: bool = False
    task_ids: Literal["server", "client"] = "server"
    when_busy: Literal["refuse", "wait"] = "refuse"

    def session_of(self, context_id: str) -> str:
        """The session of a context."""
        return (self.session_id or "{context_id}").replace("{context_id}", context_id)


class Runtime(msgspec.Struct, frozen=True):
    """A configured agent and what executes it."""

    target: Target
    agent: Agent
