"""A2A 1.0 as a client speaks it: messages out, replies and events in."""

import msgspec

from llamon_agent.domain.message import Message, Part
from llamon_agent.domain.task import Task
from llamon_agent.wire.proto_json import ROLE_IN, state_reader
from llamon_agent.wire.replies import ReplyReader, TaskEvent
from llamon_agent.wire.v10 import schema
from llamon_agent.wire.v10.values import STATE_IN, encode, message_out, part_in

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
