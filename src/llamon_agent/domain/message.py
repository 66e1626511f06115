"""A message and its parts, before any dialect.

Values only: frozen, comparable, and cheap to make. What a dialect cannot say of them is listed in that dialect's
LOSSES.

They hold no cycles, so Python's search for garbage leaves them out (`gc=False`), here and in `task`: with many tasks in
memory it would stop the event loop for long.
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import msgspec

TEXT = "text/plain"
JSON = "application/json"
UNKNOWN = "application/octet-stream"

MAX_CONTEXT_ID_CHARS = 512
"""How long a contextId may be. It is echoed unchanged, so one that is longer is refused, never cut."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,126}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}")

Metadata = dict[str, Any]
"""A JSON object. Shared, so never changed in place: a new value is a new dict."""


class Role(StrEnum):
    """The sender of a message. Source: A2A 1.0 §4.1.5 (Role)."""

    USER = "user"
    AGENT = "agent"


class _Part(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag_field="is"):
    """What every kind of part may carry besides its content. Source: A2A 1.0 §4.1.6 (Part)."""

    metadata: Metadata | None = None
    filename: str | None = None
    media_type: str | None = None


class Text(_Part, frozen=True, tag="text"):
    """Plain text, possibly empty."""

    text: str = msgspec.field(name="v")

    @classmethod
    def of(cls, text: str) -> "Text":
        return cls(text=text)


class Raw(_Part, frozen=True, tag="raw"):
    """A file by its bytes."""

    data: bytes = msgspec.field(name="v")


class Url(_Part, frozen=True, tag="url"):
    """A file by its address, which the edge never fetches."""

    url: str = msgspec.field(name="v")


class Data(_Part, frozen=True, tag="data"):
    """A JSON value; null is a value too."""

    data: Any = msgspec.field(name="v")


Part = Text | Raw | Url | Data


class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One turn of a conversation. Source: A2A 1.0 §4.1.4 (Message)."""

    message_id: str
    role: Role
    parts: tuple[Part, ...]
    context_id: str | None = None
    task_id: str | None = None
    metadata: Metadata | None = None
    extensions: tuple[str, ...] = ()
    reference_task_ids: tuple[str, ...] = ()


OMITTED = "omittedBytes"
"""The metadata of a file whose bytes were left out: how many there are."""


def emptied(part: Part) -> Part:
    """A file that is sent whole, without its bytes; any other part as it is. A URL `data:` is such a file."""
    match part:
        case Raw(data=data) if data:
            return msgspec.structs.replace(part, data=b"", metadata={**(part.metadata or {}), OMITTED: len(data)})
        case Url(url=url) if url[:5].lower() == "data:":
            head, comma, content = url.partition(",")
            size_bytes = len(content.rstrip("=")) * 3 // 4 if head.endswith(";base64") else len(content)
            said = {**(part.metadata or {}), OMITTED: size_bytes}
            return msgspec.structs.replace(part, url=head + comma, metadata=said)
    return part


def media_type_of(part: Part) -> str:
    """What kind of content a part is, as type/subtype in lower case and without parameters.

    Shape:  text is text/plain and data application/json, whatever else they say; a file that does not say what it is,
            or not as a media type, is application/octet-stream.
    Source: RFC 6838 §4.2 (the names); RFC 9110 §8.3.1 (case and parameters).
    """
    if isinstance(part, Text):
        return TEXT
    return JSON if isinstance(part, Data) else essence(part.media_type or "") or UNKNOWN


def essence(media_type: str) -> str | None:
    """A media type in lower case and without its parameters; None where it is none."""
    bare = media_type.partition(";")[0].strip().lower()
    return bare if _MEDIA_TYPE.fullmatch(bare) else None


def sound(text: str) -> str:
    """Text as a plain string that can be written. Agents do say surrogates, which no encoding has, and strings of
    classes of their own, which no encoder takes.

    Shape:  a pair of surrogates is the character that it stands for, and a lone one is U+FFFD.
    Source: RFC 3629 §3; Unicode 16 §3.9 (D91, and U+FFFD as the replacement).
    """
    plain = text if type(text) is str else str.__str__(text)
    if plain.isascii() or _SURROGATE.search(plain) is None:
        return plain
    return plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def without_half(text: str) -> tuple[str, str]:
    """A piece of text without the first half of a pair of surrogates at its end, and that half, which waits for the
    next piece.
    """
    return (text[:-1], text[-1]) if "\ud800" <= text[-1:] <= "\udbff" else (text, "")


def texts(parts: Sequence[Part]) -> list[str]:
    """The text parts' texts, in order; other parts are passed over."""
    return [part.text for part in parts if isinstance(part, Text)]
