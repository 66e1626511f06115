"""A2A 0.3 as protobuf has it: the values on that wire <-> the domain's.

A file's bytes. The proto has a field of bytes, and yet the official SDKs put a file's base64 text into it: they move
the string of their JSON models over as it is. a2a-sdk for Python does so to this day (1.3.0 where it speaks 0.3), and
a2a-go was mended to do the same; a2a-js puts in the bytes themselves. So base64 text is written, because the others
fail on anything else, and bytes are read as what they encode where they are base64 text, and as they are where not. A
file sent as it is whose own content is base64 text, to the letter, is taken for the other kind; JSON-RPC has no such
doubt.
"""

import binascii
from collections.abc import Mapping, Sequence

from llamon_agent.domain.encoding import write_base64, write_timestamp
from llamon_agent.domain.errors import BadParams
from llamon_agent.domain.events import ArtifactUpdate, Snapshot, StatusUpdate, Update
from llamon_agent.domain.message import Data, Message, Metadata, Part, Raw, Text, Url
from llamon_agent.domain.task import Artifact, PushConfig, Task, TaskState, TaskStatus
from llamon_agent.wire.json_body import check_part_count, read_file
from llamon_agent.wire.proto_json import ROLE_IN, ROLE_OUT, required
from llamon_agent.wire.v03.values import DATA_LOSSES, VERSION, data_in, data_out
from llamon_agent.wire.v03_proto import schema as proto_schema

LOSSES: Mapping[str, str] = {
    "parts.empty": "a message needs a part, and an artifact's readers want one: none are written as one empty text",
    "text.filename": "only a FilePart has a name: left out",
    "text.media_type": "only a FilePart has a mime_type: left out",
    "data.filename": "only a FilePart has a name: left out",
    "data.media_type": "only a FilePart has a mime_type: left out",
    "message.reference_task_ids": "a Message has no field for them: left out",
    **DATA_LOSSES,
}
"""What this wire cannot say of a domain message: the place, and what becomes of it."""

CANCELLED = "TASK_STATE_CANCELLED"  # so the proto spells it
STATE_OUT: Mapping[TaskState, str] = {state: "TASK_STATE_" + state.name for state in TaskState} | {
    TaskState.CANCELED: CANCELLED
}

_NO_PARTS = (proto_schema.Part(text=""),)


# Wire -> domain.


def part_in(part: proto_schema.Part, position: int) -> Part:
    """One part, by the content that is there. Raises: BadParams."""
    match (part.text, part.file, part.data):
        case (str(text), None, None):
            return Text(text=text, metadata=part.metadata)
        case (None, proto_schema.FilePart() as file, None):
            return _file_in(file, part.metadata, position)
        case (None, None, proto_schema.DataPart() as data):
            return data_in(data.data or {}, part.metadata)
        case _:
            field = f"message.content[{position}]"
            raise BadParams(f"{field} must have exactly one of text, file, data.", field=field)


def _file_in(file: proto_schema.FilePart, metadata: Metadata | None, position: int) -> Raw | Url:
    match (file.file_with_bytes, file.file_with_uri):
        case (str(text), None):
            data = file_bytes_in(read_file(text, f"message.content[{position}].file.fileWithBytes"))
            return Raw(data=data, metadata=metadata, filename=file.name, media_type=file.mime_type)
        case (None, str(uri)):
            return Url(url=uri, metadata=metadata, filename=file.name, media_type=file.mime_type)
        case _:
            field = f"message.content[{position}].file"
            raise BadParams(f"{field} must have exactly one of fileWithBytes, fileWithUri.", field=field)


def file_bytes_in(data: bytes) -> bytes:
    """What a file's bytes mean; the module's docstring says why there is a question."""
    try:
        content = binascii.a2b_base64(data, strict_mode=True)
    except ValueError:  # binascii.Error is one
        return data
    return content if file_bytes_out(content) == data else data


def message_in(message: proto_schema.Message) -> Message:
    """A caller's message. Raises: BadParams that names the field."""
    message_id = required(message.message_id, "message.messageId")
    if not message.content:
        raise BadParams("message.content must have at least one part.", field="message.content")
    check_part_count(message.content)
    role = ROLE_IN.get(message.role or 0)
    if role is None:
        raise BadParams("message.role must be ROLE_USER or ROLE_AGENT.", field="message.role")
    return Message(
        message_id=message_id,
        role=role,
        parts=tuple([part_in(part, position) for position, part in enumerate(message.content)]),
        context_id=message.context_id or None,
        task_id=message.task_id or None,
        metadata=message.metadata,
        extensions=message.extensions or (),
    )


def push_in(config: proto_schema.PushNotificationConfig, *, within: str) -> PushConfig:
    """A webhook; `within` is the path to it, and one without an id leaves the naming to us. Raises: BadParams."""
    authentication = config.authentication or proto_schema.AuthenticationInfo()
    return PushConfig(
        id=config.id or "",
        url=required(config.url, f"{within}.url"),
        version=VERSION,
        token=config.token or None,
        schemes=authentication.schemes or (),
        credentials=authentication.credentials or None,
    )


# Domain -> wire.


def file_bytes_out(content: bytes) -> bytes:
    """A file's content as the official SDKs look for it: in base64 text."""
    return binascii.b2a_base64(content, newline=False)


def part_out(part: Part) -> proto_schema.Part:
    """One part."""
    match part:
        case Text(text=text):
            return proto_schema.Part(text=text, metadata=part.metadata)
        case Raw(data=data):
            written = write_base64(file_bytes_out(data))
            file = proto_schema.FilePart(file_with_bytes=written, name=part.filename, mime_type=part.media_type)
            return proto_schema.Part(file=file, metadata=part.metadata)
        case Url(url=url):
            file = proto_schema.FilePart(file_with_uri=url, name=part.filename, mime_type=part.media_type)
            return proto_schema.Part(file=file, metadata=part.metadata)
        case Data():
            value, metadata = data_out(part)
            return proto_schema.Part(data=proto_schema.DataPart(data=value), metadata=metadata)


def _parts_out(parts: Sequence[Part]) -> tuple[proto_schema.Part, ...]:
    return tuple([part_out(part) for part in parts]) or _NO_PARTS


def message_out(message: Message) -> proto_schema.Message:
    """A message."""
    return proto_schema.Message(
        message_id=message.message_id,
        context_id=message.context_id,
        task_id=message.task_id,
        role=ROLE_OUT[message.role],
        content=_parts_out(message.parts),
        metadata=message.metadata,
        extensions=message.extensions or None,
    )


def artifact_out(artifact: Artifact) -> proto_schema.Artifact:
    """A whole artifact."""
    return proto_schema.Artifact(
        artifact_id=artifact.artifact_id,
        name=artifact.name,
        description=artifact.description,
        parts=_parts_out(artifact.parts),
        metadata=artifact.metadata,
        extensions=artifact.extensions or None,
    )


def status_out(status: TaskStatus) -> proto_schema.TaskStatus:
    """A status."""
    return proto_schema.TaskStatus(
        state=STATE_OUT[status.state],
        message=None if status.message is None else message_out(status.message),
        timestamp=write_timestamp(status.at_ms),
    )


def task_out(task: Task) -> proto_schema.Task:
    """A task; no history and no artifacts are absent keys."""
    return proto_schema.Task(
        id=task.id,
        context_id=task.context_id,
        status=status_out(task.status),
        artifacts=tuple([artifact_out(artifact) for artifact in task.artifacts]) or None,
        history=tuple([message_out(message) for message in task.history]) or None,
        metadata=task.metadata,
    )


def event_out(event: Snapshot | Update, task: Task, *, final: bool) -> proto_schema.StreamResponse:
    """One event of the task's stream."""
    match event:
        case ArtifactUpdate():
            return proto_schema.StreamResponse(artifact_update=_artifact_update_out(event, task))
        case StatusUpdate(status=status):
            update = proto_schema.TaskStatusUpdateEvent(
                task_id=task.id, context_id=task.context_id, status=status_out(status), final=final
            )
            return proto_schema.StreamResponse(status_update=update)
        case Snapshot(task=whole):
            return proto_schema.StreamResponse(task=task_out(whole))


def _artifact_update_out(update: ArtifactUpdate, task: Task) -> proto_schema.TaskArtifactUpdateEvent:
    """An update with its own parts; what else is known of the artifact comes with the update that ends it."""
    return proto_schema.TaskArtifactUpdateEvent(
        task_id=task.id,
        context_id=task.context_id,
        artifact=artifact_out(update.sent),
        append=update.append,
        last_chunk=update.last,
    )


def push_out(task_id: str, config: PushConfig) -> proto_schema.TaskPushNotificationConfig:
    """A webhook of a task, under its resource's name."""
    authentication = proto_schema.AuthenticationInfo(schemes=config.schemes or None, credentials=config.credentials)
    return proto_schema.TaskPushNotificationConfig(
        name=f"tasks/{task_id}/pushNotificationConfigs/{config.id}",
        push_notification_config=proto_schema.PushNotificationConfig(
            id=config.id,
            url=config.url,
            token=config.token,
            authentication=authentication if config.schemes or config.credentials else None,
        ),
    )
