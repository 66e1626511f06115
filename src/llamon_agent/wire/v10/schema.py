"""The wire of A2A 1.0 to the letter: its protobuf messages in ProtoJSON, as far as the edge reads or writes them.

ProtoJSON has no required fields: an absent field, and null, is the field's default, and a default is left out when
written. So every Struct decodes from `{}`; what A2A requires (§5.7) is the codec's to check. Unknown keys are ignored
(§5.7, SHOULD). Field names are lowerCamelCase; enums go by name, and are read by number too.

Source: A2A 1.0.1, `a2a.proto` and §5.
"""

from typing import Any

import msgspec

from llamon_agent.wire.proto_json import Enum, Int32, Json


class _Wire(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """How every message is spelled."""


class Part(_Wire, frozen=True):
    """Exactly one of text, raw, url and data.

    `data` is a `google.protobuf.Value`, of which null is one, so its absence is UNSET.
    """

    text: str | None = None
    raw: str | None = None
    url: str | None = None
    data: Any = msgspec.UNSET
    metadata: Json | None = None
    filename: str | None = None
    media_type: str | None = None


class Message(_Wire, frozen=True):
    message_id: str = ""
    context_id: str | None = None
    task_id: str | None = None
    role: Enum = 0
    parts: tuple[Part, ...] | None = None
    metadata: Json | None = None
    extensions: tuple[str, ...] | None = None
    reference_task_ids: tuple[str, ...] | None = None


class Artifact(_Wire, frozen=True):
    artifact_id: str = ""
    name: str | None = None
    description: str | None = None
    parts: tuple[Part, ...] | None = None
    metadata: Json | None = None
    extensions: tuple[str, ...] | None = None


class TaskStatus(_Wire, frozen=True):
    state: Enum = 0
    message: Message | None = None
    timestamp: str | None = None


class Task(_Wire, frozen=True):
    id: str = ""
    context_id: str | None = None
    status: TaskStatus | None = None
    artifacts: tuple[Artifact, ...] | None = None
    history: tuple[Message, ...] | None = None
    metadata: Json | None = None


class TaskStatusUpdateEvent(_Wire, frozen=True):
    task_id: str = ""
    context_id: str | None = None
    status: TaskStatus | None = None
    metadata: Json | None = None


class TaskArtifactUpdateEvent(_Wire, frozen=True):
    task_id: str = ""
    context_id: str | None = None
    artifact: Artifact | None = None
    append: bool | None = False
    last_chunk: bool | None = False
    metadata: Json | None = None


class StreamResponse(_Wire, frozen=True):
    """One event of a stream: exactly one field. A SendMessageResponse is this with `task` or `message`."""

    task: Task | None = None
    message: Message | None = None
    status_update: TaskStatusUpdateEvent | None = None
    artifact_update: TaskArtifactUpdateEvent | None = None


class AuthenticationInfo(_Wire, frozen=True):
    scheme: str | None = None
    credentials: str | None = None


class TaskPushNotificationConfig(_Wire, frozen=True):
    """A webhook; `task_id` and `tenant` say nothing where it comes with a message."""

    tenant: str | None = None
    id: str | None = None
    task_id: str | None = None
    url: str | None = None
    token: str | None = None
    authentication: AuthenticationInfo | None = None


class SendMessageConfiguration(_Wire, frozen=True):
    accepted_output_modes: tuple[str, ...] | None = None
    task_push_notification_config: TaskPushNotificationConfig | None = None
    history_length: Int32 | None = None
    return_immediately: bool | None = False


class SendMessageRequest(_Wire, frozen=True):
    tenant: str | None = None
    message: Message | None = None
    configuration: SendMessageConfiguration | None = None
    metadata: Json | None = None


class GetTaskRequest(_Wire, frozen=True):
    tenant: str | None = None
    id: str = ""
    history_length: Int32 | None = None


class CancelTaskRequest(_Wire, frozen=True):
    tenant: str | None = None
    id: str = ""
    metadata: Json | None = None


class SubscribeToTaskRequest(_Wire, frozen=True):
    tenant: str | None = None
    id: str = ""


class ListTasksRequest(_Wire, frozen=True):
    tenant: str | None = None
    context_id: str | None = None
    status: Enum | None = None
    page_size: Int32 | None = None
    page_token: str | None = None
    history_length: Int32 | None = None
    status_timestamp_after: str | None = None
    include_artifacts: bool | None = None


class ListTasksResponse(_Wire, frozen=True):
    """All four fields are REQUIRED, so none has a default: an empty page says so."""

    tasks: tuple[Task, ...]
    next_page_token: str
    page_size: int
    total_size: int


class TaskPushNotificationConfigRequest(_Wire, frozen=True):
    """A GetTaskPushNotificationConfigRequest, and a DeleteTaskPushNotificationConfigRequest."""

    tenant: str | None = None
    task_id: str | None = None
    id: str | None = None


class ListTaskPushNotificationConfigsRequest(_Wire, frozen=True):
    tenant: str | None = None
    task_id: str | None = None
    page_size: Int32 | None = None
    page_token: str | None = None


class ListTaskPushNotificationConfigsResponse(_Wire, frozen=True):
    """Both fields are always said: an empty page is one, too."""

    configs: tuple[TaskPushNotificationConfig, ...]
    next_page_token: str


class GetExtendedAgentCardRequest(_Wire, frozen=True):
    tenant: str | None = None
