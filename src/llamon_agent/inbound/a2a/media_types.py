"""What an agent takes and gives: its modes, and whether a call fits them.

Rules:
1. A message may begin a task only if the agent takes each of its parts.
2. An answer to a question is text or data, and every agent takes those: what it asked for, it can read. Whether a
   message is an answer is decided later, by the run service; until then it carries the reason that would speak against
   it (`objection`).
3. Files are looked at by what they say they are and by their size, never opened, and an address is never fetched. A
   data: URL is not an address but a file, and says itself what it is.
"""

from collections.abc import Sequence
from urllib.parse import unquote_to_bytes

import msgspec

from llamon_agent.domain.errors import BadParams, ContentTypeNotSupported
from llamon_agent.domain.message import TEXT, Data, Part, Raw, Text, Url, essence, media_type_of
from llamon_agent.domain.profile import INPUT_MODES, OUTPUT_MODES

_SHORT = {"text": "text/plain", "data": "application/json"}
"""What clients write that think in kinds of parts."""

_VALUES = tuple(_SHORT.values())
"""Text and data: neither is a file."""

_SCHEME = "data:"
_IN_BASE64 = ";base64"


class Modes(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent takes and gives.

    Shape:  media types in lower case, in which the subtype or both may be `*`.
    Units:  max_file_bytes is for each file by its bytes, max_files_bytes for all of a message's together.
    Source: A2A 1.0 §4.4.1 (defaultInputModes, defaultOutputModes).
    """

    takes: tuple[str, ...] = INPUT_MODES
    gives: tuple[str, ...] = OUTPUT_MODES
    max_file_bytes: int = 5 << 20
    max_files_bytes: int = 10 << 20


def check_output(accepted: Sequence[str], modes: Modes) -> None:
    """Refuse a caller that could not read any answer; naming no modes is accepting all.

    A caller that accepts text or data is given either: some hosts name application/json for the response as such.

    Raises: ContentTypeNotSupported.
    Source: A2A 1.0 §3.2.2 (acceptedOutputModes).
    """
    if not accepted:
        return
    wanted = [_plain(mode) for mode in accepted]
    if _any_overlap(wanted, _VALUES):
        wanted += _VALUES
    if not _any_overlap(wanted, modes.gives):
        raise ContentTypeNotSupported(
            f"configuration.acceptedOutputModes has nothing that this agent gives; it gives {_listed(modes.gives)}."
        )


def check_files(parts: Sequence[Part], modes: Modes) -> None:
    """Refuse files that the agent does not take. Raises: ContentTypeNotSupported; BadParams: one is too large."""
    total_bytes = 0
    for place, part in enumerate(parts):
        if not isinstance(part, Raw | Url):
            continue
        media_type, size_bytes = _file(place, part)
        if problem := _objection(place, media_type, modes):
            raise ContentTypeNotSupported(problem)
        total_bytes += size_bytes
        if size_bytes > modes.max_file_bytes:
            raise BadParams(f"message.parts[{place}] is a file of more than {modes.max_file_bytes} bytes.")
    if total_bytes > modes.max_files_bytes:
        raise BadParams(f"message.parts hold files of more than {modes.max_files_bytes} bytes together.")


def objection(parts: Sequence[Part], modes: Modes) -> str | None:
    """Why these parts can be an answer at most; None where the agent takes their text and data anyway."""
    for place, part in enumerate(parts):
        if isinstance(part, Text | Data) and (problem := _objection(place, media_type_of(part), modes)):
            return problem
    return None


def _file(place: int, part: Raw | Url) -> tuple[str, int]:
    """The media type of a file, and how many bytes it has here. Raises: BadParams: a data: URL says it is another."""
    if isinstance(part, Raw):
        return media_type_of(part), len(part.data)
    inline = inline_of(part.url, f"message.parts[{place}]")
    if inline is None:
        return media_type_of(part), 0
    said = essence(part.media_type or "")
    if said and inline.media_type and said != inline.media_type:
        raise BadParams(f"message.parts[{place}] says that it is {said}, but its data: URL is {inline.media_type}.")
    return said or inline.media_type or TEXT, inline.size_bytes  # RFC 2397 §2: "defaults to text/plain"


class Inline(msgspec.Struct, frozen=True):
    """What a data: URL says of its file. Shape: media_type is None where it says none, or none that is one."""

    media_type: str | None
    size_bytes: int


def inline_of(url: str, field: str) -> Inline | None:
    """The file in a data: URL; None for another URL. Raises: BadParams that names the field. Source: RFC 2397."""
    url = url.lstrip()
    if url[: len(_SCHEME)].lower() != _SCHEME:
        return None
    head, comma, data = url[len(_SCHEME) :].partition(",")
    if not comma:
        raise BadParams(f"{field} is a data: URL without the comma that its data follows.")
    content = unquote_to_bytes(data)
    in_base64 = head.rstrip().lower().endswith(_IN_BASE64)
    # Three bytes in four letters; what is no letter counts nothing.
    size_bytes = len(content.translate(None, b"= \t\r\n")) * 3 // 4 if in_base64 else len(content)
    return Inline(essence(head), size_bytes)


def _objection(place: int, media_type: str, modes: Modes) -> str | None:
    if media_type in modes.takes or any(_covers(mode, media_type) for mode in modes.takes):
        return None
    return f"message.parts[{place}] is {media_type}; this agent takes {_listed(modes.takes)}."


def _plain(mode: str) -> str:
    """A mode as a caller spells it, as we do; one that is no media type stays as it is and fits nothing."""
    bare = mode.partition(";")[0].strip().lower()
    return _SHORT.get(bare, bare)


def _any_overlap(wanted: Sequence[str], given: Sequence[str]) -> bool:
    return any(_overlap(one, other) for one in wanted for other in given)


def _overlap(one: str, other: str) -> bool:
    """Whether there is a media type that is both."""
    return one == other or _covers(one, other) or _covers(other, one)


def _covers(mode: str, media_type: str) -> bool:
    return mode in ("*/*", "*") or (mode.endswith("/*") and media_type.startswith(mode[:-1]))


def _listed(modes: Sequence[str]) -> str:
    return ", ".join(modes)
