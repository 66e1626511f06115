"""Where a host wants to be told of a task without asking: push notification configurations."""

import msgspec


class PushConfig(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A webhook of a task.

    Shape: `id` is unique within the task; `version` is the dialect that registered it ("0.3" or "1.0"), in whose shape
           it is told; `schemes` are HTTP authentication schemes, of which the first is used with `credentials`; `token`
           is echoed to the webhook. An id that is empty was left to us.
    Source: A2A 1.0 §4.3.1 (PushNotificationConfig); 0.3 §6.8.
    """

    id: str
    url: str
    version: str
    token: str | None = None
    schemes: tuple[str, ...] = ()
    credentials: str | None = None


class TaskPushConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A configuration and the task that it is of.

    Shape: `owner` and `agent` are the task's; `told_seq` is the seq of the last event that the webhook has taken, 0 for
           none, so that a restart knows what it still has to tell.
    """

    owner: str
    agent: str
    task_id: str
    config: PushConfig
    told_seq: int = 0
