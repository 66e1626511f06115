"""A2A 1.0: its wire <-> the domain. What the edge says and hears as a server; a client's half is in `client_codec`."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import msgspec

from llamon_agent.domain.errors import BadJson, BadParams
from llamon_agent.domain.events import ArtifactUpdate, Snapshot, StatusUpdate, Update
from llamon_agent.domain.message import Data, Message, Metadata, Part, Raw, Role, Text, Url
from llamon_agent.domain.task import Artifact, Task, TaskState, TaskStatus
from llamon_agent.inbound.a2a.operations import (
    CancelTask,
    ExtendedCard,
    GetTask,
    ListTasks,
    Operation,
    PushConfigCall,
    SendMessage,
    Subscribe,
)
from llamon_agent.inbound.a2a.params import check_part_count, read_base64, read_params, write_base64
from llamon_agent.inbound.a2a.timestamp import read_timestamp, write_timestamp
from llamon_agent.inbound.a2a.v10 import schema
from llamon_agent.inbound.a2a.v10.proto_names import respell
from llamon_agent.runs.ports import TaskPage

LOSSES: Mapping[str, str] = {
    "parts.empty": "§5.7 wants at least one element in a required array: no parts are written as one empty text",
}
"""What this wire cannot say of a domain message: the place, and what becomes of it."""

ROLE_OUT: Mapping[Role, str] = {Role.USER: "ROLE_USER", Role.AGENT: "ROLE_AGENT"}
ROLE_IN: Mapping[schema.Enum, Role] = {"ROLE_USER": Role.USER, 1: Role.USER, "ROLE_AGENT": Role.AGENT, 2: Role.AGENT}

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
STATE_IN: Mapping[schema.Enum, TaskState] = {name: state for state, name in STATE_OUT.items()} | {
    number: state for state, number in STATE_NUMBERS.items()
}
_MAX_PAGE_SIZE = 100
_MAX_INT32 = 2**31 - 1
_DIGITS = re.compile(r"[0-9]{1,10}")
_UNSPECIFIED = ("TASK_STATE_UNSPECIFIED", 0, None)

_NO_PARTS = (schema.Part(text=""),)
_ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo"
_ERROR_DOMAIN = "a2a-protocol.org"

encode = msgspec.json.Encoder().encode

T = TypeVar("T")


# Wire -> domain.


def part_in(part: schema.Part, position: int) -> Part:
    """One part; null `data` beside another content is a serializer's way of saying nothing. Raises: BadParams."""
    if part.text is not None and part.raw is None and part.url is None and part.data is msgspec.UNSET:
        # Nearly every part, ahead of a match that takes as long as the rest of reading a message.
        return Text(text=part.text, metadata=part.metadata, filename=part.filename, media_type=part.media_type)
    match (part.text, part.raw, part.url, part.data):
        case (str(text), None, None, None):
            return Text(text=text, metadata=part.metadata, filename=part.filename, media_type=part.media_type)
        case (None, str(raw), None, None | msgspec.UNSET):
            data = read_base64(raw, f"message.parts[{position}].raw")
            return Raw(data=data, metadata=part.metadata, filename=part.filename, media_type=part.media_type)
        case (None, None, str(url), None | msgspec.UNSET):
            return Url(url=url, metadata=part.metadata, filename=part.filename, media_type=part.media_type)
        case (None, None, None, value) if value is not msgspec.UNSET:
            return Data(data=value, metadata=part.metadata, filename=part.filename, media_type=part.media_type)
        case _:
            raise BadParams(f"message.parts[{position}] must have exactly one of text, raw, url, data.")


def parts_in(parts: Sequence[schema.Part] | None) -> tuple[Part, ...]:
    """Parts in order, possibly none. Raises: BadParams."""
    return tuple([part_in(part, position) for position, part in enumerate(parts or ())])


def message_in(message: schema.Message) -> Message:
    """A caller's message, with all that §4.1.4 requires. Raises: BadParams that names the field."""
    if not message.message_id:
        raise BadParams("message.messageId is required.")
    if not message.parts:
        raise BadParams("message.parts must have at least one part.")
    check_part_count(message.parts)
    return message_value(message)


def message_value(message: schema.Message) -> Message:
    """A message as it is; an empty string is an absent one, as proto3 has it. Raises: BadParams."""
    role = ROLE_IN.get(message.role)
    if role is None:
        raise BadParams("message.role must be ROLE_USER or ROLE_AGENT.")
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
    parts = parts_out(update.parts)
    if (whole := update.whole) is None:
        artifact = schema.Artifact(artifact_id=update.artifact_id, parts=parts)
    else:
        artifact = schema.Artifact(
            artifact_id=update.artifact_id,
            name=whole.name,
            description=whole.description,
            parts=parts,
            metadata=whole.metadata,
            extensions=whole.extensions or None,
        )
    return schema.TaskArtifactUpdateEvent(
        task_id=task.id, context_id=task.context_id, artifact=artifact, append=update.append, last_chunk=update.last
    )


# Params -> operations.

_SEND = msgspec.json.Decoder(schema.SendMessageRequest)
_GET = msgspec.json.Decoder(schema.GetTaskRequest)
_LIST = msgspec.json.Decoder(schema.ListTasksRequest)
_CANCEL = msgspec.json.Decoder(schema.CancelTaskRequest)
_SUBSCRIBE = msgspec.json.Decoder(schema.SubscribeToTaskRequest)
_NO_CONFIGURATION = schema.SendMessageConfiguration()


def _open(decoder: msgspec.json.Decoder[T], params: bytes, *, tell: bytes) -> T:
    """Open params in either spelling; `tell` is what those in proto names contain. Raises: BadParams, BadJson."""
    if tell in params:
        try:
            params = respell(params)
        except (msgspec.DecodeError, RecursionError) as exc:
            raise BadJson from exc
    return read_params(decoder, params)


def _send(params: bytes, *, stream: bool) -> SendMessage:
    wire = _open(_SEND, params, tell=b'"message_id"')
    if wire.message is None:
        raise BadParams("message is required.")
    configuration = wire.configuration or _NO_CONFIGURATION
    return SendMessage(
        message=message_in(wire.message),
        metadata=wire.metadata,
        blocking=not configuration.return_immediately,  # §3.2.2: unset is false
        stream=stream,
        history_length=_count(configuration.history_length, "configuration.historyLength"),
        accepted_output_modes=configuration.accepted_output_modes or (),
        wants_push=configuration.task_push_notification_config is not None,
        tenant=wire.tenant or None,
    )


def read_send(params: bytes) -> SendMessage:
    """Source: A2A 1.0 §9.4.1 (SendMessage)."""
    return _send(params, stream=False)


def read_stream(params: bytes) -> SendMessage:
    """Source: A2A 1.0 §9.4.2 (SendStreamingMessage)."""
    return _send(params, stream=True)


def read_get(params: bytes) -> GetTask:
    """Source: A2A 1.0 §9.4.3 (GetTask)."""
    wire = _open(_GET, params, tell=b'"history_length"')
    return GetTask(
        task_id=_id(wire.id), history_length=_count(wire.history_length, "historyLength"), tenant=wire.tenant or None
    )


def read_list(params: bytes) -> ListTasks:
    """Source: A2A 1.0 §9.4.4 (ListTasks); pageSize is 1 to 100, 50 where unset (§3.1.4)."""
    wire = _open(_LIST, params, tell=b"_")
    since = wire.status_timestamp_after
    page_size = _count(wire.page_size, "pageSize", least=1, most=_MAX_PAGE_SIZE)
    return ListTasks(
        context_id=wire.context_id or None,
        state=_state_filter(wire.status),
        changed_since_ms=None if since is None else read_timestamp(since, "statusTimestampAfter"),
        page_size=50 if page_size is None else page_size,
        page_token=wire.page_token or None,
        history_length=_count(wire.history_length, "historyLength"),
        include_artifacts=bool(wire.include_artifacts),
        tenant=wire.tenant or None,
    )


def read_cancel(params: bytes) -> CancelTask:
    """Source: A2A 1.0 §9.4.5 (CancelTask); §3.3.1: canceling again is idempotent."""
    wire = read_params(_CANCEL, params)
    return CancelTask(task_id=_id(wire.id), again_ok=True, metadata=wire.metadata, tenant=wire.tenant or None)


def read_subscribe(params: bytes) -> Subscribe:
    """Source: A2A 1.0 §9.4.6 (SubscribeToTask); §3.1.6: a finished task is refused."""
    wire = read_params(_SUBSCRIBE, params)
    return Subscribe(task_id=_id(wire.id), ended_ok=False, tenant=wire.tenant or None)


def read_push_config(_params: bytes) -> PushConfigCall:
    """Not supported, whatever the params say. Source: A2A 1.0 §9.4.7."""
    return PushConfigCall()


def read_extended_card(_params: bytes) -> ExtendedCard:
    """Source: A2A 1.0 §9.4.8 (GetExtendedAgentCard), whose params are optional."""
    return ExtendedCard()


def _count(value: schema.Int32 | None, field: str, *, least: int = 0, most: int = _MAX_INT32) -> int | None:
    """A count in any of ProtoJSON's spellings. Raises: BadParams that names the field."""
    if isinstance(value, str):
        value = int(value) if _DIGITS.fullmatch(value) else -1
    if value is not None and not (value == int(value) and least <= value <= most):
        raise BadParams(f"{field} is not valid.")
    return None if value is None else int(value)


def _id(task_id: str) -> str:
    if not task_id:
        raise BadParams("id is required.")
    return task_id


def _state_filter(status: schema.Enum | None) -> TaskState | None:
    if status in _UNSPECIFIED:
        return None
    if (state := STATE_IN.get(status or 0)) is None:
        raise BadParams("status is not a TaskState.")
    return state


class Dialect10:
    """A2A 1.0, as the port `Dialect` wants it."""

    version = "1.0"
    methods: Mapping[str, Callable[[bytes], Operation]] = {
        "SendMessage": read_send,
        "SendStreamingMessage": read_stream,
        "GetTask": read_get,
        "ListTasks": read_list,
        "CancelTask": read_cancel,
        "SubscribeToTask": read_subscribe,
        "CreateTaskPushNotificationConfig": read_push_config,
        "GetTaskPushNotificationConfig": read_push_config,
        "ListTaskPushNotificationConfigs": read_push_config,
        "DeleteTaskPushNotificationConfig": read_push_config,
        "GetExtendedAgentCard": read_extended_card,
    }

    def write_sent(self, task: Task) -> bytes:
        """`{"task": ...}`. Source: A2A 1.0 §9.4.1."""
        return encode(schema.StreamResponse(task=task_out(task)))

    def write_task(self, task: Task) -> bytes:
        """The bare task. Source: A2A 1.0 §9.4.3, §9.4.5."""
        return encode(task_out(task))

    def write_page(self, page: TaskPage, *, next_token: str, page_size: int, include_artifacts: bool) -> bytes:
        """A page; its token is empty when nothing follows. Source: A2A 1.0 §3.1.4."""
        return encode(
            schema.ListTasksResponse(
                tasks=tuple([task_out(task, artifacts=include_artifacts) for task in page.tasks]),
                next_page_token=next_token,
                page_size=page_size,
                total_size=page.total,
            )
        )

    def write_event(self, event: Snapshot | Update, *, task: Task, final: bool) -> bytes:  # noqa: ARG002 (0.x tells it)
        """The last event is told by the end of the stream. Source: A2A 1.0 §9.4.2."""
        return encode(event_out(event, task))

    def write_fault_data(self, reason: str, public: str, details: Sequence[Metadata]) -> bytes:  # noqa: ARG002
        """ErrorInfo first; `public` is said by the error's own `message`. Source: A2A 1.0 §9.5."""
        info = {"@type": _ERROR_INFO, "reason": reason, "domain": _ERROR_DOMAIN, "metadata": {}}
        return encode([info, *details])


V10 = Dialect10()
