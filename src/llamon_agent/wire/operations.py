"""What a caller asks, whatever its dialect: the version-free calls, and the port that a dialect implements.

Past this line no code asks which version a caller speaks. A dialect opens the params of its own methods into one of
these operations, and writes replies and events back in its own shapes.

A page token holds nothing secret and grants nothing: a list has only the caller's own tasks, wherever it starts.
"""

from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Protocol

import msgspec

from llamon_agent.domain.encoding import read_base64
from llamon_agent.domain.errors import BadParams
from llamon_agent.domain.events import Snapshot, Update
from llamon_agent.domain.message import Message, Metadata
from llamon_agent.domain.task import PushConfig, Task, TaskPage, TaskState

_Millis = Annotated[int, msgspec.Meta(ge=0, le=1 << 52)]
_place = msgspec.json.Decoder(tuple[_Millis, str])


def write_token(last: Task) -> str:
    """The token of the page that begins after a task."""
    return urlsafe_b64encode(msgspec.json.encode((last.status.at_ms, last.id))).rstrip(b"=").decode()


def read_token(token: str) -> tuple[int, str]:
    """The place (at_ms, id) of the last task of the page before. Raises: BadParams."""
    try:
        return _place.decode(read_base64(token))
    except (ValueError, msgspec.MsgspecError) as exc:  # binascii.Error is a ValueError, so is text beyond ASCII
        raise BadParams("pageToken is not one that this agent gave out.") from exc


def page_of(
    configs: Sequence[PushConfig], page_size: int | None, token: str | None
) -> tuple[tuple[PushConfig, ...], str]:
    """One page of a task's webhooks, which are few and sorted by id; and the token of the next page, empty at the end.

    Shape: the token is the id of the last one of the page before; page_size None is all that there are.
    """
    rest = [config for config in configs if token is None or config.id > token]
    page = tuple(rest if page_size is None else rest[:page_size])
    return page, page[-1].id if len(page) < len(rest) else ""


class SendMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message for the agent; with `stream` its events are wanted, otherwise the task.

    Shape: message.metadata and metadata are as sent, the history in them included; history_length None is no limit;
           accepted_output_modes empty is anything; tenant is 1.0's, opaque.
    Source: A2A 1.0 §3.1.1, §3.1.2, §3.2.2; 0.3 §7.1, §7.2.
    """

    message: Message
    metadata: Metadata | None = None
    blocking: bool = True
    stream: bool = False
    history_length: int | None = None
    accepted_output_modes: tuple[str, ...] = ()
    push: PushConfig | None = None
    tenant: str | None = None


class GetTask(msgspec.Struct, frozen=True, kw_only=True):
    """The task as it is now. Source: A2A 1.0 §3.1.3; 0.3 §7.3."""

    task_id: str
    history_length: int | None = None
    tenant: str | None = None


class ListTasks(msgspec.Struct, frozen=True, kw_only=True):
    """The caller's tasks, newest status first.

    Shape: page_token is what the page before gave as next; None is the first page; bytes_of_files says whether
           artifacts come with those.
    Units: changed_since_ms counts milliseconds since 1970 UTC, inclusive; page_size is 1 to 100.
    Source: A2A 1.0 §3.1.4.
    """

    context_id: str | None = None
    state: TaskState | None = None
    changed_since_ms: int | None = None
    page_size: int = 50
    page_token: str | None = None
    history_length: int | None = None
    include_artifacts: bool = False
    bytes_of_files: bool = True
    tenant: str | None = None


class CancelTask(msgspec.Struct, frozen=True, kw_only=True):
    """Stop the task's work. Source: A2A 1.0 §3.1.5; 0.3 §7.4.

    Shape: again_ok says whether canceling a canceled task is fine (1.0: idempotent) or an error (0.x).
    """

    task_id: str
    again_ok: bool
    metadata: Metadata | None = None
    tenant: str | None = None


class Subscribe(msgspec.Struct, frozen=True, kw_only=True):
    """Follow a task that exists. Source: A2A 1.0 §3.1.6; 0.3 §7.9.

    Shape: ended_ok says whether a finished task is answered with itself (0.x) or refused (1.0).
    """

    task_id: str
    ended_ok: bool
    tenant: str | None = None


class SetPushConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Post what happens to a task to a webhook; one with the id of another takes its place.

    Shape: an id that is empty was left to us.
    Source: A2A 1.0 §3.1.7; 0.3 §7.5.
    """

    task_id: str
    config: PushConfig
    tenant: str | None = None


class GetPushConfig(msgspec.Struct, frozen=True, kw_only=True):
    """One webhook of a task; config_id None is the one without a name of its own (0.x).

    Source: A2A 1.0 §3.1.8; 0.3 §7.6.
    """

    task_id: str
    config_id: str | None = None
    tenant: str | None = None


class ListPushConfigs(msgspec.Struct, frozen=True, kw_only=True):
    """The webhooks of a task, by id. Source: A2A 1.0 §3.1.9; 0.3 §7.7.

    Shape: page_token is the id of the last one of the page before; None is the first page.
    Units: page_size counts configurations; None is all.
    """

    task_id: str
    page_size: int | None = None
    page_token: str | None = None
    tenant: str | None = None


class DeletePushConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Delete a webhook; one that is not there is fine. Source: A2A 1.0 §3.1.10; 0.3 §7.8."""

    task_id: str
    config_id: str
    tenant: str | None = None


PushConfigOperation = SetPushConfig | GetPushConfig | ListPushConfigs | DeletePushConfig


class GetExtendedCard(msgspec.Struct, frozen=True, kw_only=True):
    """The card for authenticated callers. Source: A2A 1.0 §3.1.11; 0.3 §7.10."""

    tenant: str | None = None


Operation = SendMessage | GetTask | ListTasks | CancelTask | Subscribe | PushConfigOperation | GetExtendedCard


class Dialect(Protocol):
    """One wire version: the only thing that knows both its schema and the domain.

    Shape: `version` is Major.Minor as in A2A-Version; `methods` opens the params of each of its methods; every `write_`
           gives the bytes of one JSON value, the `result` of an answer.
    """

    version: str
    notification_type: str
    """The media type of a webhook's body."""
    readers_replace: bool
    """Whether readers of this wire are known to put each piece of an artifact in the place of those before it."""
    methods: Mapping[str, Callable[[bytes], Operation]]
    """Raises: BadParams with a text that names the field."""

    def write_sent(self, task: Task) -> bytes:
        """The result of a send that did not stream."""
        ...

    def write_message(self, message: Message) -> bytes:
        """The result of a send, and the only event of a stream, where the agent answered with a message."""
        ...

    def write_task(self, task: Task) -> bytes:
        """The result of get and cancel."""
        ...

    def write_page(self, page: TaskPage, *, next_token: str, page_size: int, include_artifacts: bool) -> bytes:
        """The result of a list. Raises: UnsupportedOperation in a dialect without one."""
        ...

    def write_event(self, event: Snapshot | Update, *, task: Task, final: bool) -> bytes:
        """One event of a stream. `task` gives the ids; `final` says that this is the stream's last event (0.x
        says so on the wire).
        """
        ...

    def write_notification(self, event: Snapshot | Update, *, task: Task) -> bytes | None:
        """The body for a webhook, None where this version does not notify of the event. `task` is the task as it was
        then.
        """
        ...

    def write_push_config(self, task_id: str, config: PushConfig) -> bytes:
        """The result of set and get."""
        ...

    def write_push_configs(self, task_id: str, configs: Sequence[PushConfig], *, next_token: str) -> bytes:
        """The result of a list; next_token is empty where nothing follows."""
        ...

    def write_deleted(self) -> bytes:
        """The result of a delete."""
        ...

    def write_fault_data(self, reason: str, public: str, details: Sequence[Metadata]) -> bytes | None:
        """The `data` of an error object, or None for none. `reason` is UPPER_SNAKE. Source: A2A 1.0 §9.5."""
        ...
