"""What the run service is given: requests, targets, limits, the clock and new ids."""

from collections.abc import Callable
from typing import Literal

import msgspec

from llamon_agent.domain.caller import Caller
from llamon_agent.domain.message import Message, Metadata
from llamon_agent.runs.ports.agent import Agent

Clock = Callable[[], int]
"""Milliseconds since 1970 UTC."""


NewId = Callable[[], str]
"""A new, unique id."""


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A message for an agent, to become a run.

    Shape: task_id and context_id are what the caller named, None where it named none; history_received counts the turns
           that came, of which prefill are the ones that may be seeded; metadata is the run's: `source`, `blocking`, and
           what the host sent; objection says why the message may answer a question and may not begin a task; key is
           the caller's key for this message and a digest of all that came with it, where repeats are to be one.
    """

    caller: Caller
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

    @property
    def owner(self) -> str:
        return self.caller.owner


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How much the run service allows. Times are seconds, sizes are counts or bytes as the name says.

    Shape: record_again_s are the pauses between the tries to record a run's end while the store is away;
           waiting_per_context is how many messages may wait for a run of the same context; window_bytes is how much
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

    @property
    def cancel_wait_s(self) -> float:
        """How long a cancel waits for the end of the run: its grace, and as long again to record the end."""
        return 2 * self.cancel_grace_s


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A configured agent: which node executes it, by which adapter, driving what.

    Shape: session_id is a template in which {context_id} stands for the context; None is the context itself.
           direct_messages says that a Reply to a new message is sent as a message, and no task is made of it;
           task_ids says which side names new tasks; when_busy, what becomes of a message to a task that is working;
           answer_in_status says that the text of an answer is the message of the completed status, too.
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
    answer_in_status: bool = False


class Runtime(msgspec.Struct, frozen=True):
    """A configured agent and what executes it."""

    target: Target
    agent: Agent
