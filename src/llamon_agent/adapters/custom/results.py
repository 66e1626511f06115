"""What a custom agent gives back, as run events.

The vocabulary of a chunk or a result:
- text: a string; anything with a `content` (LangChain messages), as text or as content blocks, of which only those of
  text count, so that thoughts stay inside; a mapping with `content`, `output`, or `messages`, whose last one counts;
- an event: a run event of the domain, or a mapping with the one key `delta`, `progress`, `artifact`, `interrupt`,
  `auth`, `reply` or `reject`; the words of artifacts and of replies that are no text are in `adapters/artifacts.py`;
- None says nothing; any other value is data, and becomes an artifact.
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
    """One of the values of an agent that streams."""

    value: Any


class Result(msgspec.Struct, frozen=True):
    """The one value of an agent that returns."""

    value: Any


Output = Chunk | Result


def event_of(output: Output, *, new_id: NewId) -> AgentEvent | None:
    """What an output says; None if nothing.

    Shape:  new_id names the artifact or the question that may come of it; most outputs need none.
    Raises: AgentError: a value that is not JSON and no other thing we know, or an artifact that is not valid.
    """
    value = output.value
    if value is None or isinstance(value, Started):  # that a turn has started is not the agent's to say
        return None
    if isinstance(value, AgentEvent):
        return _checked_event(value)
    if (event := _event_of_mapping(value, new_id)) is not None:
        return event
    if (text := _text_of(value)) is not None:
        return _said(text, whole=isinstance(output, Result))
    return ArtifactMade(artifact=Artifact(artifact_id=new_id(), parts=(Data(data=json_of(value)),)))


def _checked_event(event: AgentEvent) -> AgentEvent:
    """An event that the agent's own code has made. Texts are made plain where they become the task's.

    Raises: AgentError: it holds what cannot be sent.
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


def _said(text: str, *, whole: bool) -> AgentEvent | None:
    if whole:
        return Complete(text=text)
    return Delta(text=text) if text else None  # models stream empty chunks around tool calls and thoughts


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
        case {"reply": said, **rest} if not rest:
            return _reply_of(said)
        case {"reject": str(reason), **rest} if not rest:
            return Rejected(public=reason)
    return None


def _reply_of(said: object) -> Reply:
    text = _text_of(said)
    return read_reply(said) if text is None else Reply(parts=(Text.of(sound(text)),))


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
