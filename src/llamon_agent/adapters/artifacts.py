"""The form in which an agent makes an artifact, or a reply of parts; it is the same for every adapter.

    {"artifact": {"name": "report", "description": "...", "metadata": {...}, "parts": [
        {"text": "..."},
        {"data": <any JSON>},
        {"bytes": <bytes, or base64>, "media_type": "image/png", "filename": "chart.png"},
        {"url": "https://...", "media_type": "application/pdf"}]}}

Each part has exactly one of text, data, bytes and url, and may have media_type, filename and metadata. Base64 may be
standard or URL-safe, padded or not.

With an `id` of the agent's own an artifact can be replaced, by another one of that id, or come in pieces: `append` adds
the parts after those that it has; `last`, true by default, says that nothing follows.

    {"artifact": {"id": "log", "name": "log", "parts": [{"text": "one "}], "last": False}}
    {"artifact": {"id": "log", "parts": [{"text": "two"}], "append": True}}

A reply has `parts` and maybe `metadata`.
"""

import re
from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

import msgspec

from llamon_agent.domain.encoding import read_base64
from llamon_agent.domain.errors import AgentError
from llamon_agent.domain.events import ArtifactMade, Reply
from llamon_agent.domain.message import Data, Metadata, Part, Raw, Text, Url
from llamon_agent.domain.plain import json_of, sendable
from llamon_agent.domain.task import Artifact

K = TypeVar("K")

_KINDS = ("text", "data", "raw", "url")


_PATH = re.compile(r"`\$\.?([^`]*)`$")


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    text: str | msgspec.UnsetType = msgspec.UNSET
    data: Any = msgspec.UNSET
    raw: Any = msgspec.field(name="bytes", default=msgspec.UNSET)
    url: str | msgspec.UnsetType = msgspec.UNSET
    media_type: str | None = None
    filename: str | None = None
    metadata: Metadata | None = None


class _Artifact(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    parts: list[_Part]
    id: Annotated[str, msgspec.Meta(min_length=1)] | None = None
    name: str | None = None
    description: str | None = None
    metadata: Metadata | None = None
    append: bool = False
    last: bool = True


class _Reply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    parts: list[_Part]
    metadata: Metadata | None = None


def read_artifact(value: object, *, new_id: str) -> ArtifactMade:
    """The artifact, or the piece of one, of the value under the key `artifact`.

    Raises: AgentError, which says what is wrong with it.
    """
    made = _read(value, _Artifact, "an artifact")
    if made.id is None and (made.append or not made.last):
        raise AgentError("The agent made a piece of an artifact without an id.")
    artifact = Artifact(
        artifact_id=made.id or new_id,
        parts=_parts(made.parts, "an artifact"),
        name=made.name,
        description=made.description,
        metadata=json_of(made.metadata),
    )
    return sendable(ArtifactMade(artifact=artifact, append=made.append, last=made.last), "an artifact")


def read_reply(value: object) -> Reply:
    """The reply of the value under the key `reply`, where it is not text.

    Raises: AgentError, which says what is wrong with it.
    """
    made = _read(value, _Reply, "a reply")
    return sendable(Reply(parts=_parts(made.parts, "a reply"), metadata=json_of(made.metadata)), "a reply")


def artifact_made(artifact: Artifact) -> ArtifactMade:
    """The event of an artifact. Raises: AgentError: it cannot be stored or sent; see `sendable`."""
    return sendable(ArtifactMade(artifact=artifact), "an artifact")


def _read(value: object, kind: type[K], what: str) -> K:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as exc:
        found = _PATH.search(str(exc))
        raise AgentError(f"The agent made {what} that is not valid{f' at {found[1]}' if found else ''}.") from exc


def _parts(parts: Sequence[_Part], what: str) -> tuple[Part, ...]:
    if not parts:
        raise AgentError(f"The agent made {what} without parts.")
    return tuple(
        [_part(part, f"The agent made {what} that is not valid at parts[{at}]") for at, part in enumerate(parts)]
    )


def _part(part: _Part, problem: str) -> Part:
    extras: dict[str, Any] = {
        "media_type": part.media_type,
        "filename": part.filename,
        "metadata": json_of(part.metadata),
    }
    match [(kind, value) for kind in _KINDS if (value := getattr(part, kind)) is not msgspec.UNSET]:
        case [("text", value)]:
            return Text(text=value, **extras)
        case [("data", value)]:
            return Data(data=json_of(value), **extras)
        case [("raw", value)]:
            return Raw(data=_bytes(value, f"{problem}.bytes."), **extras)
        case [("url", value)]:
            return Url(url=value, **extras)
    raise AgentError(f"{problem}: exactly one of text, data, bytes, url.")


def _bytes(value: object, problem: str) -> bytes:
    """A file's bytes, which may be given as base64. Raises: AgentError."""
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if not isinstance(value, str):
        raise AgentError(problem)
    try:
        return read_base64(value)
    except ValueError as exc:
        raise AgentError(problem) from exc
