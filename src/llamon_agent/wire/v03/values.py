"""A2A 0.2 and 0.3: the values on their wire <-> the domain's."""

from collections.abc import Mapping, Sequence

import msgspec

from llamon_agent.domain.encoding import write_base64, write_timestamp
from llamon_agent.domain.errors import BadParams
from llamon_agent.domain.events import ArtifactUpdate, Snapshot, StatusUpdate, Update
from llamon_agent.domain.message import Data, Message, Metadata, Part, Raw, Text, Url
from llamon_agent.domain.task import Artifact, PushConfig, Task, TaskStatus
from llamon_agent.wire.json_body import check_part_count, read_file
from llamon_agent.wire.v03 import schema

DATA_LOSSES: Mapping[str, str] = {
    "data.metadata.data_part_compat": "the key is taken: it marks a value that is no object, wrapped in one; left out",
    "data.metadata.empty": "an empty metadata object of such a wrapped value is read as none",
}
"""What a DataPart cannot say of a domain part."""

LOSSES: Mapping[str, str] = {
    "parts.empty": "a message needs a part, and an artifact's readers want one: none are written as one empty text",
    "text.filename": "a TextPart has no name: left out",
    "text.media_type": "a TextPart has no mimeType: left out",
    "data.filename": "a DataPart has no name: left out",
    "data.media_type": "a DataPart has no mimeType: left out",
    **DATA_LOSSES,
}
"""What this wire cannot say of a domain message: the place, and what becomes of it."""

VERSION = "0.3"

_WRAPPED = "data_part_compat"

_NO_PARTS = (schema.Part(kind="text", text=""),)

encode = msgspec.json.Encoder().encode


def data_in(data: Metadata, metadata: Metadata | None) -> Data:
    """The value of a DataPart, which holds only objects, in 0.3's JSON and in its protobuf.

    Another value goes as `{"value": ...}` under a mark in the part's metadata, which the official SDK uses as well.
    """
    if metadata and metadata.get(_WRAPPED) is True and data.keys() == {"value"}:
        return Data(data=data["value"], metadata=_without_mark(metadata) or None)
    return Data(data=data, metadata=metadata)


def data_out(part: Data) -> tuple[Metadata, Metadata | None]:
    """The data and the metadata of a DataPart."""
    metadata = _without_mark(part.metadata)
    if isinstance(part.data, dict):
        return part.data, metadata
    return {"value": part.data}, {**(metadata or {}), _WRAPPED: True}


def _without_mark(metadata: Metadata | None) -> Metadata | None:
    if metadata is None or _WRAPPED not in metadata:
        return metadata
    return {key: value for key, value in metadata.items() if key != _WRAPPED}


# Wire -> domain.


def part_in(part: schema.Part, position: int) -> Part:
    """One part, by its kind; without one, by what it holds. Raises: BadParams."""
    kind = part.kind or part.type or _kind_of(part)  # `type` is what 0.1 called it
    if kind == "text" and part.text is not None:
        return Text(text=part.text, metadata=part.metadata)
    if kind == "data" and part.data is not None:
        return data_in(part.data, part.metadata)
    if kind == "file" and part.file is not None:
        return _file_in(part.file, part.metadata, position)
    if kind in _KINDS:
        field = f"message.parts[{position}].{kind}"
        raise BadParams(f"{field} is required.", field=field)
    field = f"message.parts[{position}].kind"
    raise BadParams(f"{field} must be text, file or data.", field=field)


_KINDS = ("text", "file", "data")


def _kind_of(part: schema.Part) -> str | None:
    """The kind of a part whose sender left it out."""
    return next((kind for kind in _KINDS if getattr(part, kind) is not None), None)


def _file_in(file: schema.File, metadata: Metadata | None, position: int) -> Raw | Url:
    match (file.bytes, file.uri):
        case (str(text), None):
            data = read_file(text, f"message.parts[{position}].file.bytes")
            return Raw(data=data, metadata=metadata, filename=file.name, media_type=file.mime_type)
        case (None, str(uri)):
            return Url(url=uri, metadata=metadata, filename=file.name, media_type=file.mime_type)
        case _:
            field = f"message.parts[{position}].file"
            raise BadParams(f"{field} must have exactly one of bytes, uri.", field=field)


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


def push_in(config: schema.PushNotificationConfig) -> PushConfig:
    """A webhook; one without an id leaves the naming to us."""
    authentication = config.authentication
    return PushConfig(
        id=config.id or "",
        url=config.url,
        version=VERSION,
        token=config.token or None,
        schemes=() if authentication is None else authentication.schemes,
        credentials=None if authentication is None else authentication.credentials or None,
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
            value, metadata = data_out(part)
            return schema.Part(kind="data", data=value, metadata=metadata)


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


def task_out(task: Task, *, artifacts: bool = True) -> schema.Task:
    """A task, with its artifacts or without the key; no history and no artifacts are absent keys, too."""
    return schema.Task(
        id=task.id,
        context_id=task.context_id,
        status=status_out(task.status),
        history=tuple([message_out(message) for message in task.history]) or None,
        artifacts=tuple([artifact_out(artifact) for artifact in task.artifacts]) or None if artifacts else None,
        metadata=task.metadata,
    )


def push_out(task_id: str, config: PushConfig) -> schema.TaskPushNotificationConfig:
    """A webhook of a task."""
    authentication = schema.PushNotificationAuthenticationInfo(schemes=config.schemes, credentials=config.credentials)
    return schema.TaskPushNotificationConfig(
        task_id=task_id,
        push_notification_config=schema.PushNotificationConfig(
            id=config.id,
            url=config.url,
            token=config.token,
            authentication=authentication if config.schemes or config.credentials else None,
        ),
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
    return schema.TaskArtifactUpdateEvent(
        task_id=task.id,
        context_id=task.context_id,
        artifact=artifact_out(update.sent),
        append=update.append,
        last_chunk=update.last,
    )
