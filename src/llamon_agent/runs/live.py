"""A task that something is happening to: its record, the answer that grows, and the readers that follow.

`task` is what the store has, plus the notes that need no record (progress, whole artifacts, the seed's outcome); the
answer lives beside it and is folded in when somebody asks for a snapshot. Everything here is synchronous: no event is
half heard.
"""

import asyncio
from collections.abc import Sequence

import msgspec

from llamon_agent.domain.errors import BackendError
from llamon_agent.domain.events import (
    AgentEvent,
    ArtifactMade,
    ArtifactUpdate,
    Delta,
    Progress,
    Started,
    StatusUpdate,
    Update,
)
from llamon_agent.domain.message import Metadata, Text, sound
from llamon_agent.domain.task import Artifact, Task, TaskState, TaskStatus
from llamon_agent.runs.answer import Answer, Piece
from llamon_agent.runs.broadcast import Broadcast
from llamon_agent.runs.decisions import agent_message
from llamon_agent.runs.ports import Clock, NewId

_FLUSH_AFTER_S = 0.05
"""How long a piece of text is held back at most; no reader notices it."""

_INCOMPLETE = {"incomplete": True}
"""The metadata of an answer that ended in the middle."""


class LiveTask:
    """One task in this process. The run service owns it and is the only one who changes it."""

    def __init__(self, task: Task, *, window_bytes: int, clock: Clock, new_id: NewId) -> None:
        self.task = task
        self.saved_seq = task.seq
        self.lost: BackendError | None = None
        self.writing = asyncio.Lock()
        self.broadcast = Broadcast(task.seq, window_bytes=window_bytes)
        self._answer = Answer("")
        self._place: int | None = None  # where the answer stands among the artifacts, once any of it was told
        self._flush: asyncio.TimerHandle | None = None
        self._clock = clock
        self._new_id = new_id

    def open_answer(self) -> None:
        """A run begins: its text is an artifact of its own, beside those of the runs before it."""
        taken = {artifact.artifact_id for artifact in self.task.artifacts}
        number = len(taken) + 1
        while f"answer-{number}" in taken:
            number += 1
        self._answer = Answer(f"answer-{number}")
        self._place = None

    def snapshot(self) -> Task:
        """The task as its readers know it this moment: the answer as far as it was told, as one part."""
        text = self._answer.told
        artifacts = self._with_answer(self._artifact(text)) if text else self.task.artifacts
        return msgspec.structs.replace(self.task, seq=self.broadcast.seq, artifacts=artifacts)

    def hear(self, event: AgentEvent) -> None:
        """Take one event of the run, other than the one that ends it, and tell the readers."""
        if type(event) is Delta:
            self._tell(self._answer.add(sound(event.text), restart=event.restart))
            if self._answer.holds and self._flush is None:
                self._flush = asyncio.get_running_loop().call_later(_FLUSH_AFTER_S, self._flush_now)
            return
        self._flush_now()
        match event:
            case Progress(text=text):
                self._note(text)
            case ArtifactMade(artifact=artifact):
                self._put(artifact)
            case Started(history=outcome) if outcome is not None:
                metadata = {**(self.task.metadata or {}), "history": msgspec.structs.asdict(outcome)}
                self.task = msgspec.structs.replace(self.task, metadata=metadata)
            case _:
                pass

    def closing(self, final: str | None, *, complete: bool) -> tuple[Task, list[Update]]:
        """The task with its whole answer, and what is then still to be told of it. Nothing is true before `recorded`.

        Shape: final is the whole answer where the agent gave it; not complete marks the artifact as cut off.
        """
        self._cancel_flush()
        final = self._answer.text if final is None else sound(final)
        piece = self._answer.closing(final)
        if piece is None:
            return self.task, []
        whole = self._artifact(final, metadata=None if complete else _INCOMPLETE)
        task = msgspec.structs.replace(self.task, artifacts=self._with_answer(whole))
        return task, [self._update(piece, self._answer.artifact_id, whole)]

    def recorded(self, task: Task, updates: Sequence[Update]) -> None:
        """The store has `task`: now it is true, and the readers hear how it came to be."""
        self.task = task
        self.saved_seq = task.seq
        if task.is_settled:
            self._answer = Answer("")
        for update in updates:
            self.broadcast.publish(update)

    def catch_up(self) -> list[Update]:
        """What a reader needs that fell out of the window: every artifact whole, and the status."""
        now = self.snapshot()
        growing = self._answer.artifact_id
        updates: list[Update] = [
            ArtifactUpdate(
                seq=now.seq,
                artifact_id=artifact.artifact_id,
                parts=artifact.parts,
                append=False,
                last=artifact.artifact_id != growing,
                whole=artifact,
            )
            for artifact in now.artifacts
        ]
        return [*updates, StatusUpdate(seq=now.seq, status=now.status)]

    def _with_answer(self, answer: Artifact) -> tuple[Artifact, ...]:
        """The artifacts in the order in which readers heard of them."""
        made = self.task.artifacts
        place = len(made) if self._place is None else self._place
        return (*made[:place], answer, *made[place:])

    def _artifact(self, text: str, *, metadata: Metadata | None = None) -> Artifact:
        return Artifact(artifact_id=self._answer.artifact_id, parts=(Text.of(text),), metadata=metadata)

    def _flush_now(self) -> None:
        self._cancel_flush()
        self._tell(self._answer.flush())

    def _cancel_flush(self) -> None:
        if self._flush is not None:
            self._flush.cancel()
            self._flush = None

    def _tell(self, piece: Piece | None) -> None:
        if piece is not None:
            self._place = len(self.task.artifacts) if self._place is None else self._place
            self.broadcast.publish(self._update(piece, self._answer.artifact_id, None))

    def _update(self, piece: Piece, artifact_id: str, whole: Artifact | None) -> ArtifactUpdate:
        return ArtifactUpdate(
            seq=self.broadcast.seq + 1,
            artifact_id=artifact_id,
            parts=(Text.of(piece.text),),
            append=piece.append,
            last=piece.last,
            whole=whole,
        )

    def _put(self, artifact: Artifact) -> None:
        """Keep a whole artifact; one of the same id is replaced in its place."""
        kept = {made.artifact_id: made for made in self.task.artifacts}
        kept[artifact.artifact_id] = artifact
        self.task = msgspec.structs.replace(self.task, artifacts=tuple(kept.values()))
        self.broadcast.publish(
            ArtifactUpdate(
                seq=self.broadcast.seq + 1,
                artifact_id=artifact.artifact_id,
                parts=artifact.parts,
                append=False,
                last=True,
                whole=artifact,
            )
        )

    def _note(self, text: str) -> None:
        message = agent_message(self.task, text, self._new_id)
        status = TaskStatus(state=TaskState.WORKING, at_ms=self._clock(), message=message)
        self.task = msgspec.structs.replace(self.task, status=status)
        self.broadcast.publish(StatusUpdate(seq=self.broadcast.seq + 1, status=status))
