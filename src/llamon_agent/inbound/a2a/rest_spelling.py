"""0.3's protobuf messages for a caller that spells their fields as the proto file does: `context_id`, not `contextId`.

ProtoJSON's readers take both spellings, but not everybody who writes the one has such a reader: the official 0.3 kit
looks for `context_id` in what it is answered. Only the answer to a message is spelled so, as only its request tells
how. Streams are not: the readers of those that are known take both, and their events are many.

Source: ProtoJSON (field names); the official 0.3 kit over HTTP+JSON.
"""

import re

import msgspec

from llamon_agent.domain.message import Message
from llamon_agent.domain.task import Task
from llamon_agent.inbound.a2a.proto_json import respelled
from llamon_agent.inbound.a2a.v03.proto_codec import Dialect03Proto

_HUMP = re.compile(r"[A-Z]")


class Dialect03Snake(Dialect03Proto):
    """V03_PROTO, but for the spelling of what answers a message."""

    def write_sent(self, task: Task) -> bytes:
        return _spelled(super().write_sent(task))

    def write_message(self, message: Message) -> bytes:
        return _spelled(super().write_message(message))


def is_snake(body: bytes) -> bool:
    """Whether a request with a message spells its fields as the proto file does: each message has an id."""
    return b'"message_id"' in body


def _spelled(answer: bytes) -> bytes:
    return msgspec.json.encode(respelled(msgspec.json.decode(answer), _snake))


def _snake(key: str) -> str:
    return _HUMP.sub(lambda found: "_" + found[0].lower(), key)


V03_SNAKE = Dialect03Snake()
