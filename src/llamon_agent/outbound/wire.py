"""The official SDK's values <-> the domain's. The SDK itself speaks either dialect, so this is the same for both."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

import msgspec
from a2a.types import a2a_pb2 as pb
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message import Message as ProtoMessage

from llamon_agent.domain.events import Question, SeedOutcome
from llamon_agent.domain.message import Data, Metadata, Part, Raw, Text, Url, texts
from llamon_agent.domain.task import Artifact, TaskState
from llamon_agent.outbound.replies import UNNAMED

LOSSES: Mapping[str, str] = {
    "data.integer": "the SDK keeps JSON in protobuf, whose numbers are doubles: a whole number is written as 3.0, read "
    "back as 3 here, and is exact up to 2**53",
}
"""What the SDK cannot say of a domain value: the place, and what becomes of it."""

_STATES: Mapping[int, TaskState] = {pb.TaskState.Value(f"TASK_STATE_{state.name}"): state for state in TaskState}


def request_out(
    parts: Sequence[Part],
    *,
    context_id: str | None = None,
    task_id: str | None = None,
    metadata: Metadata | None = None,
) -> pb.SendMessageRequest:
    """A message to send."""
    message = pb.Message(
        message_id=uuid4().hex,
        role=pb.Role.ROLE_USER,
        parts=[_part_out(part) for part in parts],
        context_id=context_id or "",
        task_id=task_id or "",
    )
    if metadata:
        ParseDict(metadata, message.metadata)
    return pb.SendMessageRequest(message=message)


def state_in(state: int) -> TaskState:
    """A state; one that we do not know means that the agent is at work."""
    return _STATES.get(state, TaskState.WORKING)


def artifact_in(artifact: pb.Artifact) -> Artifact:
    return Artifact(
        artifact_id=artifact.artifact_id,
        parts=parts_in(artifact.parts),
        name=artifact.name or None,
        description=artifact.description or None,
        metadata=metadata_in(artifact),
    )


def parts_in(parts: Sequence[pb.Part]) -> tuple[Part, ...]:
    """Parts in order; one without content is nothing."""
    return tuple(read for part in parts if (read := _part_in(part)) is not None)


def metadata_in(holder: pb.Artifact | pb.Part | pb.Task) -> Metadata | None:
    return _json_in(holder.metadata) if holder.HasField("metadata") else None


def seed_outcome_in(task: pb.Task) -> SeedOutcome | None:
    """What the remote agent tells of the history it was sent; an agent that is not ours tells nothing."""
    told = (metadata_in(task) or {}).get("history")
    try:
        return msgspec.convert(told, SeedOutcome)
    except msgspec.ValidationError:
        return None


def questions_in(message: pb.Message) -> tuple[Question, ...]:
    """What a paused task asks: its questions where they are told as data, else the message itself as one question."""
    parts = parts_in(message.parts)
    data = [part.data for part in parts if isinstance(part, Data)]
    for value in data:
        if isinstance(value, dict) and (asked := _questions(value.get("questions"))):
            return asked
    words = "\n".join(texts(parts))
    value = words if not data else (data[0] if not words else {"question": words, "data": data})
    return (Question(id=UNNAMED, value=value),)


def _questions(listed: Any) -> tuple[Question, ...]:
    try:
        return msgspec.convert(listed, tuple[Question, ...])
    except msgspec.ValidationError:
        return ()


def _part_out(part: Part) -> pb.Part:
    out = pb.Part(filename=part.filename or "", media_type=part.media_type or "")
    match part:
        case Text(text=text):
            out.text = text
        case Raw(data=data):
            out.raw = data
        case Url(url=url):
            out.url = url
        case Data(data=value):
            ParseDict(value, out.data)
    if part.metadata:
        ParseDict(part.metadata, out.metadata)
    return out


def _part_in(part: pb.Part) -> Part | None:
    about: dict[str, Any] = {
        "metadata": metadata_in(part),
        "filename": part.filename or None,
        "media_type": part.media_type or None,
    }
    match part.WhichOneof("content"):
        case "text":
            return Text(text=part.text, **about)
        case "raw":
            return Raw(data=part.raw, **about)
        case "url":
            return Url(url=part.url, **about)
        case "data":
            return Data(data=_json_in(part.data), **about)
    return None


def _json_in(value: ProtoMessage) -> Any:
    return _whole(MessageToDict(value))


def _whole(value: Any) -> Any:
    """JSON with its whole numbers back."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _whole(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_whole(inner) for inner in value]
    return value
