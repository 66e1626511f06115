"""A2A 0.3 as protobuf has it, as a client speaks it over HTTP+JSON: messages out, replies and events in."""

import msgspec

from llamon_agent.domain.message import Message, Part
from llamon_agent.domain.task import Task, TaskState
from llamon_agent.wire.proto_json import ROLE_IN, state_reader
from llamon_agent.wire.replies import ReplyReader, TaskEvent
from llamon_agent.wire.v03.values import encode
from llamon_agent.wire.v03_proto import schema as proto_schema
from llamon_agent.wire.v03_proto.values import CANCELLED, message_out, part_in
from llamon_agent.wire.v10.values import STATE_IN

_RESPONSE = msgspec.json.Decoder(proto_schema.StreamResponse)
_TASK = msgspec.json.Decoder(proto_schema.Task)


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
        return _READER.read(_TASK, reply, _READER.task_in)
