"""The words in which an agent makes an artifact, whichever adapter drives it.

    {"artifact": {"name": "report", "description": "...", "parts": [
        {"text": "..."},
        {"data": <any JSON>},
        {"bytes": <bytes, or base64>, "media_type": "image/png", "filename": "chart.png"},
        {"url": "https://...", "media_type": "application/pdf"}]}}

Each part has exactly one of text, data, bytes and url; media_type and filename may stand beside any of them. Base64 may
be standard or URL-safe, padded or not.
"""

import binascii
import re
from typing import Any

import msgspec

from llamon_agent.domain.errors import AgentError
from llamon_agent.domain.events import ArtifactMade
from llamon_agent.domain.message import Data, Part, Raw, Text, Url
from llamon_agent.domain.task import Artifact

_KINDS = ("text", "data", "raw", "url")

_STANDARD = str.maketrans("-_", "+/")

_PATH = re.compile(r"`\$\.?([^`]*)`$")


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    text: str | msgspec.UnsetType = msgspec.UNSET
    data: Any = msgspec.UNSET
    raw: Any = msgspec.field(name="bytes", default=msgspec.UNSET)
    url: str | msgspec.UnsetType = msgspec.UNSET
    media_type: str | None = None
    filename: str | None = None


class _Artifact(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    parts: list[_Part]
    name: str | None = None
    description: str | None = None


def read_artifact(value: object, *, new_id: str) -> ArtifactMade:
    """The artifact in what stands under the key `artifact`.

    Raises: AgentError that says what is wrong with it.
    """
    try:
        made = msgspec.convert(value, _Artifact)
    except msgspec.ValidationError as exc:
        found = _PATH.search(str(exc))
        raise AgentError(f"The agent made an artifact that is not valid{f' at {found[1]}' if found else ''}.") from exc
    if not made.parts:
        raise AgentError("The agent made an artifact without parts.")
    parts = tuple([_part(part, place) for place, part in enumerate(made.parts)])
    return artifact_made(Artifact(artifact_id=new_id, parts=parts, name=made.name, description=made.description))


def artifact_made(artifact: Artifact) -> ArtifactMade:
    """The event of an artifact that a store and a wire can carry.

    Raises: AgentError: it holds a value that is no JSON, or a lone surrogate, which no encoding has (RFC 3629 §3).
    """
    try:
        msgspec.json.encode(artifact)
    except (TypeError, ValueError, RecursionError) as exc:
        raise AgentError("The agent made an artifact that cannot be sent.") from exc
    return ArtifactMade(artifact=artifact)


def json_of(value: object) -> Any:
    """A value as plain JSON, which is all that a store and a wire can carry. Raises: AgentError."""
    try:
        return msgspec.json.decode(msgspec.json.encode(value, enc_hook=_dump))
    except (TypeError, ValueError, RecursionError) as exc:
        raise AgentError("The agent gave a value that is neither text nor JSON.") from exc


def _part(part: _Part, place: int) -> Part:
    match [(kind, value) for kind in _KINDS if (value := getattr(part, kind)) is not msgspec.UNSET]:
        case [("text", value)]:
            return Text(text=value, media_type=part.media_type, filename=part.filename)
        case [("data", value)]:
            return Data(data=json_of(value), media_type=part.media_type, filename=part.filename)
        case [("raw", value)]:
            return Raw(data=_bytes(value, place), media_type=part.media_type, filename=part.filename)
        case [("url", value)]:
            return Url(url=value, media_type=part.media_type, filename=part.filename)
    raise AgentError(
        f"The agent made an artifact that is not valid at parts[{place}]: exactly one of text, data, bytes, url."
    )


def _bytes(value: object, place: int) -> bytes:
    """A file's bytes, however they are given. Raises: AgentError."""
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    problem = f"The agent made an artifact that is not valid at parts[{place}].bytes."
    if not isinstance(value, str):
        raise AgentError(problem)
    text = value.translate(_STANDARD)
    try:
        return binascii.a2b_base64(text + "=" * (-len(text) % 4), strict_mode=True)
    except ValueError as exc:
        raise AgentError(problem) from exc


def _dump(value: object) -> object:
    """Pydantic models dump themselves."""
    dump = getattr(value, "model_dump", None)
    if dump is None:
        raise TypeError(type(value).__name__)
    return dump(mode="json")
