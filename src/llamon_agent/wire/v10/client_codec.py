"""A2A 1.0 as a client speaks it: params out, replies and events in.

Lenient where the edge is strict: what another server leaves out is its default, so that its answers are still readable.
What a client cannot know of a task (owner, agent, when it was created) is left empty.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from llamon_agent.domain.encoding import read_timestamp
from llamon_agent.domain.errors import CallerError, LlamonError
from llamon_agent.domain.events import WITHDRAWN, ArtifactUpdate, Snapshot, StatusUpdate
from llamon_agent.domain.message import Message, Metadata
from llamon_agent.domain.task import Artifact, Task, TaskStatus
from llamon_agent.wire.json_body import read_params
from llamon_agent.wire.v10 import schema
from llamon_agent.wire.v10.values import STATE_IN, encode, message_out, message_value, parts_in


class BadReply(LlamonError):
    """The server's fault: what it answered is no A2A 1.0 reply."""

    public = "The server's answer is not a valid A2A 1.0 reply."


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """One event of a stream, with the ids that it came with; None where the event has none."""

    event: Snapshot | StatusUpdate | ArtifactUpdate | Message
    task_id: str | None
    context_id: str | None


# Domain -> wire: params.


def write_send_params(
    message: Message,
    *,
    metadata: Metadata | None = None,
    blocking: bool = True,
    history_length: int | None = None,
    accepted_output_modes: Sequence[str] = (),
) -> bytes:
    """The params of SendMessage and SendStreamingMessage. Source: A2A 1.0 §3.2.1, §3.2.2."""
    configuration = schema.SendMessageConfiguration(
        accepted_output_modes=tuple(accepted_output_modes) or None,
        history_length=history_length,
        return_immediately=not blocking,
    )
    request = schema.SendMessageRequest(
        message=message_out(message),
        configuration=None if configuration == schema.SendMessageConfiguration() else configuration,
        metadata=metadata,
    )
    return encode(request)


def write_get_params(task_id: str, *, history_length: int | None = None) -> bytes:
    """The params of GetTask. Source: A2A 1.0 §3.1.3."""
    return encode(schema.GetTaskRequest(id=task_id, history_length=history_length))


def write_cancel_params(task_id: str) -> bytes:
    """The params of CancelTask. Source: A2A 1.0 §3.1.5."""
    return encode(schema.CancelTaskRequest(id=task_id))


# Wire -> domain: results and events.

_RESPONSE = msgspec.json.Decoder(schema.StreamResponse)
_TASK = msgspec.json.Decoder(schema.Task)

W = TypeVar("W")
D = TypeVar("D")


def read_task(result: bytes) -> Task:
    """The result of GetTask and CancelTask. Raises: BadReply."""
    return _read(_TASK, result, task_in)


def read_event(result: bytes, *, seq: int = 0) -> Heard:
    """One event of a stream; `seq` is what its `id:` said. Raises: BadReply."""
    return _read(_RESPONSE, result, lambda response: event_in(response, seq))


def _read(decoder: msgspec.json.Decoder[W], result: bytes, value_in: Callable[[W], D]) -> D:
    """Read a reply; what would be the caller's fault in params is the server's here."""
    try:
        return value_in(read_params(decoder, result))
    except CallerError as exc:
        raise BadReply from exc


def event_in(response: schema.StreamResponse, seq: int) -> Heard:
    """One event. Raises: BadReply, and BadParams from within."""
    if (task := response.task) is not None:
        whole = task_in(task, seq)
        return Heard(event=Snapshot(task=whole), task_id=whole.id, context_id=whole.context_id or None)
    if (said := response.message) is not None:
        message = message_value(said)
        return Heard(event=message, task_id=message.task_id, context_id=message.context_id)
    if (status := response.status_update) is not None:
        update = StatusUpdate(seq=seq, status=status_in(status.status))
        return Heard(event=update, task_id=status.task_id or None, context_id=status.context_id or None)
    if (chunk := response.artifact_update) is not None:
        piece = _artifact_update_in(chunk, seq)
        return Heard(event=piece, task_id=chunk.task_id or None, context_id=chunk.context_id or None)
    raise BadReply


def _artifact_update_in(update: schema.TaskArtifactUpdateEvent, seq: int) -> ArtifactUpdate:
    """An update; one that does not append and is the last is all of its artifact."""
    artifact = artifact_in(update.artifact or schema.Artifact())
    append, last = bool(update.append), bool(update.last_chunk)
    return ArtifactUpdate(
        seq=seq,
        artifact_id=artifact.artifact_id,
        parts=artifact.parts,
        append=append,
        last=last,
        whole=artifact if last and not append else None,
        withdrawn=(artifact.metadata or {}).get(WITHDRAWN) is True,
    )


def task_in(task: schema.Task, seq: int = 0) -> Task:
    """A task as another server shows it. Raises: BadReply, and BadParams from within."""
    status = status_in(task.status)
    return Task(
        id=task.id,
        context_id=task.context_id or "",
        owner="",
        agent="",
        status=status,
        seq=seq,
        created_ms=status.at_ms,
        history=tuple([message_value(message) for message in task.history or ()]),
        artifacts=tuple([artifact_in(artifact) for artifact in task.artifacts or ()]),
        metadata=task.metadata,
    )


def status_in(status: schema.TaskStatus | None) -> TaskStatus:
    """A status; without a timestamp it is of 1970. Raises: BadReply where there is no state that we know."""
    if status is None or (state := STATE_IN.get(status.state)) is None:
        raise BadReply("The server's answer has no task state, or one that A2A 1.0 does not know.")
    return TaskStatus(
        state=state,
        at_ms=read_timestamp(status.timestamp, "timestamp") if status.timestamp else 0,
        message=None if status.message is None else message_value(status.message),
    )


def artifact_in(artifact: schema.Artifact) -> Artifact:
    """An artifact. Raises: BadParams."""
    return Artifact(
        artifact_id=artifact.artifact_id,
        parts=parts_in(artifact.parts),
        name=artifact.name or None,
        description=artifact.description or None,
        metadata=artifact.metadata,
        extensions=artifact.extensions or (),
    )
