"""What a client reads of a server's replies, alike in all versions: a schema's values -> the domain's.

Lenient where the edge is strict: what another server leaves out is its default, and a part without any content that we
know is left out, so that its answers are still readable. What a client cannot know of a task (owner, agent, when it was
created) is left empty. The schemas of all versions share the names that are read here.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol, TypeVar

import msgspec

from llamon_agent.domain.encoding import read_timestamp
from llamon_agent.domain.errors import BadParams, CallerError, LlamonError
from llamon_agent.domain.events import WITHDRAWN, ArtifactUpdate, Snapshot, StatusUpdate
from llamon_agent.domain.message import Message, Part, Role
from llamon_agent.domain.task import Artifact, Task, TaskState, TaskStatus
from llamon_agent.wire.proto_json import SEND_KEYS, read_proto_params

_PROTO_NAMES = (*SEND_KEYS, b"status_update", b"artifact_update", b"artifact_id", b"last_chunk")
"""Mark the proto's names in a reply, which some servers write."""

D = TypeVar("D")
W = TypeVar("W")


class BadReply(LlamonError):
    """The server's fault: what it answered is no reply of the version that was asked for."""

    public = "The server's answer is not a valid A2A reply."


class TaskEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event of a stream, or a reply, with the ids that it came with; None where it has none."""

    event: Snapshot | StatusUpdate | ArtifactUpdate | Message
    task_id: str | None
    context_id: str | None


class ClientCodec(Protocol):
    """One version of A2A as a client speaks it."""

    def write_send(self, message: Message, *, blocking: bool = True) -> bytes:
        """What a message is sent in; blocking waits until its task is settled."""

    def read_event(self, reply: bytes, *, seq: int = 0) -> TaskEvent:
        """The reply to a message, or one event of a stream; seq is the number that it came with. Raises: BadReply."""

    def read_task(self, reply: bytes) -> Task:
        """A bare task. Raises: BadReply."""


class ReplyReader(msgspec.Struct, frozen=True, kw_only=True):
    """How one schema's values are read.

    Shape: part_in gives None for a part without any content that we know, state_in None for what is no state of the
           version; `content` is what the schema calls the parts of a message.
    """

    part_in: Callable[[Any, int], Part | None]
    state_in: Callable[[Any], TaskState | None]
    roles: Mapping[Any, Role]
    content: str = "parts"

    def read(self, decoder: msgspec.json.Decoder[W], reply: bytes, value_in: Callable[[W], D]) -> D:
        """Open a reply; what would be the caller's fault in params is the server's here. Raises: BadReply."""
        try:
            return value_in(read_proto_params(decoder, reply, markers=_PROTO_NAMES))
        except CallerError as exc:
            raise BadReply from exc

    def event_in(self, response: Any, seq: int) -> TaskEvent:
        """One event: exactly one of its fields is there. Raises: BadReply, and BadParams from within."""
        if response.task is not None:
            whole = self.task_in(response.task, seq)
            return TaskEvent(event=Snapshot(task=whole), task_id=whole.id, context_id=whole.context_id or None)
        if response.message is not None:
            message = self.message_in(response.message)
            if not message.message_id and not message.parts:
                raise BadReply
            return TaskEvent(event=message, task_id=message.task_id, context_id=message.context_id)
        if (status := response.status_update) is not None:
            return _event_of(status, StatusUpdate(seq=seq, status=self.status_in(status.status)))
        if (chunk := response.artifact_update) is not None:
            return _event_of(chunk, self._artifact_update_in(chunk, seq))
        raise BadReply

    def task_in(self, task: Any, seq: int = 0) -> Task:
        """A task as another server shows it. Raises: BadReply, and BadParams from within."""
        status = self.status_in(task.status)
        return Task(
            id=task.id or "",
            context_id=task.context_id or "",
            owner="",
            agent="",
            status=status,
            seq=seq,
            created_ms=status.at_ms,
            history=tuple([self.message_in(message) for message in task.history or ()]),
            artifacts=tuple([self.artifact_in(artifact) for artifact in task.artifacts or ()]),
            metadata=task.metadata,
        )

    def status_in(self, status: Any) -> TaskStatus:
        """A status; without a readable timestamp it is of 1970.

        Raises: BadReply where there is no state that we know.
        """
        if status is None or (state := self.state_in(status.state)) is None:
            raise BadReply("The server's answer has no task state, or one that A2A does not know.")
        return TaskStatus(
            state=state,
            at_ms=_at_ms(status.timestamp),
            message=None if status.message is None else self.message_in(status.message),
        )

    def message_in(self, message: Any) -> Message:
        """A message; one without a role is the agent's. Raises: BadParams."""
        return Message(
            message_id=message.message_id or "",
            role=self.roles.get(message.role, Role.AGENT),
            parts=self._parts_in(getattr(message, self.content)),
            context_id=message.context_id or None,
            task_id=message.task_id or None,
            metadata=message.metadata,
            extensions=message.extensions or (),
            reference_task_ids=getattr(message, "reference_task_ids", None) or (),
        )

    def artifact_in(self, artifact: Any) -> Artifact:
        """An artifact. Raises: BadParams."""
        return Artifact(
            artifact_id=artifact.artifact_id or "",
            parts=self._parts_in(artifact.parts),
            name=artifact.name or None,
            description=artifact.description or None,
            metadata=artifact.metadata,
            extensions=artifact.extensions or (),
        )

    def _artifact_update_in(self, update: Any, seq: int) -> ArtifactUpdate:
        """An update; one that does not append is all of its artifact so far."""
        if update.artifact is None:
            raise BadReply
        artifact, append = self.artifact_in(update.artifact), bool(update.append)
        return ArtifactUpdate(
            seq=seq,
            artifact_id=artifact.artifact_id,
            parts=artifact.parts,
            append=append,
            last=bool(update.last_chunk),
            whole=None if append else artifact,
            withdrawn=(artifact.metadata or {}).get(WITHDRAWN) is True,
        )

    def _parts_in(self, parts: Sequence[Any] | None) -> tuple[Part, ...]:
        read = [self.part_in(part, position) for position, part in enumerate(parts or ())]
        return tuple([part for part in read if part is not None])


def _at_ms(timestamp: str | None) -> int:
    """A time without a zone is UTC: the servers of fasta2a write none."""
    for text in (timestamp, f"{timestamp}Z") if timestamp else ():
        with suppress(BadParams):
            return read_timestamp(text, "timestamp")
    return 0


def _event_of(update: Any, event: StatusUpdate | ArtifactUpdate) -> TaskEvent:
    return TaskEvent(event=event, task_id=update.task_id or None, context_id=update.context_id or None)
