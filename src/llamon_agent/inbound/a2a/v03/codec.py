"""A2A 0.2 and 0.3: their wire <-> the domain."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from llamon_agent.domain.errors import BadParams, UnsupportedOperation
from llamon_agent.domain.events import ArtifactUpdate, Snapshot, StatusUpdate, Update
from llamon_agent.domain.message import Data, Message, Metadata, Part, Raw, Text, Url
from llamon_agent.domain.task import Artifact, Task, TaskStatus
from llamon_agent.inbound.a2a.operations import (
    CancelTask,
    ExtendedCard,
    GetTask,
    Operation,
    PushConfigCall,
    SendMessage,
    Subscribe,
)
from llamon_agent.inbound.a2a.params import check_part_count, read_base64, read_params, write_base64
from llamon_agent.inbound.a2a.timestamp import write_timestamp
from llamon_agent.inbound.a2a.v03 import schema
from llamon_agent.runs.ports import TaskPage

LOSSES: Mapping[str, str] = {
    "parts.empty": "a message needs a part, and an artifact's readers want one: none are written as one empty text",
    "text.filename": "a TextPart has no name: left out",
    "text.media_type": "a TextPart has no mimeType: left out",
    "data.filename": "a DataPart has no name: left out",
    "data.media_type": "a DataPart has no mimeType: left out",
    "data.metadata.data_part_compat": "the key is taken: it marks a value that is no object, wrapped in one; left out",
    "data.metadata.empty": "an empty metadata object of such a wrapped value is read as none",
}
"""What this wire cannot say of a domain message: the place, and what becomes of it."""

# A DataPart holds an object. Another value goes as {"value": ...} under this mark, which the official SDK uses as well.
_WRAPPED = "data_part_compat"

_NO_PARTS = (schema.Part(kind="text", text=""),)

encode = msgspec.json.Encoder().encode


# Wire -> domain.


def part_in(part: schema.Part, position: int) -> Part:
    """One part, by its kind; without one, by what it holds. Raises: BadParams."""
    kind = part.kind or _kind_of(part)
    if kind == "text" and part.text is not None:
        return Text(text=part.text, metadata=part.metadata)
    if kind == "data" and part.data is not None:
        return _data_in(part.data, part.metadata)
    if kind == "file" and part.file is not None:
        return _file_in(part.file, part.metadata, position)
    if kind in _KINDS:
        raise BadParams(f"message.parts[{position}].{kind} is required.")
    raise BadParams(f"message.parts[{position}].kind must be text, file or data.")


_KINDS = ("text", "file", "data")


def _kind_of(part: schema.Part) -> str | None:
    """The kind of a part whose sender left it out."""
    return next((kind for kind in _KINDS if getattr(part, kind) is not None), None)


def _file_in(file: schema.File, metadata: Metadata | None, position: int) -> Raw | Url:
    match (file.bytes, file.uri):
        case (str(text), None):
            data = read_base64(text, f"message.parts[{position}].file.bytes")
            return Raw(data=data, metadata=metadata, filename=file.name, media_type=file.mime_type)
        case (None, str(uri)):
            return Url(url=uri, metadata=metadata, filename=file.name, media_type=file.mime_type)
        case _:
            raise BadParams(f"message.parts[{position}].file must have exactly one of bytes, uri.")


def _data_in(data: Metadata, metadata: Metadata | None) -> Data:
    if metadata and metadata.get(_WRAPPED) is True and data.keys() == {"value"}:
        return Data(data=data["value"], metadata=_without_mark(metadata) or None)
    return Data(data=data, metadata=metadata)


def message_in(message: schema.Message) -> Message:
    """A message. Raises: BadParams.

    An empty contextId or taskId is an absent one: that is what templates send that have none to fill in.
    """
    check_part_count(message.parts)
    return Message(
        message_id=message.message_id,
        role=message.role,
        parts=tuple([part_in(part, position) for position, part in enumerate(message.parts)]),
        context_id=message.context_id or None,
        task_id=message.task_id or None,
        metadata=message.metadata,
        extensions=message.extensions or (),
        reference_task_ids=message.reference_task_ids or (),
    )


# Domain -> wire.


def part_out(part: Part) -> schema.Part:
    """One part."""
    match part:
        case Text(text=text):
            return schema.Part(kind="text", text=text, metadata=part.metadata)
        case Raw(data=data):
            file = schema.File(bytes=write_base64(data), name=part.filename, mime_type=part.media_type)
            return schema.Part(kind="file", file=file, metadata=part.metadata)
        case Url(url=url):
            file = schema.File(uri=url, name=part.filename, mime_type=part.media_type)
            return schema.Part(kind="file", file=file, metadata=part.metadata)
        case Data():
            return _data_out(part)


def _data_out(part: Data) -> schema.Part:
    metadata = _without_mark(part.metadata)
    if isinstance(part.data, dict):
        return schema.Part(kind="data", data=part.data, metadata=metadata)
    return schema.Part(kind="data", data={"value": part.data}, metadata={**(metadata or {}), _WRAPPED: True})


def _without_mark(metadata: Metadata | None) -> Metadata | None:
    if metadata is None or _WRAPPED not in metadata:
        return metadata
    return {key: value for key, value in metadata.items() if key != _WRAPPED}


def _parts_out(parts: Sequence[Part]) -> tuple[schema.Part, ...]:
    return tuple([part_out(part) for part in parts]) or _NO_PARTS


def message_out(message: Message) -> schema.Message:
    """A message."""
    return schema.Message(
        message_id=message.message_id,
        role=message.role,
        parts=_parts_out(message.parts),
        context_id=message.context_id,
        task_id=message.task_id,
        metadata=message.metadata,
        extensions=message.extensions or None,
        reference_task_ids=message.reference_task_ids or None,
    )


def artifact_out(artifact: Artifact) -> schema.Artifact:
    """A whole artifact."""
    return schema.Artifact(
        artifact_id=artifact.artifact_id,
        parts=_parts_out(artifact.parts),
        name=artifact.name,
        description=artifact.description,
        metadata=artifact.metadata,
        extensions=artifact.extensions or None,
    )


def status_out(status: TaskStatus) -> schema.TaskStatus:
    """A status."""
    return schema.TaskStatus(
        state=status.state,
        timestamp=write_timestamp(status.at_ms),
        message=None if status.message is None else message_out(status.message),
    )


def task_out(task: Task) -> schema.Task:
    """A task; no history and no artifacts are absent keys."""
    return schema.Task(
        id=task.id,
        context_id=task.context_id,
        status=status_out(task.status),
        history=tuple([message_out(message) for message in task.history]) or None,
        artifacts=tuple([artifact_out(artifact) for artifact in task.artifacts]) or None,
        metadata=task.metadata,
    )


Event = schema.Task | schema.TaskStatusUpdateEvent | schema.TaskArtifactUpdateEvent


def event_out(event: Snapshot | Update, task: Task, *, final: bool) -> Event:
    """One event of the task's stream."""
    match event:
        case ArtifactUpdate():
            return _artifact_update_out(event, task)
        case StatusUpdate(status=status):
            return schema.TaskStatusUpdateEvent(
                task_id=task.id, context_id=task.context_id, status=status_out(status), final=final
            )
        case Snapshot(task=whole):
            return task_out(whole)


def _artifact_update_out(update: ArtifactUpdate, task: Task) -> schema.TaskArtifactUpdateEvent:
    """An update with its own parts; what else is known of the artifact comes with the update that ends it."""
    parts = _parts_out(update.parts)
    if (whole := update.whole) is None:
        artifact = schema.Artifact(artifact_id=update.artifact_id, parts=parts)
    else:
        artifact = schema.Artifact(
            artifact_id=update.artifact_id,
            parts=parts,
            name=whole.name,
            description=whole.description,
            metadata=whole.metadata,
            extensions=whole.extensions or None,
        )
    return schema.TaskArtifactUpdateEvent(
        task_id=task.id, context_id=task.context_id, artifact=artifact, append=update.append, last_chunk=update.last
    )


# Params -> operations.

_SEND = msgspec.json.Decoder(schema.MessageSendParams)
_QUERY = msgspec.json.Decoder(schema.TaskQueryParams)
_ID = msgspec.json.Decoder(schema.TaskIdParams)
_NO_CONFIGURATION = schema.MessageSendConfiguration()


def _send(params: bytes, *, stream: bool) -> SendMessage:
    wire = read_params(_SEND, params)
    configuration = wire.configuration or _NO_CONFIGURATION
    return SendMessage(
        message=message_in(wire.message),
        metadata=wire.metadata,
        blocking=configuration.blocking is not False,  # the spec leaves absent open; here absent waits
        stream=stream,
        history_length=configuration.history_length,
        accepted_output_modes=configuration.accepted_output_modes or (),
        wants_push=configuration.push_notification_config is not None,
    )


def read_send(params: bytes) -> SendMessage:
    """Source: A2A 0.3 §7.1 (message/send)."""
    return _send(params, stream=False)


def read_stream(params: bytes) -> SendMessage:
    """Source: A2A 0.3 §7.2 (message/stream)."""
    return _send(params, stream=True)


def read_get(params: bytes) -> GetTask:
    """Source: A2A 0.3 §7.3 (tasks/get)."""
    wire = read_params(_QUERY, params)
    return GetTask(task_id=wire.id, history_length=wire.history_length)


def read_cancel(params: bytes) -> CancelTask:
    """Source: A2A 0.3 §7.4 (tasks/cancel), where canceling again is an error."""
    wire = read_params(_ID, params)
    return CancelTask(task_id=wire.id, again_ok=False, metadata=wire.metadata)


def read_resubscribe(params: bytes) -> Subscribe:
    """Source: A2A 0.3 §7.9 (tasks/resubscribe); a finished task is answered with itself."""
    return Subscribe(task_id=read_params(_ID, params).id, ended_ok=True)


def read_push_config(_params: bytes) -> PushConfigCall:
    """Not supported, whatever the params say. Source: A2A 0.3 §7.5 to §7.8."""
    return PushConfigCall()


def read_extended_card(_params: bytes) -> ExtendedCard:
    """Source: A2A 0.3 §7.10 (agent/getAuthenticatedExtendedCard), which has no params."""
    return ExtendedCard()


class Dialect03:
    """A2A 0.x, as the port `Dialect` wants it."""

    version = "0.3"
    methods: Mapping[str, Callable[[bytes], Operation]] = {
        "message/send": read_send,
        "message/stream": read_stream,
        "tasks/get": read_get,
        "tasks/cancel": read_cancel,
        "tasks/resubscribe": read_resubscribe,
        "tasks/pushNotificationConfig/set": read_push_config,
        "tasks/pushNotificationConfig/get": read_push_config,
        "tasks/pushNotificationConfig/list": read_push_config,
        "tasks/pushNotificationConfig/delete": read_push_config,
        "agent/getAuthenticatedExtendedCard": read_extended_card,
    }

    def write_sent(self, task: Task) -> bytes:
        """The bare task. Source: A2A 0.3 §7.1."""
        return encode(task_out(task))

    write_task = write_sent

    def write_page(self, page: TaskPage, *, next_token: str, page_size: int, include_artifacts: bool) -> bytes:  # noqa: ARG002
        """0.x has no list over JSON-RPC. Raises: UnsupportedOperation."""
        raise UnsupportedOperation

    def write_event(self, event: Snapshot | Update, *, task: Task, final: bool) -> bytes:
        """A flat object with its `kind`. Source: A2A 0.3 §7.2.1."""
        return encode(event_out(event, task, final=final))

    def write_fault_data(self, reason: str, public: str, details: Sequence[Metadata]) -> None:
        """Nothing: `data` is free in 0.x, and no client of it looks for anything there."""


V03 = Dialect03()
