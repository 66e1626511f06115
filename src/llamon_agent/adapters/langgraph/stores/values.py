"""Which values a store can keep: the same ones in memory, in SQLite and in Postgres."""

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any

import msgspec

from llamon_agent.domain.errors import AgentError
from llamon_agent.domain.plain import MAX_DEPTH, is_deeper, plain_of

NOT_KEPT = "The agent wanted to keep a value in its store that cannot be saved."
"""The caller's error text if a value cannot be stored, though the storage works."""

_MAX_INT = 1 << 63

_WHOLE = "llamon:value"
"""The only key of the object around a value that is no object."""

_NO_KEY = object()
"""In the place of a key that is no text; it is not kept."""


def keepable(value: Any) -> Any:
    """A value of a store as plain JSON.

    Shape:  dates, ids and dataclasses become text and objects; texts and numbers of other classes become plain ones.
            Texts without U+0000 and lone surrogates, finite numbers, integers of 64 bits, keys that are text, and no
            deeper than callers may nest.
    Raises: AgentError: it is or holds another value.
    """
    try:
        plain = msgspec.to_builtins(value, enc_hook=plain_of)
        is_kept = not is_deeper(plain, MAX_DEPTH) and all(map(_is_kept, _parts(plain)))
    except (TypeError, ValueError, RecursionError) as exc:
        raise AgentError(NOT_KEPT) from exc
    if not is_kept:
        raise AgentError(NOT_KEPT)
    return plain


def in_object(value: Any) -> Any:
    """A value as an object: LangGraph's store in SQLite keeps nothing else. Shape: None, a deletion, stays None."""
    return value if value is None or isinstance(value, dict) else {_WHOLE: value}


def out_of_object(kept: Mapping[str, Any]) -> Any:
    """The value that was put into an object so."""
    return kept[_WHOLE] if kept.keys() == {_WHOLE} else kept


def _parts(value: Any) -> Iterator[Any]:
    """All keys and single values in a value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key if isinstance(key, str) else _NO_KEY
            yield from _parts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _parts(inner)
    else:
        yield value


def _is_kept(value: object) -> bool:
    match value:
        case str():
            return "\0" not in value and _is_unicode(value)
        case float():
            return isfinite(value)
        case int():
            return -_MAX_INT <= value < _MAX_INT
    return value is None


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
