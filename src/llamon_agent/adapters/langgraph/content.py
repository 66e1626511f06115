"""What a model sees of a caller's message, and which files a model's message holds for the caller.

Towards the model: text alone stays a plain string, which every graph can read. Data becomes JSON text, and so does a
file of text become text, as not every provider's adapter takes files of it. Other files become LangChain's content
blocks, which models that take files understand. Nothing is ever merged into the graph's state by itself, and nothing
that the caller sent is dropped in silence.

Towards the caller: images, audio, video and files are artifacts, each of its own. Thoughts, tool calls and whatever
else a block may be stay inside.
"""

import base64
import binascii
import logging
from contextlib import suppress
from mimetypes import MimeTypes
from typing import Any

import msgspec
from langchain_core.messages import BaseMessage

from llamon_agent.domain.message import TEXT, Data, Message, Part, Raw, Text, Url, media_type_of

Block = dict[str, Any]

_KINDS = frozenset({"image", "audio", "video"})
_FILES = frozenset({*_KINDS, "file", "text-plain"})
_TEXTS = ("json", "xml", "yaml")

_NAMES = MimeTypes()

_log = logging.getLogger(__name__)


def content_of(message: Message, prompt: str) -> str | list[str | Block]:
    """The content of the human message that a caller's message becomes.

    Shape: prompt is the message's text already joined; a string where every part is or becomes text, else a list of
           blocks in the order of the parts.
    """
    if all(isinstance(part, Text) for part in message.parts):
        return prompt
    blocks = [_block(part) for part in message.parts]
    if all(block["type"] == "text" for block in blocks):
        return "\n".join(block["text"] for block in blocks)
    return list(blocks)


def files_in(message: BaseMessage) -> list[Raw | Url]:
    """The files that a message holds, in order.

    Shape: also those in the shapes of providers that LangChain knows. A file that only its provider has (by `file_id`),
           or that cannot be read, is left out with a warning.
    """
    if isinstance(message.content, str):
        return []
    blocks: list[Any] = list(message.content_blocks)
    found = [_file_in(block) for block in blocks if block["type"] in _FILES]
    return [file for file in found if file is not None]


def _block(part: Part) -> Block:
    match part:
        case Text(text=text):
            return {"type": "text", "text": text}
        case Data(data=data):
            return {"type": "text", "text": msgspec.json.encode(data).decode()}
        case Raw(data=data):
            decoded = _text_in(part)
            return _file(part, "base64", base64.b64encode(data).decode()) if decoded is None else _named(part, decoded)
        case Url(url=url):
            return _file(part, "url", url)


def _text_in(file: Raw) -> str | None:
    """The text of a file that says it is text and is, in UTF-8."""
    kind, _, subtype = media_type_of(file).partition("/")
    if kind != "text" and subtype.rpartition("+")[2] not in _TEXTS:
        return None
    try:
        return file.data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _named(file: Raw, text: str) -> Block:
    return {"type": "text", "text": text if file.filename is None else f"{file.filename}:\n{text}"}


def _file(part: Raw | Url, key: str, value: str) -> Block:
    """A file block by its media type. Source: langchain_core.messages.content (ImageContentBlock and its like).

    A file by its bytes always has a name, as providers ask for one.
    """
    media_type = media_type_of(part)
    kind = media_type.partition("/")[0]
    kind = kind if kind in _KINDS else "file"
    block: Block = {"type": kind, key: value, "mime_type": media_type}
    name = part.filename or (_default_name(media_type) if (kind, key) == ("file", "base64") else None)
    if name is not None:
        block["extras"] = {"filename": name}
    return block


def _default_name(media_type: str) -> str:
    return "file" + (_NAMES.guess_extension(media_type) or "")


def _file_in(block: Block) -> Raw | Url | None:
    media_type, filename = _str(block.get("mime_type")), _filename_of(block)
    match block:
        case {"base64": str(encoded)}:
            with suppress(ValueError):
                data = binascii.a2b_base64("".join(encoded.split()), strict_mode=True)
                return Raw(data=data, media_type=media_type, filename=filename)
        case {"url": str(url)}:
            return Url(url=url, media_type=media_type, filename=filename)
        case {"type": "text-plain", "text": str(text)}:
            return Raw(data=text.encode("utf-8", "replace"), media_type=media_type or TEXT, filename=filename)
    _log.warning("an answer holds a %s that cannot be read here; the caller is not given it", block["type"])
    return None


def _filename_of(block: Block) -> str | None:
    extras = block.get("extras")
    places = (extras.get("filename") if isinstance(extras, dict) else None, block.get("filename"), block.get("title"))
    return next((name for place in places if (name := _str(place))), None)


def _str(value: object) -> str | None:
    return value if isinstance(value, str) else None
