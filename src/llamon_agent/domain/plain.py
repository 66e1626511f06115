"""What agents say, as plain values, which are all that a store and a wire can carry.

The code of agents hands out texts, numbers and lists of kinds of its own: LangChain's text, escaped markup, numpy's
numbers. They are as good as plain ones except to an encoder, so they are made plain where they come in: text, data,
metadata and keys alike. What has no plain form is the agent's failure, and never a store's.
"""

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, TypeVar

import msgspec

from llamon_agent.domain.errors import AgentError
from llamon_agent.domain.events import ArtifactMade, Interrupt, Reply
from llamon_agent.domain.message import sound

E = TypeVar("E", ArtifactMade, Reply, Interrupt)

_NO_FORM = (TypeError, ValueError)
"""What msgspec raises for what is no JSON. A surrogate, which no encoding has (RFC 3629 §3), is a ValueError."""


MAX_DEPTH = 100
"""How deep arrays and objects may nest in what comes from outside, from callers and from agents. Far below the limit of
parsers, which counts the calls that lead to it, so that what was written can always be read.
"""

_AROUND = 10
"""How many levels of a record may be around such a value."""


def json_of(value: object) -> Any:
    """A value as plain JSON. Raises: AgentError: it has no such form, or nests too deep."""
    try:
        return msgspec.json.decode(_shallow(_written(value), MAX_DEPTH))
    except _NO_FORM as exc:
        raise AgentError("The agent gave a value that is neither text nor JSON.") from exc
    except RecursionError as exc:
        raise AgentError(f"The agent gave a value that nests deeper than {MAX_DEPTH} levels.") from exc


def is_plain(value: object) -> bool:
    """Whether a store and a wire can carry a value as it is."""
    try:
        _shallow(msgspec.json.encode(value), MAX_DEPTH + _AROUND)
    except (*_NO_FORM, RecursionError):
        return False
    return True


def is_deeper(value: object, most: int) -> bool:
    """Whether dicts, lists and tuples nest deeper than so many levels."""
    level = [value] if isinstance(value, dict | list | tuple) else []
    for _ in range(most):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list | tuple)
        ]
    return bool(level)


def sendable(event: E, what: str) -> E:
    """An event whose fields are of the right kinds, as one that a store and a wire can carry.

    Shape:  the event itself, uncopied, where everything in it is plain.
    Raises: AgentError: it holds what has no plain form.
    """
    return event if is_plain(event) else checked(event, what)


def checked(event: E, what: str) -> E:
    """An event from an agent's own code, whatever is in its fields, as one that a store and a wire can carry.

    Raises: AgentError: it holds what has no plain form, or is of another kind than its field.
    """
    try:
        return msgspec.json.decode(_shallow(_written(event), MAX_DEPTH + _AROUND), type=type(event))
    except _NO_FORM as exc:
        raise AgentError(f"The agent made {what} that cannot be sent.") from exc
    except RecursionError as exc:
        raise AgentError(f"The agent made {what} that nests deeper than {MAX_DEPTH} levels.") from exc


def _shallow(written: bytes, most: int) -> bytes:
    """JSON that nests no deeper than so many levels. Raises: RecursionError."""
    brackets = written.count(b"[") + written.count(b"{")
    if brackets > most and is_deeper(msgspec.json.decode(written), most):
        raise RecursionError
    return written


def _written(value: object) -> bytes:
    """A value as JSON; of its texts and keys, those with surrogates are made `sound`."""
    try:
        return msgspec.json.encode(value, enc_hook=plain_of)
    except UnicodeEncodeError:
        return msgspec.json.encode(_sound(msgspec.to_builtins(value, enc_hook=plain_of, str_keys=True)))


def _sound(value: Any) -> Any:
    match value:
        case str():
            return sound(value)
        case list() | tuple():
            return [_sound(inner) for inner in value]
        case dict():
            return {_sound(key): _sound(inner) for key, inner in value.items()}
    return value


def plain_of(value: object) -> object:
    """What msgspec cannot encode, as what it can: an `enc_hook`. Arrays of numpy and their kin list themselves, and
    pydantic's models dump themselves.
    """
    match value:
        case str():
            return sound(value)
        case Integral():
            return int(value)
        case Real():
            return float(value)
        case Mapping():
            return dict(value)
    if (listed := getattr(value, "tolist", None)) is not None:
        return listed()
    if (dump := getattr(value, "model_dump", None)) is not None:
        return dump(mode="json")
    raise TypeError(type(value).__name__)
