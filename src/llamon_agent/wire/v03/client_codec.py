"""A2A 0.2 and 0.3 as a client speaks them over JSON-RPC: messages out, results and events in."""

import msgspec

from llamon_agent.domain.message import Message, Part, Role
from llamon_agent.domain.task import Task, TaskState
from llamon_agent.wire.replies import BadReply, ReplyReader, TaskEvent
from llamon_agent.wire.v03 import schema
from llamon_agent.wire.v03.values import encode, message_out, part_in

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
