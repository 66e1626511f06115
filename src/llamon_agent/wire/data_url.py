"""Files that travel inside their own address. Source: RFC 2397."""

from urllib.parse import unquote_to_bytes

import msgspec

from llamon_agent.domain.errors import BadParams
from llamon_agent.domain.message import essence

_SCHEME = "data:"
_IN_BASE64 = ";base64"


class Inline(msgspec.Struct, frozen=True):
    """What such an address says of its file. Shape: media_type is None where it says none, or none that is one."""

    media_type: str | None
    size_bytes: int


def inline_of(url: str, field: str) -> Inline | None:
    """The file in an address; None where the address is of another kind. Raises: BadParams that names the field."""
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
