"""What a model sees of a caller's message.

Text alone stays a plain string, which every graph can read. Data becomes JSON text; files become LangChain's content
blocks, which models that take files understand. Nothing is ever merged into the graph's state by itself, and nothing
that the caller sent is dropped in silence.
"""

import base64
from typing import Any

import msgspec

from llamon_agent.domain.message import Data, Message, Part, Raw, Text, Url

Block = dict[str, Any]

_KINDS = frozenset({"image", "audio", "video"})


def content_of(message: Message, prompt: str) -> str | list[str | Block]:
    """The content of the human message that a caller's message becomes.

    Shape: prompt is the message's text already joined; a string where every part is text or data, else a list of blocks
           in the order of the parts.
    """
    if all(isinstance(part, Text) for part in message.parts):
        return prompt
    blocks: list[str | Block] = [_block(part) for part in message.parts]
    if all(isinstance(part, Text | Data) for part in message.parts):
        return "\n".join(block["text"] for block in blocks if isinstance(block, dict))
    return blocks


def _block(part: Part) -> Block:
    match part:
        case Text(text=text):
            return {"type": "text", "text": text}
        case Data(data=data):
            return {"type": "text", "text": msgspec.json.encode(data).decode()}
        case Raw(data=data):
            return _file(part, "base64", base64.b64encode(data).decode())
        case Url(url=url):
            return _file(part, "url", url)


def _file(part: Raw | Url, key: str, value: str) -> Block:
    """A file block by its media type. Source: langchain_core.messages.content (ImageContentBlock and its like)."""
    media_type = part.media_type or "application/octet-stream"
    kind = media_type.partition("/")[0]
    block: Block = {"type": kind if kind in _KINDS else "file", key: value, "mime_type": media_type}
    if part.filename is not None:
        block["extras"] = {"filename": part.filename}
    return block
