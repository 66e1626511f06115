"""A2A 1.0: the server's half (params to operations, results to bytes) and the client's."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from llamon_agent.domain.encoding import read_timestamp
from llamon_agent.domain.errors import BadParams
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
    ListTasks,
    Operation,
    SendMessage,
    SetPushConfig,
    Subscribe,
)
from llamon_agent.wire.proto_json import (
    ROLE_IN,
    SEND_KEYS,
    UNDERSCORE,
    Enum,
    read_count,
    read_proto_params,
    required,
    state_reader,
)
from llamon_agent.wire.replies import ReplyReader, TaskEvent
from llamon_agent.wire.v10 import schema
from llamon_agent.wire.v10.values import (
    STATE_IN,
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

_RESPONSE = msgspec.json.Decoder(schema.StreamResponse)
_TASK = msgspec.json.Decoder(schema.Task)
_NOT_SAID = schema.SendMessageConfiguration()


def _part_in(part: schema.Part, position: int) -> Part | None:
    empty = part.text is None and part.raw is None and part.url is None and part.data is msgspec.UNSET
    return None if empty else part_in(part, position)


_READER = ReplyReader(part_in=_part_in, state_in=state_reader(STATE_IN), roles=ROLE_IN)


class Client10:
    """A2A 1.0, as the port `ClientCodec` wants it, for a tenant of the agent's where there is one."""

    def __init__(self, tenant: str | None = None) -> None:
        self._tenant = tenant

    def write_send(self, message: Message, *, blocking: bool = True) -> bytes:
        """Source: A2A 1.0 §3.2.1, §3.2.2."""
        configuration = schema.SendMessageConfiguration(return_immediately=not blocking)
        request = schema.SendMessageRequest(
            tenant=self._tenant,
            message=message_out(message),
            configuration=None if configuration == _NOT_SAID else configuration,
        )
        return encode(request)

    def read_event(self, reply: bytes, *, seq: int = 0) -> TaskEvent:
        """Source: A2A 1.0 §3.2.3 (a reply has the shape of an event)."""
        return _READER.read(_RESPONSE, reply, lambda response: _READER.event_in(response, seq))

    def read_task(self, reply: bytes) -> Task:
        """The result of GetTask and CancelTask."""
        return _READER.read(_TASK, reply, _READER.task_in)


_MAX_PAGE_SIZE = 100
_UNSPECIFIED = ("TASK_STATE_UNSPECIFIED", 0, None)
_ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo"
_ERROR_DOMAIN = "a2a-protocol.org"


# Params -> operations.

_SEND = msgspec.json.Decoder(schema.SendMessageRequest)
_GET = msgspec.json.Decoder(schema.GetTaskRequest)
_LIST = msgspec.json.Decoder(schema.ListTasksRequest)
_CANCEL = msgspec.json.Decoder(schema.CancelTaskRequest)
_SUBSCRIBE = msgspec.json.Decoder(schema.SubscribeToTaskRequest)
_PUSH = msgspec.json.Decoder(schema.TaskPushNotificationConfig)
_PUSH_ID = msgspec.json.Decoder(schema.TaskPushNotificationConfigRequest)
_PUSH_LIST = msgspec.json.Decoder(schema.ListTaskPushNotificationConfigsRequest)
_CARD = msgspec.json.Decoder(schema.GetExtendedAgentCardRequest)
_NO_CONFIGURATION = schema.SendMessageConfiguration()


def _send(params: bytes, *, stream: bool) -> SendMessage:
    wire = read_proto_params(_SEND, params, markers=SEND_KEYS)
    if wire.message is None:
        raise BadParams("message is required.", field="message")
    configuration = wire.configuration or _NO_CONFIGURATION
    push = configuration.task_push_notification_config
    return SendMessage(
        message=message_in(wire.message),
        metadata=wire.metadata,
        blocking=not configuration.return_immediately,  # §3.2.2: unset is false
        stream=stream,
        history_length=read_count(configuration.history_length, "configuration.historyLength"),
        accepted_output_modes=configuration.accepted_output_modes or (),
        push=None if push is None else push_in(push, within="configuration.taskPushNotificationConfig."),
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
    wire = read_proto_params(_GET, params, markers=UNDERSCORE)
    return GetTask(
        task_id=required(wire.id, "id"),
        history_length=read_count(wire.history_length, "historyLength"),
        tenant=wire.tenant or None,
    )


def read_list(params: bytes) -> ListTasks:
    """Source: A2A 1.0 §9.4.4 (ListTasks); pageSize is 1 to 100, 50 where unset; artifacts that are asked for come "with
    [their] actual content" (§3.1.4).
    """
    wire = read_proto_params(_LIST, params, markers=UNDERSCORE)
    since = wire.status_timestamp_after
    page_size = read_count(wire.page_size, "pageSize", least=1, most=_MAX_PAGE_SIZE)
    return ListTasks(
        context_id=wire.context_id or None,
        state=_state_filter(wire.status),
        changed_since_ms=None if since is None else read_timestamp(since, "statusTimestampAfter"),
        page_size=50 if page_size is None else page_size,
        page_token=wire.page_token or None,
        history_length=read_count(wire.history_length, "historyLength"),
        include_artifacts=bool(wire.include_artifacts),
        tenant=wire.tenant or None,
    )


def _state_filter(status: Enum | None) -> TaskState | None:
    if status in _UNSPECIFIED:
        return None
    if (state := STATE_IN.get(status or 0)) is None:
        raise BadParams("status is not a TaskState.", field="status")
    return state


def read_cancel(params: bytes) -> CancelTask:
    """Source: A2A 1.0 §9.4.5 (CancelTask); §3.3.1: canceling again is idempotent."""
    wire = read_params(_CANCEL, params)
    task_id = required(wire.id, "id")
    return CancelTask(task_id=task_id, again_ok=True, metadata=wire.metadata, tenant=wire.tenant or None)


def read_subscribe(params: bytes) -> Subscribe:
    """Source: A2A 1.0 §9.4.6 (SubscribeToTask); §3.1.6: a finished task is refused."""
    wire = read_params(_SUBSCRIBE, params)
    return Subscribe(task_id=required(wire.id, "id"), ended_ok=False, tenant=wire.tenant or None)


def read_set_push(params: bytes) -> SetPushConfig:
    """Source: A2A 1.0 §9.4.7 (CreateTaskPushNotificationConfig)."""
    wire = read_proto_params(_PUSH, params, markers=UNDERSCORE)
    task_id = required(wire.task_id, "taskId")
    return SetPushConfig(task_id=task_id, config=push_in(wire), tenant=wire.tenant or None)


def read_get_push(params: bytes) -> GetPushConfig:
    """Source: A2A 1.0 §9.4.7 (GetTaskPushNotificationConfig)."""
    wire = read_proto_params(_PUSH_ID, params, markers=UNDERSCORE)
    return GetPushConfig(
        task_id=required(wire.task_id, "taskId"), config_id=required(wire.id, "id"), tenant=wire.tenant or None
    )


def read_list_push(params: bytes) -> ListPushConfigs:
    """Source: A2A 1.0 §9.4.7 (ListTaskPushNotificationConfigs); a pageSize of 0 is an unset one."""
    wire = read_proto_params(_PUSH_LIST, params, markers=UNDERSCORE)
    return ListPushConfigs(
        task_id=required(wire.task_id, "taskId"),
        page_size=read_count(wire.page_size, "pageSize") or None,
        page_token=wire.page_token or None,
        tenant=wire.tenant or None,
    )


def read_delete_push(params: bytes) -> DeletePushConfig:
    """Source: A2A 1.0 §9.4.7 (DeleteTaskPushNotificationConfig)."""
    wire = read_proto_params(_PUSH_ID, params, markers=UNDERSCORE)
    return DeletePushConfig(
        task_id=required(wire.task_id, "taskId"), config_id=required(wire.id, "id"), tenant=wire.tenant or None
    )


def read_extended_card(params: bytes) -> GetExtendedCard:
    """Source: A2A 1.0 §9.4.8 (GetExtendedAgentCard), whose params are optional."""
    if params in (b"", b"null"):
        return GetExtendedCard()
    return GetExtendedCard(tenant=read_params(_CARD, params).tenant or None)


# Results -> bytes.


class Dialect10:
    """A2A 1.0, as the port `Dialect` wants it."""

    version = VERSION
    notification_type = "application/a2a+json"
    readers_replace = False
    methods: Mapping[str, Callable[[bytes], Operation]] = {
        "SendMessage": read_send,
        "SendStreamingMessage": read_stream,
        "GetTask": read_get,
        "ListTasks": read_list,
        "CancelTask": read_cancel,
        "SubscribeToTask": read_subscribe,
        "CreateTaskPushNotificationConfig": read_set_push,
        "GetTaskPushNotificationConfig": read_get_push,
        "ListTaskPushNotificationConfigs": read_list_push,
        "DeleteTaskPushNotificationConfig": read_delete_push,
        "GetExtendedAgentCard": read_extended_card,
    }

    def write_sent(self, task: Task) -> bytes:
        """`{"task": ...}`. Source: A2A 1.0 §9.4.1."""
        return encode(schema.StreamResponse(task=task_out(task)))

    def write_message(self, message: Message) -> bytes:
        """`{"message": ...}`, of a send and of a stream alike. Source: A2A 1.0 §9.4.1, §3.1.2."""
        return encode(schema.StreamResponse(message=message_out(message)))

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

    def write_event(self, event: Snapshot | Update, *, task: Task, final: bool) -> bytes:  # noqa: ARG002 (0.x sends it)
        """The end of the stream shows which event was the last. Source: A2A 1.0 §9.4.2."""
        return encode(event_out(event, task))

    def write_notification(self, event: Snapshot | Update, *, task: Task) -> bytes:
        """What a stream sends of it. Source: A2A 1.0 §4.3.3 (a StreamResponse)."""
        return encode(event_out(event, task))

    def write_push_config(self, task_id: str, config: PushConfig) -> bytes:
        """The flat configuration. Source: A2A 1.0 §9.4.7."""
        return encode(push_out(task_id, config))

    def write_push_configs(self, task_id: str, configs: Sequence[PushConfig], *, next_token: str) -> bytes:
        """A page of them. Source: A2A 1.0 §3.1.9."""
        listed = tuple([push_out(task_id, config) for config in configs])
        return encode(schema.ListTaskPushNotificationConfigsResponse(configs=listed, next_page_token=next_token))

    def write_deleted(self) -> bytes:
        """A `google.protobuf.Empty`. Source: A2A 1.0 §9.4.7."""
        return b"{}"

    def write_fault_data(self, reason: str, public: str, details: Sequence[Metadata]) -> bytes:  # noqa: ARG002
        """ErrorInfo first; `public` is said by the error's own `message`. Source: A2A 1.0 §9.5."""
        info = {"@type": _ERROR_INFO, "reason": reason, "domain": _ERROR_DOMAIN, "metadata": {}}
        return encode([info, *details])


V10 = Dialect10()
