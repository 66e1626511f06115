"""A2A 0.3 as protobuf has it: the server's half (params to operations, results to bytes) and the client's.

The methods go by the names of the gRPC service, and their params are the ProtoJSON of its requests.

Whether a send waits. `blocking` is a bool without presence: unset and false are one. The official clients always send
a configuration, and say true in it where they are to wait; so one without it does not wait. A request without any
configuration has not said anything: it waits, as over JSON-RPC, and as the proto says of SendMessage: "This is a
blocking call that will return the task once it is completed, or a LRO if requested."

Source: A2A 0.3.0, `a2a.proto`.
"""

import re
from collections.abc import Callable, Mapping, Sequence

import msgspec

from llamon_agent.domain.errors import BadParams, UnsupportedOperation
from llamon_agent.domain.events import Snapshot, Update
from llamon_agent.domain.message import Message, Metadata, Part
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
from llamon_agent.wire.proto_json import (
    ROLE_IN,
    SEND_KEYS,
    UNDERSCORE,
    Int32,
    read_count,
    read_proto_params,
    state_reader,
)
from llamon_agent.wire.replies import ReplyReader, TaskEvent
from llamon_agent.wire.v03.codec import V03
from llamon_agent.wire.v03.values import VERSION, encode
from llamon_agent.wire.v03_proto import schema as proto_schema
from llamon_agent.wire.v03_proto.values import (
    CANCELLED,
    event_out,
    message_in,
    message_out,
    part_in,
    push_in,
    push_out,
    task_out,
)
from llamon_agent.wire.v10.values import STATE_IN

_RESPONSE = msgspec.json.Decoder(proto_schema.StreamResponse)
_TASK_DECODER = msgspec.json.Decoder(proto_schema.Task)


def _part_in(part: proto_schema.Part, position: int) -> Part | None:
    empty = part.text is None and part.file is None and part.data is None
    return None if empty else part_in(part, position)


_READER = ReplyReader(
    part_in=_part_in,
    state_in=state_reader({**STATE_IN, CANCELLED: TaskState.CANCELED}),
    roles=ROLE_IN,
    content="content",
)


class Client03Proto:
    """A2A 0.3's protobuf, as the port `ClientCodec` wants it."""

    def write_send(self, message: Message, *, blocking: bool = True) -> bytes:
        """Waiting is always said, as false and unset are one here."""
        configuration = proto_schema.SendMessageConfiguration(blocking=blocking)
        request = proto_schema.SendMessageRequest(message=message_out(message), configuration=configuration)
        return encode(request)

    def read_event(self, reply: bytes, *, seq: int = 0) -> TaskEvent:
        """Source: A2A 0.3.0, `a2a.proto` (SendMessageResponse, StreamResponse)."""
        return _READER.read(_RESPONSE, reply, lambda response: _READER.event_in(response, seq))

    def read_task(self, reply: bytes) -> Task:
        """Source: A2A 0.3.0, `a2a.proto` (Task)."""
        return _READER.read(_TASK_DECODER, reply, _READER.task_in)


_SEND = msgspec.json.Decoder(proto_schema.SendMessageRequest)
_GET = msgspec.json.Decoder(proto_schema.GetTaskRequest)
_NAME = msgspec.json.Decoder(proto_schema.NameRequest)
_PUSH = msgspec.json.Decoder(proto_schema.CreateTaskPushNotificationConfigRequest)
_PUSH_LIST = msgspec.json.Decoder(proto_schema.ListTaskPushNotificationConfigRequest)
_NOT_SAID = proto_schema.SendMessageConfiguration(blocking=True)

_TASK_NAME = re.compile(r"tasks/([^/]+)")
# A parent in the proto's own annotation ends in the collection; the SDKs leave that away.
_PARENT = re.compile(r"tasks/([^/]+)(?:/pushNotificationConfigs)?")
_PUSH_NAME = re.compile(r"tasks/([^/]+)/pushNotificationConfigs/(.+)", re.DOTALL)


# Params -> operations.


def _send(params: bytes, *, stream: bool) -> SendMessage:
    wire = read_proto_params(_SEND, params, markers=SEND_KEYS)
    if (message := wire.message or wire.request) is None:
        raise BadParams("message is required.", field="message")
    configuration = wire.configuration or _NOT_SAID
    push = configuration.push_notification
    return SendMessage(
        message=message_in(message),
        metadata=wire.metadata,
        blocking=bool(configuration.blocking),
        stream=stream,
        history_length=_history_length(configuration.history_length, "configuration.historyLength"),
        accepted_output_modes=configuration.accepted_output_modes or (),
        push=None if push is None else push_in(push, within="configuration.pushNotification"),
    )


def _history_length(value: Int32 | None, field: str) -> int | None:
    """An int32 without presence: 0 is no limit. Source: A2A 0.3.0, `a2a.proto` (GetTaskRequest)."""
    return read_count(value, field) or None


def read_send(params: bytes) -> SendMessage:
    """Opens a SendMessageRequest."""
    return _send(params, stream=False)


def read_stream(params: bytes) -> SendMessage:
    """Opens the SendMessageRequest of SendStreamingMessage."""
    return _send(params, stream=True)


def read_get(params: bytes) -> GetTask:
    """Opens a GetTaskRequest."""
    wire = read_proto_params(_GET, params, markers=UNDERSCORE)
    (task_id,) = _ids(_TASK_NAME, wire.name, "name")
    return GetTask(task_id=task_id, history_length=_history_length(wire.history_length, "historyLength"))


def read_cancel(params: bytes) -> CancelTask:
    """Opens a CancelTaskRequest; in 0.x canceling again is an error."""
    (task_id,) = _ids(_TASK_NAME, read_params(_NAME, params).name, "name")
    return CancelTask(task_id=task_id, again_ok=False)


def read_subscribe(params: bytes) -> Subscribe:
    """Opens a TaskSubscriptionRequest; a finished task is answered with itself."""
    (task_id,) = _ids(_TASK_NAME, read_params(_NAME, params).name, "name")
    return Subscribe(task_id=task_id, ended_ok=True)


def read_set_push(params: bytes) -> SetPushConfig:
    """Opens a CreateTaskPushNotificationConfigRequest, or the config in it besides its parent."""
    wire = read_proto_params(_PUSH, params, markers=UNDERSCORE)
    (task_id,) = _ids(_PARENT, wire.parent, "parent")
    config = (wire.config or wire).push_notification_config
    if config is None:
        raise BadParams("config.pushNotificationConfig is required.", field="config.pushNotificationConfig")
    push = push_in(config, within="config.pushNotificationConfig")
    return SetPushConfig(task_id=task_id, config=msgspec.structs.replace(push, id=push.id or wire.config_id or ""))


def read_get_push(params: bytes) -> GetPushConfig:
    """Opens a GetTaskPushNotificationConfigRequest."""
    task_id, config_id = _ids(_PUSH_NAME, read_params(_NAME, params).name, "name")
    return GetPushConfig(task_id=task_id, config_id=config_id)


def read_list_push(params: bytes) -> ListPushConfigs:
    """Opens a ListTaskPushNotificationConfigRequest; a page size of 0 is an unset one."""
    wire = read_proto_params(_PUSH_LIST, params, markers=UNDERSCORE)
    (task_id,) = _ids(_PARENT, wire.parent, "parent")
    page_size = read_count(wire.page_size, "pageSize") or None
    return ListPushConfigs(task_id=task_id, page_size=page_size, page_token=wire.page_token or None)


def read_delete_push(params: bytes) -> DeletePushConfig:
    """Opens a DeleteTaskPushNotificationConfigRequest."""
    task_id, config_id = _ids(_PUSH_NAME, read_params(_NAME, params).name, "name")
    return DeletePushConfig(task_id=task_id, config_id=config_id)


def read_extended_card(_params: bytes) -> GetExtendedCard:
    """Opens a GetAgentCardRequest, which has no fields."""
    return GetExtendedCard()


def _ids(pattern: re.Pattern[str], name: str | None, field: str) -> tuple[str, ...]:
    """The ids in a resource's name. Raises: BadParams that names the field."""
    if not (found := pattern.fullmatch(name or "")):
        raise BadParams(
            f"{field} must name a resource, like tasks/ID or tasks/ID/pushNotificationConfigs/ID.", field=field
        )
    return found.groups()


# Results -> bytes.


class Dialect03Proto:
    """A2A 0.3's protobuf messages, as the port `Dialect` wants them."""

    version = VERSION
    notification_type = V03.notification_type
    readers_replace = True  # the JavaScript SDKs drop `append` (FromProto.taskArtifactUpdateEvent)
    methods: Mapping[str, Callable[[bytes], Operation]] = {
        "SendMessage": read_send,
        "SendStreamingMessage": read_stream,
        "GetTask": read_get,
        "CancelTask": read_cancel,
        "TaskSubscription": read_subscribe,
        "CreateTaskPushNotificationConfig": read_set_push,
        "GetTaskPushNotificationConfig": read_get_push,
        "ListTaskPushNotificationConfig": read_list_push,
        "DeleteTaskPushNotificationConfig": read_delete_push,
        "GetAgentCard": read_extended_card,
    }

    def write_sent(self, task: Task) -> bytes:
        """A SendMessageResponse with the task."""
        return encode(proto_schema.StreamResponse(task=task_out(task)))

    def write_message(self, message: Message) -> bytes:
        """A SendMessageResponse, and a StreamResponse, with the message."""
        return encode(proto_schema.StreamResponse(message=message_out(message)))

    def write_task(self, task: Task) -> bytes:
        """The bare task."""
        return encode(task_out(task))

    def write_page(self, page: TaskPage, *, next_token: str, page_size: int, include_artifacts: bool) -> bytes:  # noqa: ARG002
        """The proto has no list of tasks. Raises: UnsupportedOperation."""
        raise UnsupportedOperation

    def write_event(self, event: Snapshot | Update, *, task: Task, final: bool) -> bytes:
        """A StreamResponse."""
        return encode(event_out(event, task, final=final))

    def write_notification(self, event: Snapshot | Update, *, task: Task) -> bytes | None:
        """As in 0.3's JSON, whichever way the webhook was registered: its receivers read that."""
        return V03.write_notification(event, task=task)

    def write_push_config(self, task_id: str, config: PushConfig) -> bytes:
        """A TaskPushNotificationConfig."""
        return encode(push_out(task_id, config))

    def write_push_configs(self, task_id: str, configs: Sequence[PushConfig], *, next_token: str) -> bytes:
        """A ListTaskPushNotificationConfigResponse."""
        listed = tuple([push_out(task_id, config) for config in configs])
        return encode(proto_schema.ListTaskPushNotificationConfigResponse(configs=listed, next_page_token=next_token))

    def write_deleted(self) -> bytes:
        """A `google.protobuf.Empty`."""
        return b"{}"

    def write_fault_data(self, reason: str, public: str, details: Sequence[Metadata]) -> None:
        """Nothing, as in 0.3's JSON."""


V03_PROTO = Dialect03Proto()
