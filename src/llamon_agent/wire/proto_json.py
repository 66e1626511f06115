"""ProtoJSON params, as A2A's two protobuf packages have them: `lf.a2a.v1` of 1.0 and `a2a.v1` of 0.3.

"Parsers accept both the lowerCamelCase name and the original proto field name." Few write the latter, so a body is only
searched for what marks the proto's names, and respelled when that is there. Serializers write one or the other
throughout; JSON that is written by hand mixes them, and a `context_id` that is not read is a conversation lost.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from llamon_agent.domain.errors import BadJson, BadParams
from llamon_agent.domain.message import Role
from llamon_agent.domain.task import TaskState
from llamon_agent.wire.json_body import read_params

Json = dict[str, Any]
"""A `google.protobuf.Struct`."""

Enum = str | int
"""ProtoJSON: "Parsers accept both enum names and integer values." """

Int32 = int | float | str
"""ProtoJSON: "Either numbers or strings are accepted", and 5.0 is the number 5. What is none, `read_count` refuses."""

ROLE_OUT: Mapping[Role, str] = {Role.USER: "ROLE_USER", Role.AGENT: "ROLE_AGENT"}
ROLE_IN: Mapping[Enum, Role] = {"ROLE_USER": Role.USER, 1: Role.USER, "ROLE_AGENT": Role.AGENT, 2: Role.AGENT}

UNDERSCORE = (b"_",)
"""Marks the proto's names in params that hold little else."""

SEND_KEYS = (
    b"message_id",
    b"context_id",
    b"task_id",
    b"reference_task_ids",
    b"media_type",
    b"mime_type",
    b"file_with_uri",
    b"file_with_bytes",
    b"accepted_output_modes",
    b"history_length",
    b"return_immediately",
    b"push_notification",
)
"""Marks the proto's names in a send, which holds much that callers fill freely: all those that a request has, in either
version.
"""

_STATE = "TASK_STATE_"

_MAX_INT32 = 2**31 - 1
_DIGITS = re.compile(r"[0-9]{1,10}")
_HUMP = re.compile(r"_([a-z0-9])")
_FREE = frozenset({"metadata", "data"})

T = TypeVar("T")


def read_proto_params(decoder: msgspec.json.Decoder[T], params: bytes, *, markers: Sequence[bytes]) -> T:
    """Open params in either spelling; those in the proto's names have one of `markers` in them.

    Raises: BadParams, BadJson.
    """
    if b"_" in params and any(name in params for name in markers):  # the former alone is what most bodies cost
        try:
            params = respell(params)
        except (msgspec.DecodeError, RecursionError) as exc:
            raise BadJson from exc
    return read_params(decoder, params)


def respell(params: bytes) -> bytes:
    """The params with lowerCamelCase keys, except inside what callers fill freely.

    Raises: msgspec.DecodeError, RecursionError.
    """
    return msgspec.json.encode(respelled(msgspec.json.decode(params), _camel))


def respelled(value: Any, spell: Callable[[str], str]) -> Any:
    """A JSON value with its keys spelled otherwise, except inside what callers and agents fill freely."""
    if isinstance(value, dict):
        return {spell(key): inner if key in _FREE else respelled(inner, spell) for key, inner in value.items()}
    if isinstance(value, list):
        return [respelled(inner, spell) for inner in value]
    return value


def _camel(key: str) -> str:
    return _HUMP.sub(lambda found: found[1].upper(), key)


def state_reader(states: Mapping[Enum, TaskState]) -> Callable[[Enum], TaskState | None]:
    """What reads a server's states. One that is not specified, or newer than we are, means that the agent works."""

    def state_in(state: Enum) -> TaskState | None:
        is_other = state == 0 or (isinstance(state, str) and state.startswith(_STATE))
        return states.get(state, TaskState.WORKING if is_other else None)

    return state_in


def read_count(value: Int32 | None, field: str, *, least: int = 0, most: int = _MAX_INT32) -> int | None:
    """A count in any of ProtoJSON's spellings. Raises: BadParams that names the field."""
    if isinstance(value, str):
        value = int(value) if _DIGITS.fullmatch(value) else -1
    if value is not None and not (value == int(value) and least <= value <= most):
        raise BadParams(f"{field} is not valid.", field=field)
    return None if value is None else int(value)


def required(value: str | None, field: str) -> str:
    """A string that must be there; proto3's absent one is empty. Raises: BadParams that names the field."""
    if not value:
        raise BadParams(f"{field} is required.", field=field)
    return value
