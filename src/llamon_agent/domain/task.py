"""A task: A2A's unit of work, as the store keeps it and every dialect shows it; and its push configurations.

A task is a value. What changes is which value is the current one, and `seq` says which is newer.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal

import msgspec

from llamon_agent.domain.message import Message, Metadata, Part, Text, emptied


class PushConfig(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A webhook of a task.

    Shape: `id` is unique within the task; `version` is the dialect that registered it ("0.3" or "1.0"), in whose shape
           events are sent to it; `schemes` are HTTP authentication schemes, of which the first is used with
           `credentials`; `token` is echoed to the webhook. An id that is empty was left to us.
    Source: A2A 1.0 §4.3.1 (PushNotificationConfig); 0.3 §6.8.
    """

    id: str
    url: str
    version: str
    token: str | None = None
    schemes: tuple[str, ...] = ()
    credentials: str | None = None


class TaskPushConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A configuration and the task that it is of.

    Shape: `owner` and `agent` are the task's; `told_seq` is the seq of the last event that the webhook has taken, 0 for
           none, so that a restart knows what is still to be sent.
    """

    owner: str
    agent: str
    task_id: str
    config: PushConfig
    told_seq: int = 0


class TaskState(StrEnum):
    """Where a task stands. Source: A2A 1.0 §4.1.3 (TaskState)."""

    SUBMITTED = "submitted"
    WORKING = "working"
    INPUT_REQUIRED = "input-required"
    AUTH_REQUIRED = "auth-required"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"
    REJECTED = "rejected"


TERMINAL = frozenset({TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELED, TaskState.REJECTED})
PAUSED = frozenset({TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED})


class TaskStatus(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A state, since when, and what the agent says about it.

    Units: at_ms is milliseconds since 1970 UTC.
    """

    state: TaskState
    at_ms: int
    message: Message | None = None

    @property
    def is_terminal(self) -> bool:
        """Nothing follows it."""
        return self.state in TERMINAL

    @property
    def is_paused(self) -> bool:
        """It asks for input, or for a sign-in."""
        return self.state in PAUSED


class Artifact(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Something the agent made; the answer's text is one. Source: A2A 1.0 §4.1.7 (Artifact)."""

    artifact_id: str
    parts: tuple[Part, ...]
    name: str | None = None
    description: str | None = None
    metadata: Metadata | None = None
    extensions: tuple[str, ...] = ()


def extended(artifact: Artifact, parts: Sequence[Part]) -> Artifact:
    """The artifact with more parts after its own; text continues the last text part if both are alike.

    Shape: two parts are alike if they differ in the text only.
    """
    grown = list(artifact.parts)
    for part in parts:
        last = grown[-1] if grown else None
        if isinstance(part, Text) and isinstance(last, Text) and msgspec.structs.replace(last, text=part.text) == part:
            grown[-1] = msgspec.structs.replace(last, text=last.text + part.text)
        else:
            grown.append(part)
    return msgspec.structs.replace(artifact, parts=tuple(grown))


class Task(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One unit of work and all that is known of it.

    Shape: `owner` is the principal that may see it, `agent` the configured agent that does it; both are ours and never
           on the wire. `seq` numbers the last event that this value contains: it counts from 1 over the task's whole
           life, is what an event stream shows as `id:`, and is what the store compares and sets on.
    Source: A2A 1.0 §4.1.1 (Task).
    """

    id: str
    context_id: str
    owner: str
    agent: str
    status: TaskStatus
    seq: int
    created_ms: int
    history: tuple[Message, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    metadata: Metadata | None = None

    @property
    def is_terminal(self) -> bool:
        """It has ended, and never changes again."""
        return self.status.is_terminal

    @property
    def is_paused(self) -> bool:
        """It waits for its caller."""
        return self.status.is_paused

    @property
    def is_settled(self) -> bool:
        """Nothing happens to it until a caller acts: terminal or paused."""
        return self.is_terminal or self.is_paused

    @property
    def log_ids(self) -> dict[str, str]:
        """What a log line about it carries as `extra`, by the keys of `telemetry.KEYS`."""
        return {"task_id": self.id, "context_id": self.context_id, "agent": self.agent}


def trim_history(task: Task, length: int | None) -> Task:
    """The task with at most its `length` newest messages; None is all of them. What is stored stays whole.

    Source: A2A 1.0 §3.2.4 (historyLength).
    """
    if length is None or len(task.history) <= length:
        return task
    return msgspec.structs.replace(task, history=task.history[len(task.history) - length :])


def without_bytes(task: Task, *, but_in_artifacts: bool) -> Task:
    """The task without the bytes of files in its messages, and in its artifacts unless they are to be kept there."""
    said = task.status.message
    artifacts = [
        artifact if but_in_artifacts else msgspec.structs.replace(artifact, parts=_emptied(artifact.parts))
        for artifact in task.artifacts
    ]
    return msgspec.structs.replace(
        task,
        status=task.status if said is None else msgspec.structs.replace(task.status, message=_message_without(said)),
        history=tuple(map(_message_without, task.history)),
        artifacts=tuple(artifacts),
    )


def _message_without(message: Message) -> Message:
    return msgspec.structs.replace(message, parts=_emptied(message.parts))


def _emptied(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    return tuple(map(emptied, parts))


def answer_text(artifacts: Sequence[Artifact]) -> str:
    """All text of the artifacts, in order, with nothing between."""
    return "".join(part.text for artifact in artifacts for part in artifact.parts if isinstance(part, Text))


class Retention(msgspec.Struct, frozen=True, kw_only=True):
    """How long things are kept; None is forever.

    Units: seconds; a task's since its end, a pause's since its question, a key's since it came.
    """

    tasks_s: float | None = None
    paused_s: float | None = None
    keys_s: float | None = None


MAX_PAGE_BYTES = 8 * 1024 * 1024
"""How many bytes of tasks a page of a list may hold before it ends."""


class TaskQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which tasks to list.

    Shape: only the owner's tasks of one agent; None filters nothing. `after` is the place of the last task of the page
           before: (at_ms, id).
    Units: changed_since_ms counts milliseconds since 1970 UTC, inclusive; limit counts tasks, from 1; max_bytes counts
           the tasks as the store writes them, and the first task of a page may have more.
    """

    owner: str
    agent: str
    context_id: str | None = None
    state: TaskState | None = None
    changed_since_ms: int | None = None
    after: tuple[int, str] | None = None
    limit: int = 50
    max_bytes: int = MAX_PAGE_BYTES

    @property
    def narrowed_by(self) -> Literal["context", "state", "all"]:
        """The filter whose order of tasks a page is read from."""
        if self.context_id is not None:
            return "context"
        return "all" if self.state is None else "state"

    @property
    def is_counted(self) -> bool:
        """Whether the total is that of a state, or of all states, and not of a part of them."""
        return self.context_id is None and self.changed_since_ms is None


class TaskPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some of the tasks that a query finds, newest status first (then by id, descending), and how many there are in
    all.

    Shape: total ignores `after` and `limit`; more says that tasks follow the last one of this page.
    Units: size_bytes is that of the tasks as the store writes them.
    """

    tasks: tuple[Task, ...]
    total: int
    more: bool
    size_bytes: int = 0
