"""The wire of A2A 0.x to the letter: the JSON-RPC objects of 0.2 and 0.3, which differ in nothing that is sent here.

Lenient where real clients are: `kind` may be missing from a message or a part, an optional field may be null, unknown
keys are ignored. Strict where the JSON schema is: required fields, a message's parts, roles, lengths.

Source: A2A 0.3.0, `a2a.json` and §6, §7; 0.2.6.
"""

from typing import Annotated, Any

import msgspec

from llamon_agent.domain.message import Role
from llamon_agent.domain.task import TaskState

Json = dict[str, Any]

Id = Annotated[str, msgspec.Meta(min_length=1)]
Count = Annotated[int, msgspec.Meta(ge=0)]


class _Wire(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """How every object is spelled."""


class File(_Wire, frozen=True):
    """FileWithBytes or FileWithUri: exactly one of the two. Source: A2A 0.3 §6.6."""

    bytes: str | None = None
    uri: str | None = None
    name: str | None = None
    mime_type: str | None = None


class Part(_Wire, frozen=True):
    """TextPart, FilePart or DataPart; one Struct, because the `kind` by which they differ may be missing."""

    kind: str | None = None
    type: str | None = None
    text: str | None = None
    file: File | None = None
    data: Json | None = None
    metadata: Json | None = None


class Message(_Wire, frozen=True, tag_field="kind", tag="message"):
    """Roles are spelled as the domain spells them. Source: A2A 0.3 §6.4."""

    message_id: Id
    role: Role
    parts: Annotated[tuple[Part, ...], msgspec.Meta(min_length=1)]
    context_id: str | None = None
    task_id: str | None = None
    metadata: Json | None = None
    extensions: tuple[str, ...] | None = None
    reference_task_ids: tuple[str, ...] | None = None


class Artifact(_Wire, frozen=True):
    """Source: A2A 0.3 §6.7."""

    artifact_id: str
    parts: tuple[Part, ...]
    name: str | None = None
    description: str | None = None
    metadata: Json | None = None
    extensions: tuple[str, ...] | None = None


class TaskStatus(_Wire, frozen=True):
    """States are spelled as the domain spells them. Source: A2A 0.3 §6.2, §6.3."""

    state: TaskState
    timestamp: str
    message: Message | None = None


class Task(_Wire, frozen=True, tag_field="kind", tag="task"):
    """Source: A2A 0.3 §6.1."""

    id: str
    context_id: str
    status: TaskStatus
    history: tuple[Message, ...] | None = None
    artifacts: tuple[Artifact, ...] | None = None
    metadata: Json | None = None


class TaskStatusUpdateEvent(_Wire, frozen=True, tag_field="kind", tag="status-update"):
    """Source: A2A 0.3 §7.2.2."""

    task_id: str
    context_id: str
    status: TaskStatus
    final: bool


class TaskArtifactUpdateEvent(_Wire, frozen=True, tag_field="kind", tag="artifact-update"):
    """`append` and `lastChunk` are always said: absent means false to some readers and nothing to others.

    Source: A2A 0.3 §7.2.3.
    """

    task_id: str
    context_id: str
    artifact: Artifact
    append: bool
    last_chunk: bool


class PushNotificationAuthenticationInfo(_Wire, frozen=True):
    """Source: A2A 0.3 §6.9."""

    schemes: tuple[str, ...]
    credentials: str | None = None


class PushNotificationConfig(_Wire, frozen=True):
    """Source: A2A 0.3 §6.8."""

    url: Id
    id: str | None = None
    token: str | None = None
    authentication: PushNotificationAuthenticationInfo | None = None


class MessageSendConfiguration(_Wire, frozen=True):
    """Source: A2A 0.3 §7.1.2."""

    accepted_output_modes: tuple[str, ...] | None = None
    blocking: bool | None = None
    history_length: Count | None = None
    push_notification_config: PushNotificationConfig | None = None


class MessageSendParams(_Wire, frozen=True):
    """Source: A2A 0.3 §7.1.1."""

    message: Message
    configuration: MessageSendConfiguration | None = None
    metadata: Json | None = None


class TaskQueryParams(_Wire, frozen=True):
    """Source: A2A 0.3 §7.3.1."""

    id: Id
    history_length: Count | None = None


class TaskIdParams(_Wire, frozen=True):
    """Source: A2A 0.3 §7.4.1."""

    id: Id
    metadata: Json | None = None


class TaskPushNotificationConfig(_Wire, frozen=True):
    """Source: A2A 0.3 §6.10."""

    task_id: Id
    push_notification_config: PushNotificationConfig


class GetTaskPushNotificationConfigParams(_Wire, frozen=True):
    """With the task's id alone it is a TaskIdParams, which is taken as well. Source: A2A 0.3 §7.6.1."""

    id: Id
    push_notification_config_id: str | None = None


class DeleteTaskPushNotificationConfigParams(_Wire, frozen=True):
    """Source: A2A 0.3 §7.8.1."""

    id: Id
    push_notification_config_id: Id
