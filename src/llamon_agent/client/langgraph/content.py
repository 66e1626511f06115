"""LangChain messages <-> what goes to and comes from a remote agent. Nothing is dropped in silence, either way."""

import base64
import binascii
from typing import Any

import msgspec
from langchain_core.messages import AIMessage, HumanMessage

from llamon_agent.client.answers import Answer
from llamon_agent.domain.message import Data, Part, Raw, Text, Url
from llamon_agent.domain.task import Artifact


def parts_of(message: HumanMessage) -> tuple[Part, ...]:
    """A human message to send: text, files, and as data whatever else its content holds."""
    if isinstance(message.content, str):
        return (Text.of(message.content),)
    return tuple(Text.of(block) if isinstance(block, str) else _part_of(block) for block in message.content)


def message_of(answer: Answer, message_id: str) -> AIMessage:
    """The AI message that a remote agent's answer becomes.

    Shape: its text; where there is none, its data as JSON. Which task and context it came from is in
           response_metadata["a2a"], and the artifacts, where they are more than text, in additional_kwargs["a2a"].
    """
    rich = [artifact for artifact in answer.artifacts if is_rich(artifact)]
    return AIMessage(
        answer.text or _data_text(rich),
        id=message_id,
        response_metadata={"a2a": {"task_id": answer.task_id, "context_id": answer.context_id}},
        additional_kwargs={"a2a": {"artifacts": [artifact_out(artifact) for artifact in rich]}} if rich else {},
    )


def is_rich(artifact: Artifact) -> bool:
    """Whether there is more to it than text."""
    return not all(isinstance(part, Text) for part in artifact.parts)


def without_text(artifact: Artifact) -> Artifact:
    """The artifact without its text, which is in the answer already."""
    parts = tuple(part for part in artifact.parts if not isinstance(part, Text))
    return msgspec.structs.replace(artifact, parts=parts)


def artifact_out(artifact: Artifact) -> dict[str, Any]:
    """An artifact in the stream writer's vocabulary. Source: docs/adapters.md."""
    about = {"name": artifact.name, "description": artifact.description}
    parts = [_part_out(part) for part in artifact.parts]
    return {**{key: value for key, value in about.items() if value is not None}, "parts": parts}


def _part_of(block: dict[str, Any]) -> Part:
    """A content block. Source: langchain_core.messages.content."""
    about = {"media_type": block.get("mime_type"), "filename": (block.get("extras") or {}).get("filename")}
    match block:
        case {"type": "text", "text": str(text)}:
            return Text.of(text)
        case {"base64": str(encoded)} if (data := _bytes_in(encoded)) is not None:
            return Raw(data=data, **about)
        case {"url": str(url)}:
            return Url(url=url, **about)
    return Data(data=block)


def _bytes_in(encoded: str) -> bytes | None:
    try:
        return base64.b64decode(encoded, validate=True)
    except binascii.Error:
        return None


def _part_out(part: Part) -> dict[str, Any]:
    about = {"media_type": part.media_type, "filename": part.filename}
    return {**_content(part), **{key: value for key, value in about.items() if value is not None}}


def _content(part: Part) -> dict[str, Any]:
    match part:
        case Text(text=text):
            return {"text": text}
        case Data(data=value):
            return {"data": value}
        case Raw(data=data):
            return {"bytes": base64.b64encode(data).decode()}
        case Url(url=url):
            return {"url": url}


def _data_text(artifacts: list[Artifact]) -> str:
    data = [part.data for artifact in artifacts for part in artifact.parts if isinstance(part, Data)]
    return "\n".join(msgspec.json.encode(value).decode() for value in data)
