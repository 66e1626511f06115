"""The wire of A2A 0.3 as protobuf has it: the messages of package `a2a.v1` in ProtoJSON.

The official clients of 0.3 speak it over HTTP+JSON, and gRPC carries the same messages in binary. Besides the JSON-RPC
objects of `schema` it has other names (`content` for parts, `fileWithBytes` for bytes), no `kind`, and names of
resources in place of ids.

ProtoJSON has no required fields: an absent field, and null, is the field's default, and a default is left out when
written. So every Struct decodes from `{}`; what A2A requires is the codec's to check. Unknown keys are ignored.

Source: A2A 0.3.0, `a2a.proto`, and the proto of the official SDKs (0.3.26), which adds two fields to it.
"""

import msgspec

from llamon_agent.wire.proto_json import Enum, Int32, Json


class _Wire(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """How every message is spelled."""


class FilePart(_Wire, frozen=True):
    """Exactly one of the two files. `name` is not in the specification's proto, only in its SDKs'."""

    file_with_uri: str | None = None
    file_with_bytes: str | None = None
    mime_type: str | None = None
    name: str | None = None


class DataPart(_Wire, frozen=True):
    data: Json | None = None


class Part(_Wire, frozen=True):
    """Exactly one of text, file and data. `metadata` is not in the specification's proto, only in its SDKs'."""

    text: str | None = None
    file: FilePart | None = None
    data: DataPart | None = None
    metadata: Json | None = None


class Message(_Wire, frozen=True):
    message_id: str | None = None
    context_id: str | None = None
    task_id: str | None = None
    role: Enum | None = None
    content: tuple[Part, ...] | None = None
    metadata: Json | None = None
    extensions: tuple[str, ...] | None = None


class Artifact(_Wire, frozen=True):
    artifact_id: str = ""
    name: str | None = None
    description: str | None = None
    parts: tuple[Part, ...] | None = None
    metadata: Json | None = None
    extensions: tuple[str, ...] | None = None


class TaskStatus(_Wire, frozen=True):
    """`message` is the JSON name of the proto's `update`."""

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
    final: bool | None = False


class TaskArtifactUpdateEvent(_Wire, frozen=True):
    task_id: str = ""
    context_id: str | None = None
    artifact: Artifact | None = None
    append: bool | None = False
    last_chunk: bool | None = False


class StreamResponse(_Wire, frozen=True):
    """One event of a stream: exactly one field. A SendMessageResponse is this with `task` or `message`.

    `message` is the JSON name of the proto's `msg`.
    """

    task: Task | None = None
    message: Message | None = None
    status_update: TaskStatusUpdateEvent | None = None
    artifact_update: TaskArtifactUpdateEvent | None = None


class AuthenticationInfo(_Wire, frozen=True):
    schemes: tuple[str, ...] | None = None
    credentials: str | None = None


class PushNotificationConfig(_Wire, frozen=True):
    id: str | None = None
    url: str | None = None
    token: str | None = None
    authentication: AuthenticationInfo | None = None


class TaskPushNotificationConfig(_Wire, frozen=True):
    """`name` is `tasks/{task_id}/pushNotificationConfigs/{id}`."""

    name: str | None = None
    push_notification_config: PushNotificationConfig | None = None


class SendMessageConfiguration(_Wire, frozen=True):
    accepted_output_modes: tuple[str, ...] | None = None
    push_notification: PushNotificationConfig | None = None
    history_length: Int32 | None = None
    blocking: bool | None = None


class SendMessageRequest(_Wire, frozen=True):
    """The proto calls the message `request` and gives it the JSON name `message`; parsers take both."""

    message: Message | None = None
    request: Message | None = None
    configuration: SendMessageConfiguration | None = None
    metadata: Json | None = None


class GetTaskRequest(_Wire, frozen=True):
    """`name` is `tasks/{id}`."""

    name: str | None = None
    history_length: Int32 | None = None


class NameRequest(_Wire, frozen=True):
    """All requests that only name what they are about: a task, or a webhook of one."""

    name: str | None = None


class CreateTaskPushNotificationConfigRequest(TaskPushNotificationConfig, frozen=True):
    """`parent` is `tasks/{id}`.

    Over HTTP+JSON the proto's annotation makes `config` the whole body: the official Python client sends the request,
    the JavaScript one the config. So the config's own fields are taken here as well.
    """

    parent: str | None = None
    config_id: str | None = None
    config: TaskPushNotificationConfig | None = None


class ListTaskPushNotificationConfigRequest(_Wire, frozen=True):
    parent: str | None = None
    page_size: Int32 | None = None
    page_token: str | None = None


class ListTaskPushNotificationConfigResponse(_Wire, frozen=True):
    configs: tuple[TaskPushNotificationConfig, ...]
    next_page_token: str
