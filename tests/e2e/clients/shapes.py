"""What clients say and are told, in one shape. Their programs speak JSON of 0.x or of 1.0, whichever their SDK has as
its own; `wire_03.py` and `wire_10.py` go between.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec

Json = dict[str, Any]


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of content. `value` is a text, the bytes, a URL, or any JSON, as `kind` says."""

    kind: Literal["text", "bytes", "url", "data"]
    value: Any
    media_type: str = ""
    filename: str = ""


class Artifact(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    name: str
    description: str
    parts: tuple[Part, ...]


class Message(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    role: str
    context: str
    task: str
    parts: tuple[Part, ...]


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """A task; `said` is its status message."""

    id: str
    context: str
    state: str
    said: tuple[Part, ...]
    artifacts: tuple[Artifact, ...]
    history: tuple[Message, ...]
    metadata: Json


class StatusEvent(msgspec.Struct, frozen=True, kw_only=True):
    """`final` is None where the version has no such thing."""

    task: str
    state: str
    said: tuple[Part, ...]
    final: bool | None


class ArtifactEvent(msgspec.Struct, frozen=True, kw_only=True):
    task: str
    artifact: Artifact
    append: bool
    last: bool


Event = Task | Message | StatusEvent | ArtifactEvent


class Page(msgspec.Struct, frozen=True, kw_only=True):
    tasks: tuple[Task, ...]
    next_token: str
    total: int


class Hook(msgspec.Struct, frozen=True, kw_only=True):
    """A push notification configuration."""

    id: str
    task: str
    url: str
    token: str


class Sending(msgspec.Struct, frozen=True, kw_only=True):
    """A message to send, and how."""

    parts: tuple[Part, ...]
    message_id: str
    context: str = ""
    task: str = ""
    metadata: Mapping[str, Any] | None = None
    call_metadata: Mapping[str, Any] | None = None
    waits: bool = True
    hook: Hook | None = None


class Wire(Protocol):
    """The JSON of one version."""

    def send(self, sending: Sending) -> Json: ...

    def hook(self, hook: Hook) -> Json: ...

    def hook_named(self, task: str, hook_id: str) -> Json: ...

    def hooks_of(self, task: str) -> Json: ...

    def turn(self, role: str, text: str, message_id: str) -> Json:
        """A turn of a host's history."""
        ...

    def event_in(self, said: Json) -> Event: ...

    def task_in(self, said: Json) -> Task: ...

    def hook_in(self, said: Json) -> Hook: ...


def text_of(parts: tuple[Part, ...]) -> str:
    return "".join(part.value for part in parts if part.kind == "text")


def answer_of(task: Task) -> str:
    """The text of all its artifacts."""
    return "".join(text_of(artifact.parts) for artifact in task.artifacts)


def coalesced(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Parts with texts that stand side by side as one, as a host shows them."""
    merged: list[Part] = []
    for part in parts:
        if merged and part.kind == merged[-1].kind == "text":
            merged[-1] = msgspec.structs.replace(merged[-1], value=merged[-1].value + part.value)
        else:
            merged.append(part)
    return tuple(merged)


def rebuilt(events: Sequence[Event]) -> Task:
    """The task as a host keeps it that follows the stream.

    Source: A2A 1.0 §4.2.2 (`append`: behind what the artifact with that id has, else in its place).
    """
    task, *rest = events
    assert isinstance(task, Task), task
    for event in rest:
        assert isinstance(event, StatusEvent | ArtifactEvent), f"only updates may follow the task: {event}"
        if isinstance(event, StatusEvent):
            task = msgspec.structs.replace(task, state=event.state, said=event.said)
        else:
            task = msgspec.structs.replace(task, artifacts=grown(task.artifacts, event))
    return task


def ending(events: Iterable[Event]) -> StatusEvent:
    """The last event, which must have a state."""
    *_, last = events
    assert isinstance(last, StatusEvent), last
    return last


def grown(artifacts: tuple[Artifact, ...], event: ArtifactEvent) -> tuple[Artifact, ...]:
    told = event.artifact
    before = next((each for each in artifacts if each.id == told.id), None)
    if before is None:
        return (*artifacts, told)
    parts = coalesced((*before.parts, *told.parts)) if event.append else told.parts
    grown = msgspec.structs.replace(before, parts=parts)
    return tuple(grown if each is before else each for each in artifacts)
