"""One task, built up from its events, through as many streams as it takes. Pure: events in, what is new in them out.

Rules. An artifact's event is a piece of it or the whole of it, and only what is new comes out, as deltas: `AnswerText`
makes them for programs. What the task had before this call is not repeated. A message that a task ends with is its
answer if there was no other. Events of another task are ignored.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import msgspec

from llamon_agent.client.answers import Answer, Begun, questions_of
from llamon_agent.domain.events import ArtifactUpdate, Delta, Progress, SeedOutcome, Snapshot, StatusUpdate
from llamon_agent.domain.message import Message, Part, Text, texts
from llamon_agent.domain.task import PAUSED, TERMINAL, Artifact, Task, TaskState, TaskStatus
from llamon_agent.wire.replies import TaskEvent

_REPLY = "reply"
"""The artifact that we make of an answer that is given as a message: without a task, or with its end."""


_BETWEEN = "\n\n"
"""What separates the texts of two artifacts."""


class Growing:
    """An artifact as it grows."""

    def __init__(self, artifact: Artifact) -> None:
        self._artifact = artifact
        self.parts = list(artifact.parts)

    def whole(self) -> Artifact:
        """The artifact with its chunks of text joined."""
        joined: list[Part] = []
        for part in self.parts:
            if joined and _is_plain(part) and _is_plain(joined[-1]):
                joined[-1] = Text.of(_text((joined[-1], part)))
            else:
                joined.append(part)
        return msgspec.structs.replace(self._artifact, parts=tuple(joined))


class TaskText(Protocol):
    """Makes deltas of what is new in a task's text."""

    @property
    def is_empty(self) -> bool:
        """Whether there has been no text yet."""

    def grew(self, artifact_id: str, parts: Sequence[Part], artifacts: Mapping[str, Growing]) -> Iterator[Delta]:
        """These parts came to an artifact."""

    def changed(self, artifacts: Mapping[str, Growing]) -> Iterator[Progress | Delta]:
        """The artifacts are these now."""


class AnswerText:
    """The text of all artifacts, a paragraph for each. Joined, the deltas are the text; one that restarts it comes
    where the agent takes back what it had said.

    Shape: before are the artifacts that the task had when the message was sent.
    """

    def __init__(self, before: Sequence[Artifact] = ()) -> None:
        self._before = {artifact.artifact_id: _text(artifact.parts) for artifact in before}
        self._text: list[str] = []
        self._last: str | None = None  # the artifact that the last words belong to

    def __str__(self) -> str:
        return "".join(self._text)

    @property
    def is_empty(self) -> bool:
        return not any(self._text)

    def grew(self, artifact_id: str, parts: Sequence[Part], artifacts: Mapping[str, Growing]) -> Iterator[Delta]:
        """A piece of the last artifact follows the text; one of another may change its middle."""
        if self._last != artifact_id:
            yield from self.changed(artifacts)
        elif words := _text(parts):
            self._text.append(words)
            yield Delta(text=words)

    def changed(self, artifacts: Mapping[str, Growing]) -> Iterator[Delta]:
        """What is new in all of the text."""
        new = {name: words for name, made in artifacts.items() if (words := self._new_text(name, made))}
        self._last = list(new)[-1] if new else None
        whole, known = _BETWEEN.join(new.values()), str(self)
        if whole == known:
            return
        if whole.startswith(known):
            self._text.append(whole.removeprefix(known))
            yield Delta(text=self._text[-1])
        else:
            self._text = [whole]
            yield Delta(text=whole, restart=True)

    def _new_text(self, name: str, made: Growing) -> str:
        return _text(made.parts).removeprefix(self._before.get(name, ""))


class TaskView:
    """What is known of a task. Shape: before are the artifacts that it had when the message was sent."""

    def __init__(self, text: TaskText, before: Sequence[Artifact] = ()) -> None:
        self.task_id: str | None = None
        self.context_id: str | None = None
        self.status: TaskStatus | None = None
        self.history: SeedOutcome | None = None
        self.is_reply = False
        """The agent answered with a message, and made no task."""
        self.text = text
        self._made = {artifact.artifact_id: Growing(artifact) for artifact in before}

    @property
    def state(self) -> TaskState | None:
        return self.status.state if self.status else None

    @property
    def is_over(self) -> bool:
        """Nothing more will come of it, and its id is of no further use."""
        return self.is_reply or self.state in TERMINAL

    @property
    def is_settled(self) -> bool:
        """Nothing more happens to it until a caller acts."""
        return self.is_over or self.state in PAUSED

    def apply(self, update: TaskEvent) -> Iterator[Begun | Progress | Delta]:
        """What is new in an event."""
        event = update.event
        if isinstance(event, Message):
            self.is_reply, self.context_id = True, event.context_id or self.context_id
            yield from self._replace(Artifact(artifact_id=_REPLY, parts=event.parts))
            return
        if update.task_id and self.task_id is not None and update.task_id != self.task_id:
            return
        if self.task_id is None and update.task_id:
            self.task_id, self.context_id = update.task_id, update.context_id
            yield Begun(task_id=update.task_id, context_id=update.context_id or "")
        match event:
            case Snapshot(task=task):
                yield from self._snapshot(task)
            case StatusUpdate(status=status):
                yield from self._status(status)
            case ArtifactUpdate():
                yield from self._update(event)

    def answer(self, text: str) -> Answer:
        """What it came to, once it is settled."""
        state = TaskState.COMPLETED if self.is_reply else self.state or TaskState.SUBMITTED
        message = self.status.message if self.status else None
        return Answer(
            text=text,
            state=state,
            artifacts=tuple(made.whole() for made in self._made.values()),
            questions=questions_of(message) if state in PAUSED else (),
            question="\n".join(texts(message.parts)) if message else "",
            task_id=self.task_id,
            context_id=self.context_id,
            history=self.history,
        )

    def _snapshot(self, task: Task) -> Iterator[Progress | Delta]:
        self.history = _seed_outcome(task) or self.history
        self._made.update({artifact.artifact_id: Growing(artifact) for artifact in task.artifacts})
        yield from self.text.changed(self._made)
        yield from self._status(task.status)

    def _status(self, status: TaskStatus) -> Iterator[Progress | Delta]:
        self.status = status
        parts = status.message.parts if status.message else ()
        words = "\n".join(texts(parts))
        if status.state is TaskState.WORKING and words:
            yield Progress(text=words)
        if status.state is TaskState.COMPLETED and parts and self.text.is_empty:
            yield from self._replace(Artifact(artifact_id=_REPLY, parts=parts))

    def _update(self, update: ArtifactUpdate) -> Iterator[Progress | Delta]:
        """An artifact grew, is this now, or is none any more."""
        if update.withdrawn:
            self._made.pop(update.artifact_id, None)
            yield from self.text.changed(self._made)
            return
        made = self._made.get(update.artifact_id)
        if made is None or not update.append:
            yield from self._replace(update.sent)
            return
        made.parts += update.parts
        yield from self.text.grew(update.artifact_id, update.parts, self._made)

    def _replace(self, artifact: Artifact) -> Iterator[Progress | Delta]:
        self._made[artifact.artifact_id] = Growing(artifact)
        yield from self.text.changed(self._made)


def _seed_outcome(task: Task) -> SeedOutcome | None:
    """What became of the history that was sent; an agent that is not ours does not say."""
    try:
        return msgspec.convert((task.metadata or {}).get("history"), SeedOutcome)
    except msgspec.ValidationError:
        return None


def _is_plain(part: Part) -> bool:
    """Text and nothing else about it."""
    return isinstance(part, Text) and part == Text.of(part.text)


def _text(parts: Sequence[Part]) -> str:
    return "".join(texts(parts))
