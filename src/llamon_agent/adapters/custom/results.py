"""What a custom agent returns or yields, as run events.

A chunk or a result may be:
- text: a string; an object with a `content` (LangChain messages), which is text or content blocks, of which only those
  of text count, so that reasoning stays inside; a mapping with `content`, `output`, or `messages`, of which the last
  one counts;
- an event: a run event of the domain, or a mapping with the one key `delta`, `progress`, `artifact`, `interrupt`,
  `auth`, `reply` or `reject`; `adapters/artifacts.py` has the form of artifacts and of replies that are not text;
- None, which is ignored; any other value is data, and becomes an artifact.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from llamon_agent.adapters.artifacts import read_artifact, read_reply
from llamon_agent.domain.errors import AgentError
from llamon_agent.domain.events import (
    AgentEvent,
    ArtifactMade,
    Complete,
    Delta,
    Interrupt,
    Progress,
    Rejected,
    Reply,
    Started,
)
from llamon_agent.domain.message import Data, Text, sound
from llamon_agent.domain.plain import checked, json_of
from llamon_agent.domain.task import Artifact
from llamon_agent.runs.ports.run import NewId


class Chunk(msgspec.Struct, frozen=True):
    """One of the values that an agent yields."""

    value: Any


class Result(msgspec.Struct, frozen=True):
    """The one value that an agent returns."""

    value: Any


Output = Chunk | Result


def event_of(output: Output, *, new_id: NewId) -> AgentEvent | None:
    """The event of an output; None if it has none.

    Shape:  new_id names an artifact or a question; most outputs need no id.
    Raises: AgentError: the value is not JSON and has no other known form, or an artifact is not valid.
    """
    value = output.value
    if value is None or isinstance(value, Started):  # we have said that the turn has started
        return None
    if isinstance(value, AgentEvent):
        return _checked_event(value)
    if (event := _event_of_mapping(value, new_id)) is not None:
        return event
    if (text := _text_of(value)) is not None:
        return _text_event(text, whole=isinstance(output, Result))
    return ArtifactMade(artifact=Artifact(artifact_id=new_id(), parts=(Data(data=json_of(value)),)))


def _checked_event(event: AgentEvent) -> AgentEvent:
    """An event that the agent's own code has made. Its texts are cleaned where they become the task's.

    Raises: AgentError: it holds a value that cannot be sent.
    """
    match event:
        case Delta(text=str()) | Progress(text=str()) | Complete(text=str() | None) | Rejected(public=str()):
            return event
        case ArtifactMade():
            return checked(event, "an artifact")
        case Reply():
            return checked(event, "a reply")
        case Interrupt(text=str(text)):
            return checked(msgspec.structs.replace(event, text=sound(text)), "a question")
    raise AgentError("The agent made an event without a text.")


def _text_event(text: str, *, whole: bool) -> AgentEvent | None:
    if whole:
        return Complete(text=text)
    return Delta(text=text) if text else None  # models stream empty chunks around tool calls and reasoning


def _event_of_mapping(value: object, new_id: NewId) -> AgentEvent | None:
    match value:
        case {"delta": str(text), **rest} if not rest:
            return Delta(text=text)
        case {"progress": str(text), **rest} if not rest:
            return Progress(text=text)
        case {"interrupt": asked, **rest} if not rest:
            return Interrupt.of(json_of(asked), new_id())
        case {"auth": asked, **rest} if not rest:
            return Interrupt.of(json_of(asked), new_id(), auth=True)
        case {"artifact": made, **rest} if not rest:
            return read_artifact(made, new_id=new_id())
        case {"reply": reply, **rest} if not rest:
            return _reply_of(reply)
        case {"reject": str(reason), **rest} if not rest:
            return Rejected(public=reason)
    return None


def _reply_of(value: object) -> Reply:
    text = _text_of(value)
    return read_reply(value) if text is None else Reply(parts=(Text.of(sound(text)),))


def _text_of(value: object) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return _text_of_mapping(value)
    return _text_of_content(getattr(value, "content", None))


def _text_of_mapping(value: Mapping[object, object]) -> str | None:
    match value:
        case {"messages": [*_, last]}:
            return _text_of(last)
        case {"output": inner}:
            return _text_of(inner)
        case {"content": content}:
            return _text_of_content(content)
    return None


def _text_of_content(content: object) -> str | None:
    if isinstance(content, str):
        return content
    if isinstance(content, list | tuple) and all(map(_is_block, content)):
        return "".join(map(_text_of_block, content))
    return None


def _is_block(block: object) -> bool:
    return isinstance(block, str) or (isinstance(block, Mapping) and "type" in block)


def _text_of_block(block: object) -> str:
    match block:
        case str(text) | {"type": "text", "text": str(text)}:
            return text
    return ""
