"""A second spelling of 1.0 params: the field names of the proto file.

ProtoJSON: "Parsers accept both the lowerCamelCase name and the original proto field name." Serializers write one or the
other throughout, so a body is only searched for the one proto name that tells, and respelled when that is there.
"""

import re
from typing import Any

import msgspec

_UNDERSCORE = re.compile(r"_([a-z0-9])")
_FREE = frozenset({"metadata", "data"})


def respell(params: bytes) -> bytes:
    """The params with lowerCamelCase keys, except inside what callers fill freely.

    Raises: msgspec.DecodeError, RecursionError.
    """
    return msgspec.json.encode(_respelled(msgspec.json.decode(params)))


def _respelled(value: Any) -> Any:
    if isinstance(value, dict):
        return {_camel(key): inner if key in _FREE else _respelled(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_respelled(inner) for inner in value]
    return value


def _camel(key: str) -> str:
    return _UNDERSCORE.sub(lambda found: found[1].upper(), key)
