"""One call as it is heard: the events of its streams become text, told once, and an answer. Pure.

Rules. An artifact's event is a piece of it or the whole of it; only what is new becomes a delta. Where the remote agent
takes back what it said, the delta restarts the text. What the task had said before this call is not said again. Words
that a task ends with are its answer where it gave no other. What is said of another task is not heard.
"""

from collections.abc import Iterator, Sequence

import msgspec
from a2a.types import a2a_pb2 as pb

from llamon_agent.domain.events import WITHDRAWN, Delta, Progress, SeedOutcome
from llamon_agent.domain.message import Part, Text, texts
from llamon_agent.domain.task import PAUSED, TERMINAL, Artifact, TaskState
from llamon_agent.outbound.replies import Answer, Begun
from llamon_agent.outbound.wire import artifact_in, parts_in, questions_in, seed_outcome_in, state_in

_REPLY = "reply"
"""The artifact that we make of an answer that is given as a message: without a task, or with its end."""

_BETWEEN = "\n\n"
"""What separates the texts of two artifacts."""


class Hearing:
    """What was heard of a call, through as many streams as it takes.

    Shape: before are the artifacts that the task had when the message was sent.
    """

    def __init__(self, before: Sequence[Artifact] = ()) -> None:
        self.task_id: str | None = None
        self.context_id: str | None = None
        self.history: SeedOutcome | None = None
        self._state = TaskState.SUBMITTED
        self._message = pb.Message()
        self._before = {artifact.artifact_id: _text(artifact.parts) for artifact in before}
        self._made = {artifact.artifact_id: _Made(artifact) for artifact in before}
        self._said: list[str] = []
        self._speaking: str | None = None  # the artifact that the last words belong to

    @property
    def is_settled(self) -> bool:
        """Nothing more comes of it until somebody acts."""
        return self._state in TERMINAL or self._state in PAUSED

    def hear(self, event: pb.StreamResponse) -> Iterator[Begun | Progress | Delta]:
        """What is new in an event."""
        if self._is_of_another(event):
            return
        match event.WhichOneof("payload"):
            case "task":
                yield from self.see(event.task)
            case "message":
                self._state, self.context_id = TaskState.COMPLETED, event.message.context_id or None
                yield from self._update(Artifact(artifact_id=_REPLY, parts=parts_in(event.message.parts)), append=False)
            case "status_update":
                yield from self._begun(event.status_update.task_id, event.status_update.context_id)
                yield from self._status(event.status_update.status)
            case "artifact_update":
                yield from self._begun(event.artifact_update.task_id, event.artifact_update.context_id)
                yield from self._update(artifact_in(event.artifact_update.artifact), event.artifact_update.append)

    def see(self, task: pb.Task) -> Iterator[Begun | Progress | Delta]:
        """What is new in the whole task."""
        yield from self._begun(task.id, task.context_id)
        self.history = seed_outcome_in(task) or self.history
        for artifact in map(artifact_in, task.artifacts):
            self._made[artifact.artifact_id] = _Made(artifact)
        yield from self._tell()
        yield from self._status(task.status)

    def answer(self) -> Answer:
        """What it came to, once it is settled."""
        return Answer(
            text="".join(self._said),
            state=self._state,
            artifacts=tuple(made.whole() for made in self._made.values()),
            questions=questions_in(self._message) if self._state in PAUSED else (),
            question="\n".join(texts(parts_in(self._message.parts))),
            task_id=self.task_id,
            context_id=self.context_id,
            history=self.history,
        )

    def _begun(self, task_id: str, context_id: str) -> Iterator[Begun]:
        if self.task_id is None and task_id:
            self.task_id, self.context_id = task_id, context_id or None
            yield Begun(task_id=task_id, context_id=context_id)

    def _is_of_another(self, event: pb.StreamResponse) -> bool:
        """Whether it is about another task than the one that began."""
        told = (event.task.id, event.status_update.task_id, event.artifact_update.task_id)
        return self.task_id is not None and any(task_id not in ("", self.task_id) for task_id in told)

    def _status(self, status: pb.TaskStatus) -> Iterator[Progress | Delta]:
        self._state, self._message = state_in(status.state), status.message
        parts = parts_in(status.message.parts)
        words = "\n".join(texts(parts))
        if self._state is TaskState.WORKING and words:
            yield Progress(text=words)
        if self._state is TaskState.COMPLETED and status.message.parts and not any(self._said):
            yield from self._update(Artifact(artifact_id=_REPLY, parts=parts), append=False)

    def _update(self, update: Artifact, append: bool) -> Iterator[Delta]:
        """An artifact grew, is this now, or is none any more."""
        if (update.metadata or {}).get(WITHDRAWN) is True:
            self._made.pop(update.artifact_id, None)
            yield from self._tell()
            return
        made = self._made.get(update.artifact_id)
        if made is None or not append:
            self._made[update.artifact_id] = _Made(update)
            yield from self._tell()
            return
        made.parts += update.parts
        if self._speaking != update.artifact_id:
            yield from self._tell()
        elif words := _text(update.parts):
            self._said.append(words)
            yield Delta(text=words)

    def _tell(self) -> Iterator[Delta]:
        """What is new in all of the text."""
        new = {name: words for name, made in self._made.items() if (words := self._new_text(name, made))}
        self._speaking = list(new)[-1] if new else None
        whole, said = _BETWEEN.join(new.values()), "".join(self._said)
        if whole == said:
            return
        if whole.startswith(said):
            self._said.append(whole.removeprefix(said))
            yield Delta(text=self._said[-1])
        else:
            self._said = [whole]
            yield Delta(text=whole, restart=True)

    def _new_text(self, name: str, made: "_Made") -> str:
        return _text(made.parts).removeprefix(self._before.get(name, ""))


class _Made:
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


def _is_plain(part: Part) -> bool:
    """Text and nothing else about it."""
    return isinstance(part, Text) and part == Text.of(part.text)


def _text(parts: Sequence[Part]) -> str:
    return "".join(texts(parts))
