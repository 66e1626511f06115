"""A2A 0.2 and 0.3: params -> operations, results -> bytes."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from llamon_agent.domain.events import ArtifactUpdate, Snapshot, Update
from llamon_agent.domain.message import Message, Metadata
from llamon_agent.domain.push import PushConfig
from llamon_agent.domain.task import Task, TaskPage
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
from llamon_agent.wire.v03 import schema
from llamon_agent.wire.v03.values import (
    VERSION,
    encode,
    event_out,
    message_in,
    message_out,
    push_in,
    push_out,
    task_out,
)

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
