"""A2A 1.0: the values on its wire <-> the domain's, for either side of it."""

from collections.abc import Mapping, Sequence

import msgspec

from llamon_agent.domain.encoding import write_base64, write_timestamp
from llamon_agent.domain.errors import BadParams
from llamon_agent.domain.events import ArtifactUpdate, Snapshot, StatusUpdate, Update
from llamon_agent.domain.message import Data, Message, Part, Raw, Text, Url
from llamon_agent.domain.task import Artifact, PushConfig, Task, TaskState, TaskStatus
from llamon_agent.wire.json_body import check_part_count, read_file
from llamon_agent.wire.proto_json import ROLE_IN, ROLE_OUT, Enum, required
from llamon_agent.wire.v10 import schema

LOSSES: Mapping[str, str] = {
    "parts.empty": "§5.7 wants at least one element in a required array: no parts are written as one empty text",
}
"""What this wire cannot say of a domain message: the place, and what becomes of it."""

VERSION = "1.0"

STATE_NUMBERS: Mapping[TaskState, int] = {
    TaskState.SUBMITTED: 1,
    TaskState.WORKING: 2,
    TaskState.COMPLETED: 3,
    TaskState.FAILED: 4,
    TaskState.CANCELED: 5,
    TaskState.INPUT_REQUIRED: 6,
    TaskState.REJECTED: 7,
    TaskState.AUTH_REQUIRED: 8,
}
STATE_OUT: Mapping[TaskState, str] = {state: "TASK_STATE_" + state.name for state in TaskState}
STATE_IN: Mapping[Enum, TaskState] = {name: state for state, name in STATE_OUT.items()} | {
    number: state for state, number in STATE_NUMBERS.items()
}

_NO_PARTS = (schema.Part(text=""),)

encode = msgspec.json.Encoder().encode


# Wire -> domain.


def part_in(part: schema.Part, position: int) -> Part:
    """One part; null `data` next to another content is a serializer's way of saying nothing. Raises: BadParams."""
    if part.text is not None and part.raw is None and part.url is None and part.data is msgspec.UNSET:
        # Nearly every part, ahead of a match that takes as long as the rest of reading a message.
        return Text(text=part.text, metadata=part.metadata, filename=part.filename, media_type=part.media_type)
    match (part.text, part.raw, part.url, part.data):
        case (str(text), None, None, None):
            return Text(text=text, metadata=part.metadata, filename=part.filename, media_type=part.media_type)
        case (None, str(raw), None, None | msgspec.UNSET):
            data = read_file(raw, f"message.parts[{position}].raw")
            return Raw(data=data, metadata=part.metadata, filename=part.filename, media_type=part.media_type)
        case (None, None, str(url), None | msgspec.UNSET):
            return Url(url=url, metadata=part.metadata, filename=part.filename, media_type=part.media_type)
        case (None, None, None, value) if value is not msgspec.UNSET:
            return Data(data=value, metadata=part.metadata, filename=part.filename, media_type=part.media_type)
        case _:
            field = f"message.parts[{position}]"
            raise BadParams(f"{field} must have exactly one of text, raw, url, data.", field=field)


def parts_in(parts: Sequence[schema.Part] | None) -> tuple[Part, ...]:
    """Parts in order, possibly none. Raises: BadParams."""
    return tuple([part_in(part, position) for position, part in enumerate(parts or ())])


def message_in(message: schema.Message) -> Message:
    """A caller's message, with all that §4.1.4 requires. Raises: BadParams that names the field."""
    required(message.message_id, "message.messageId")
    if not message.parts:
        raise BadParams("message.parts must have at least one part.", field="message.parts")
    check_part_count(message.parts)
    return message_value(message)


def message_value(message: schema.Message) -> Message:
    """A message as it is; an empty string is an absent one, as proto3 has it. Raises: BadParams."""
    role = ROLE_IN.get(message.role)
    if role is None:
        raise BadParams("message.role must be ROLE_USER or ROLE_AGENT.", field="message.role")
    return Message(
        message_id=message.message_id,
        role=role,
        parts=parts_in(message.parts),
        context_id=message.context_id or None,
        task_id=message.task_id or None,
        metadata=message.metadata,
        extensions=message.extensions or (),
        reference_task_ids=message.reference_task_ids or (),
    )


def push_in(config: schema.TaskPushNotificationConfig, *, within: str = "") -> PushConfig:
    """A webhook; `within` is the path to it. Source: A2A 1.0 §4.3.1, §4.3.2. Raises: BadParams that names the field."""
    url = required(config.url, f"{within}url")
    schemes: tuple[str, ...] = ()
    credentials = None
    if (authentication := config.authentication) is not None:
        schemes = (required(authentication.scheme, f"{within}authentication.scheme"),)
        credentials = authentication.credentials or None
    return PushConfig(
        id=config.id or "",
        url=url,
        version=VERSION,
        token=config.token or None,
        schemes=schemes,
        credentials=credentials,
    )


# Domain -> wire.


def part_out(part: Part) -> schema.Part:
    """One part."""
    match part:
        case Text(text=text):
            return schema.Part(text=text, metadata=part.metadata, filename=part.filename, media_type=part.media_type)
        case Raw(data=data):
            raw = write_base64(data)
            return schema.Part(raw=raw, metadata=part.metadata, filename=part.filename, media_type=part.media_type)
        case Url(url=url):
            return schema.Part(url=url, metadata=part.metadata, filename=part.filename, media_type=part.media_type)
        case Data(data=value):
            return schema.Part(data=value, metadata=part.metadata, filename=part.filename, media_type=part.media_type)


def parts_out(parts: Sequence[Part]) -> tuple[schema.Part, ...]:
    """Parts in order, at least one."""
    return tuple([part_out(part) for part in parts]) or _NO_PARTS


def message_out(message: Message) -> schema.Message:
    """A message."""
    return schema.Message(
        message_id=message.message_id,
        context_id=message.context_id,
        task_id=message.task_id,
        role=ROLE_OUT[message.role],
        parts=parts_out(message.parts),
        metadata=message.metadata,
        extensions=message.extensions or None,
        reference_task_ids=message.reference_task_ids or None,
    )


def artifact_out(artifact: Artifact) -> schema.Artifact:
    """A whole artifact."""
    return schema.Artifact(
        artifact_id=artifact.artifact_id,
        name=artifact.name,
        description=artifact.description,
        parts=parts_out(artifact.parts),
        metadata=artifact.metadata,
        extensions=artifact.extensions or None,
    )


def status_out(status: TaskStatus) -> schema.TaskStatus:
    """A status."""
    return schema.TaskStatus(
        state=STATE_OUT[status.state],
        message=None if status.message is None else message_out(status.message),
        timestamp=write_timestamp(status.at_ms),
    )


def task_out(task: Task, *, artifacts: bool = True) -> schema.Task:
    """A task, with its artifacts or without the key. §3.2.4: no history is an absent key."""
    return schema.Task(
        id=task.id,
        context_id=task.context_id,
        status=status_out(task.status),
        artifacts=tuple([artifact_out(artifact) for artifact in task.artifacts]) or None if artifacts else None,
        history=tuple([message_out(message) for message in task.history]) or None,
        metadata=task.metadata,
    )


def push_out(task_id: str, config: PushConfig) -> schema.TaskPushNotificationConfig:
    """A webhook of a task; of several schemes, which 0.3 can name, the one that is used."""
    authentication = schema.AuthenticationInfo(scheme=next(iter(config.schemes), None), credentials=config.credentials)
    return schema.TaskPushNotificationConfig(
        id=config.id,
        task_id=task_id,
        url=config.url,
        token=config.token,
        authentication=authentication if authentication.scheme else None,
    )


def event_out(event: Snapshot | Update, task: Task) -> schema.StreamResponse:
    """One event of the task's stream. §3.5.2: exactly one field."""
    match event:
        case ArtifactUpdate():
            return schema.StreamResponse(artifact_update=_artifact_update_out(event, task))
        case StatusUpdate(status=status):
            update = schema.TaskStatusUpdateEvent(
                task_id=task.id, context_id=task.context_id, status=status_out(status)
            )
            return schema.StreamResponse(status_update=update)
        case Snapshot(task=whole):
            return schema.StreamResponse(task=task_out(whole))


def _artifact_update_out(update: ArtifactUpdate, task: Task) -> schema.TaskArtifactUpdateEvent:
    """An update with its own parts; what else is known of the artifact comes with the update that ends it."""
    return schema.TaskArtifactUpdateEvent(
        task_id=task.id,
        context_id=task.context_id,
        artifact=artifact_out(update.sent),
        append=update.append,
        last_chunk=update.last,
    )
