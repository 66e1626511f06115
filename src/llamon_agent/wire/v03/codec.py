"""A2A 0.2 and 0.3 as JSON: the server's half (params to operations, results to bytes) and the client's."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from llamon_agent.domain.events import ArtifactUpdate, Snapshot, Update
from llamon_agent.domain.message import Message, Metadata, Part, Role
from llamon_agent.domain.task import PushConfig, Task, TaskPage, TaskState
from llamon_agent.wire.json_body import read_params
from llamon_agent.wire.operations import (
    CancelTask,
    DeletePushConfig,
    GetExtendedCard,
    GetPushConfig,
    GetTask,
    ListPushConfigs,
    Operation,
    SendMessage,
    SetPushConfig,
    Subscribe,
)
from llamon_agent.wire.replies import BadReply, ReplyReader, TaskEvent
from llamon_agent.wire.v03 import schema
from llamon_agent.wire.v03.values import (
    VERSION,
    encode,
    event_out,
    message_in,
    message_out,
    part_in,
    push_in,
    push_out,
    task_out,
)

_STATES = {state.value: state for state in TaskState} | {"unknown": TaskState.WORKING}


class _Message(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A message as a server may write it. Source: A2A 0.3 §6.4."""

    message_id: str | None = None
    role: str | None = None
    parts: tuple[schema.Part, ...] | None = None
    context_id: str | None = None
    task_id: str | None = None
    metadata: schema.Json | None = None
    extensions: tuple[str, ...] | None = None
    reference_task_ids: tuple[str, ...] | None = None


class _Status(msgspec.Struct, frozen=True, kw_only=True):
    """Source: A2A 0.3 §6.2."""

    state: str | None = None
    message: _Message | None = None
    timestamp: str | None = None


class _Artifact(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Source: A2A 0.3 §6.7."""

    artifact_id: str | None = None
    name: str | None = None
    description: str | None = None
    parts: tuple[schema.Part, ...] | None = None
    metadata: schema.Json | None = None
    extensions: tuple[str, ...] | None = None


class _Reply(_Message, frozen=True):
    """A Message, a Task, or an update of one; `kind` says which. Source: A2A 0.3 §7.1, §7.2."""

    kind: str | None = None
    id: str | None = None
    status: _Status | None = None
    artifacts: tuple[_Artifact, ...] | None = None
    history: tuple[_Message, ...] | None = None
    artifact: _Artifact | None = None
    append: bool | None = None
    last_chunk: bool | None = None


class _Response(msgspec.Struct, frozen=True):
    """The same reply, in the place of what it is."""

    task: _Reply | None = None
    message: _Reply | None = None
    status_update: _Reply | None = None
    artifact_update: _Reply | None = None


_REPLY = msgspec.json.Decoder(_Reply)


def _part_in(part: schema.Part, position: int) -> Part | None:
    empty = part.text is None and part.file is None and part.data is None
    return None if empty else part_in(part, position)


_READER = ReplyReader(part_in=_part_in, state_in=_STATES.get, roles={role.value: role for role in Role})


def _response_of(reply: _Reply) -> _Response:
    """Raises: BadReply."""
    match reply.kind or _kind_of(reply):
        case "task":
            return _Response(task=reply)
        case "message":
            return _Response(message=reply)
        case "status-update":
            return _Response(status_update=reply)
        case "artifact-update":
            return _Response(artifact_update=reply)
    raise BadReply


def _kind_of(reply: _Reply) -> str | None:
    """The kind of a reply whose sender left it out."""
    fields = {
        "message": reply.parts,
        "artifact-update": reply.artifact,
        "status-update": reply.task_id,
        "task": reply.id,
    }
    return next((kind for kind, value in fields.items() if value is not None), None)


class Client03:
    """A2A 0.3, as the port `ClientCodec` wants it."""

    def write_send(self, message: Message, *, blocking: bool = True) -> bytes:
        """Waiting is always said, as the specification leaves open what absent means.

        Source: A2A 0.3 §7.1.1.
        """
        configuration = schema.MessageSendConfiguration(blocking=blocking)
        return encode(schema.MessageSendParams(message=message_out(message), configuration=configuration))

    def read_event(self, reply: bytes, *, seq: int = 0) -> TaskEvent:
        """Source: A2A 0.3 §7.1, §7.2.1."""
        return _READER.read(_REPLY, reply, lambda read: _READER.event_in(_response_of(read), seq))

    def read_task(self, reply: bytes) -> Task:
        """The result of tasks/get and tasks/cancel."""
        return _READER.read(_REPLY, reply, _READER.task_in)


# Params -> operations.

_SEND = msgspec.json.Decoder(schema.MessageSendParams)
_QUERY = msgspec.json.Decoder(schema.TaskQueryParams)
_ID = msgspec.json.Decoder(schema.TaskIdParams)
_PUSH = msgspec.json.Decoder(schema.TaskPushNotificationConfig)
_PUSH_ID = msgspec.json.Decoder(schema.GetTaskPushNotificationConfigParams)
_PUSH_DELETE = msgspec.json.Decoder(schema.DeleteTaskPushNotificationConfigParams)
_NO_CONFIGURATION = schema.MessageSendConfiguration()


def _send(params: bytes, *, stream: bool) -> SendMessage:
    wire = read_params(_SEND, params)
    configuration = wire.configuration or _NO_CONFIGURATION
    push = configuration.push_notification_config
    return SendMessage(
        message=message_in(wire.message),
        metadata=wire.metadata,
        blocking=configuration.blocking is not False,  # the spec leaves absent open; here absent waits
        stream=stream,
        history_length=configuration.history_length,
        accepted_output_modes=configuration.accepted_output_modes or (),
        push=None if push is None else push_in(push),
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


def read_set_push(params: bytes) -> SetPushConfig:
    """Source: A2A 0.3 §7.5 (tasks/pushNotificationConfig/set)."""
    wire = read_params(_PUSH, params)
    return SetPushConfig(task_id=wire.task_id, config=push_in(wire.push_notification_config))


def read_get_push(params: bytes) -> GetPushConfig:
    """Source: A2A 0.3 §7.6 (tasks/pushNotificationConfig/get); the id of the task alone means its default one."""
    wire = read_params(_PUSH_ID, params)
    return GetPushConfig(task_id=wire.id, config_id=wire.push_notification_config_id or None)


def read_list_push(params: bytes) -> ListPushConfigs:
    """Source: A2A 0.3 §7.7 (tasks/pushNotificationConfig/list), which has no pages."""
    return ListPushConfigs(task_id=read_params(_ID, params).id)


def read_delete_push(params: bytes) -> DeletePushConfig:
    """Source: A2A 0.3 §7.8 (tasks/pushNotificationConfig/delete)."""
    wire = read_params(_PUSH_DELETE, params)
    return DeletePushConfig(task_id=wire.id, config_id=wire.push_notification_config_id)


def read_extended_card(_params: bytes) -> GetExtendedCard:
    """Source: A2A 0.3 §7.10 (agent/getAuthenticatedExtendedCard), which has no params."""
    return GetExtendedCard()


# Results -> bytes.


class Dialect03:
    """A2A 0.x, as the port `Dialect` wants it."""

    version = VERSION
    notification_type = "application/json"
    readers_replace = False
    methods: Mapping[str, Callable[[bytes], Operation]] = {
        "message/send": read_send,
        "message/stream": read_stream,
        "tasks/get": read_get,
        "tasks/cancel": read_cancel,
        "tasks/resubscribe": read_resubscribe,
        "tasks/pushNotificationConfig/set": read_set_push,
        "tasks/pushNotificationConfig/get": read_get_push,
        "tasks/pushNotificationConfig/list": read_list_push,
        "tasks/pushNotificationConfig/delete": read_delete_push,
        "agent/getAuthenticatedExtendedCard": read_extended_card,
        "agent/authenticatedExtendedCard": read_extended_card,  # 0.2.6's name
    }

    def write_sent(self, task: Task) -> bytes:
        """The bare task. Source: A2A 0.3 §7.1."""
        return encode(task_out(task))

    write_task = write_sent

    def write_message(self, message: Message) -> bytes:
        """The bare message, with its `kind`. Source: A2A 0.3 §7.1."""
        return encode(message_out(message))

    def write_page(self, page: TaskPage, *, next_token: str, page_size: int, include_artifacts: bool) -> bytes:  # noqa: ARG002
        """A bare array, which only HTTP+JSON asks for: JSON-RPC has no list in 0.x. Source: A2A 0.3 §3.5.6."""
        return encode([task_out(task, artifacts=include_artifacts) for task in page.tasks])

    def write_event(self, event: Snapshot | Update, *, task: Task, final: bool) -> bytes:
        """A flat object with its `kind`. Source: A2A 0.3 §7.2.1."""
        return encode(event_out(event, task, final=final))

    def write_notification(self, event: Snapshot | Update, *, task: Task) -> bytes | None:
        """The bare task, at every status that it has; of a piece of an artifact nothing.

        0.x leaves the body of a webhook open (§6.8); its SDKs send, and read, a task.
        """
        return None if isinstance(event, ArtifactUpdate) else encode(task_out(task))

    def write_push_config(self, task_id: str, config: PushConfig) -> bytes:
        """Source: A2A 0.3 §7.5, §7.6."""
        return encode(push_out(task_id, config))

    def write_push_configs(self, task_id: str, configs: Sequence[PushConfig], *, next_token: str) -> bytes:  # noqa: ARG002
        """A bare array, which has all of them. Source: A2A 0.3 §7.7."""
        return encode([push_out(task_id, config) for config in configs])

    def write_deleted(self) -> bytes:
        """Null. Source: A2A 0.3 §7.8."""
        return b"null"

    def write_fault_data(self, reason: str, public: str, details: Sequence[Metadata]) -> None:
        """Nothing: `data` is free in 0.x, and no client of it looks for anything there."""


V03 = Dialect03()
