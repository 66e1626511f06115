"""A task that this process works on: its record, its growing answer, and its event log.

`task` is what the store has, plus what needs no record (progress, whole artifacts, the outcome of seeding). The answer
is kept apart and joins the task in a snapshot. Everything here is synchronous, so no event is applied in part.

The answer is sent as append chunks of one artifact, each as soon as the agent has given it. Only the end of the run
shows which one was the last, so most answers have no `lastChunk`: the status that ends the run closes the artifact. The
pieces that were sent, joined as `append` says, are always `sent`, and at the end they are the text.
"""

import asyncio
import logging
from collections.abc import Sequence

import msgspec

from llamon_agent.domain.errors import AgentError, LlamonError
from llamon_agent.domain.events import (
    WITHDRAWN,
    AgentEvent,
    ArtifactMade,
    ArtifactUpdate,
    Complete,
    Delta,
    Interrupt,
    Outcome,
    Progress,
    Reply,
    Started,
    StatusUpdate,
    Update,
)
from llamon_agent.domain.message import Message, Metadata, Text, sound, without_half
from llamon_agent.domain.plain import is_plain
from llamon_agent.domain.task import Artifact, Task, TaskState, TaskStatus, answer_text, extended
from llamon_agent.runs.decisions import agent_message, direct_message
from llamon_agent.runs.event_log import EventLog
from llamon_agent.runs.ports.run import Clock, NewId
from llamon_agent.runs.recovery import INCOMPLETE

logger = logging.getLogger(__name__)


class Piece(msgspec.Struct, frozen=True):
    """What to send next: `append` adds it to what was sent, else it replaces that; `last` closes the artifact."""

    text: str
    append: bool
    last: bool


class AnswerBuffer:
    """The growing text of one artifact. Plain state.

    Models and programs cut text anywhere, so a character's two surrogates may come in two pieces: the first half waits
    for the second one.
    """

    __slots__ = ("_append", "_half", "_sent", "artifact_id")

    def __init__(self, artifact_id: str, sent: str = "") -> None:
        self.artifact_id = artifact_id
        self._sent = [sent] if sent else []
        self._half = ""
        self._append = bool(sent)  # whether the next piece is added to what was sent

    @property
    def sent(self) -> str:
        """The text that the readers have."""
        if len(self._sent) > 1:
            self._sent = ["".join(self._sent)]
        return self._sent[0] if self._sent else ""

    @property
    def text(self) -> str:
        """The whole text since the last restart."""
        return (self.sent if self._append else "") + sound(self._half)

    def add(self, text: str, *, restart: bool = False) -> Piece | None:
        """Take the next piece of text; what is to be sent of it now.

        A restart without text sends nothing: the next text replaces what was sent, or the end of the run withdraws it.
        A restart with the text that was sent, or with more, goes on from it.
        """
        whole, self._half = without_half(text if restart else self._half + text)
        text = sound(whole)
        if restart:
            self._append = bool(text and self._sent) and text.startswith(self.sent)
            text = text[len(self.sent) :] if self._append else text
        if not text:
            return None
        piece = Piece(text, self._append, last=False)
        if not self._append:
            self._sent.clear()
        self._sent.append(text)
        self._append = True
        return piece

    def closing(self, final: str | None = None) -> Piece | None:
        """The last piece, after which what was sent is `final` (None: the text); None if that was sent already.

        It changes nothing: the piece is sent only when the end of the run is recorded.
        """
        text = self.text if final is None else final
        if text == self.sent:
            return None
        if self._sent and text.startswith(self.sent):
            return Piece(text[len(self.sent) :], append=True, last=True)
        return Piece(text, append=False, last=True)


class LiveTask:
    """One task in this process. Only the modules of this package change it.

    Shape: saved_seq is the seq of the task in the store, 0 as long as it is not there.
    """

    def __init__(self, task: Task, *, window_bytes: int, clock: Clock, new_id: NewId) -> None:
        self.task = task
        self.saved_seq = task.seq
        self.lost: LlamonError | None = None
        self.writing = asyncio.Lock()
        self.event_log = EventLog(task.seq, window_bytes=window_bytes)
        self._answer = AnswerBuffer("")
        self._place: int | None = None  # where the answer stands among the artifacts, once any of it was sent
        self._restarts = False  # whether the next text replaces what an earlier attempt has sent
        self._open: set[str] = set()  # the ids of the artifacts, without the answer, that may grow
        self._withdrawn: set[str] = set()  # the ids of answers that readers may have, though the task does not
        self._clock = clock
        self._new_id = new_id

    def open_answer(self, answer_id: str) -> None:
        """A run begins: its text is an artifact of its own, next to those of the earlier runs.

        What an earlier attempt of the same run has sent stays until the first text of this one.
        """
        artifacts = self.task.artifacts
        places = [place for place, artifact in enumerate(artifacts) if artifact.artifact_id == answer_id]
        self._place = places[0] if places else None
        self._restarts = bool(places)
        self._answer = AnswerBuffer(answer_id, answer_text([artifacts[place] for place in places]))
        if places:
            rest = tuple(artifact for artifact in artifacts if artifact.artifact_id != answer_id)
            self.task = msgspec.structs.replace(self.task, artifacts=rest)

    def adopt(self, task: Task) -> None:
        """Take the record of another process that works on the task."""
        if task.seq > self.event_log.seq:
            self._withdrawn |= _ids(self.snapshot()) - _ids(task)
            self.task = task
            self.saved_seq = task.seq
            self._open = set() if task.is_settled else {artifact.artifact_id for artifact in task.artifacts}
            self.event_log.jump(task.seq)

    def snapshot(self) -> Task:
        """The task as its readers know it this moment: the answer as far as it was sent, as one part."""
        text = self._answer.sent
        artifacts = self._with_answer(self._artifact(text)) if text else self.task.artifacts
        return msgspec.structs.replace(self.task, seq=self.event_log.seq, artifacts=artifacts)

    def apply(self, event: AgentEvent) -> None:
        """Take one event of the run, except the one that ends it, and publish it.

        Raises: AgentError: it makes an artifact under the id of the answer, or under none.
        """
        if type(event) is Delta:
            self._publish(self._answer.add(event.text, restart=event.restart or self._restarts))
            self._restarts = self._restarts and not event.text
            return
        match event:
            case Progress(text=text):
                self._note(text)
            case ArtifactMade():
                self._put(event)
            case Started(history=outcome) if outcome is not None:
                metadata = {**(self.task.metadata or {}), "history": msgspec.structs.asdict(outcome)}
                self.task = msgspec.structs.replace(self.task, metadata=metadata)
            case _:
                pass

    def end_updates(self, outcome: Outcome) -> tuple[Task, list[Update], tuple[Artifact, ...]]:
        """The task with its whole answer, the updates that are still to be published, and what the status closes.

        Shape: see `mark_recorded` and `StatusUpdate.closes`. The answer, and artifacts that were left open, are marked
               as incomplete if the run did not come to its end.
        """
        marks = None if isinstance(outcome, Complete | Interrupt | Reply) else INCOMPLETE
        answer, update = self._answered(outcome, marks)
        artifacts = self.task.artifacts if answer is None else self._with_answer(answer)
        closed = {each.artifact_id: _marked(each, marks) for each in artifacts if each.artifact_id in self._open}
        artifacts = tuple([closed.get(each.artifact_id, each) for each in artifacts])
        closes = (() if answer is None or update is not None else (answer,)) + tuple(closed.values())
        task = msgspec.structs.replace(self.task, artifacts=artifacts)
        return task, [] if update is None else [update], closes

    def drop_unsendable(self) -> None:
        """Leave out the artifacts that no store can carry."""
        kept = tuple(artifact for artifact in self.task.artifacts if is_plain(artifact))
        self.task = msgspec.structs.replace(self.task, artifacts=kept)

    def drop_artifacts(self) -> None:
        """Leave out all that the runs have made, the answer too: it is more than can be written."""
        self._withdrawn |= _ids(self.snapshot())
        self.task = msgspec.structs.replace(self.task, artifacts=())
        self._answer = AnswerBuffer(self._answer.artifact_id)
        self._place = None
        self._open.clear()

    def message_of(self, reply: Reply) -> Message:
        """The reply as the message that is sent instead of this task."""
        return direct_message(self.task, reply, self._new_id())

    def mark_recorded(self, task: Task, updates: Sequence[Update]) -> None:
        """The store has `task`: it is the current value now, and the updates that led to it are published."""
        self.task = task
        self.saved_seq = task.seq
        if task.is_settled:
            self._answer = AnswerBuffer("")
            self._open.clear()
        for update in updates:
            if isinstance(update, ArtifactUpdate) and update.withdrawn:
                self._withdrawn.add(update.artifact_id)
            self.event_log.publish(update)

    def resync(self) -> list[Update]:
        """The updates for a reader that fell out of the window: withdrawals, every artifact whole, and the status."""
        now = self.snapshot()
        growing = {self._answer.artifact_id, *self._open}
        gone = sorted(self._withdrawn - _ids(now))
        updates: list[Update] = [
            *[ArtifactUpdate.withdrawal(artifact_id, now.seq) for artifact_id in gone],
            *[
                ArtifactUpdate.of_whole(artifact, now.seq, last=artifact.artifact_id not in growing)
                for artifact in now.artifacts
            ],
        ]
        return [*updates, StatusUpdate(seq=now.seq, status=now.status)]

    def _answered(self, outcome: Outcome, marks: Metadata | None) -> tuple[Artifact | None, ArtifactUpdate | None]:
        """The answer, None if there is none, and the update with what readers do not have of it yet."""
        seq = self.event_log.seq + 1
        if isinstance(outcome, Reply):
            answer = Artifact(artifact_id=self._answer.artifact_id, parts=outcome.parts, metadata=outcome.metadata)
            return answer, ArtifactUpdate.of_whole(answer, seq, last=True)
        final = outcome.text if isinstance(outcome, Complete) else None
        final = self._answer.text if final is None else sound(final)
        piece = self._answer.closing(final)
        if not final:
            return None, None if piece is None else ArtifactUpdate.withdrawal(self._answer.artifact_id, seq)
        answer = self._artifact(final, metadata=marks)
        return answer, None if piece is None else self._update(piece, answer)

    def _with_answer(self, answer: Artifact) -> tuple[Artifact, ...]:
        """The artifacts in the order in which they were first sent."""
        made = self.task.artifacts
        place = len(made) if self._place is None else self._place
        return (*made[:place], answer, *made[place:])

    def _artifact(self, text: str, *, metadata: Metadata | None = None) -> Artifact:
        return Artifact(artifact_id=self._answer.artifact_id, parts=(Text.of(text),), metadata=metadata)

    def _publish(self, piece: Piece | None) -> None:
        if piece is not None:
            self._place = len(self.task.artifacts) if self._place is None else self._place
            self.event_log.publish(self._update(piece, None))

    def _update(self, piece: Piece, whole: Artifact | None) -> ArtifactUpdate:
        """A piece of the answer."""
        return ArtifactUpdate(
            seq=self.event_log.seq + 1,
            artifact_id=self._answer.artifact_id,
            parts=(Text.of(piece.text),),
            append=piece.append,
            last=piece.last,
            whole=whole,
        )

    def _put(self, made: ArtifactMade) -> None:
        """Keep an artifact or a piece of one; one of the same id is replaced in its place, or grows there.

        An artifact whose last piece was sent can only be sent anew, and is not if nothing has changed.
        Source: A2A 1.0 §4.2.2 (lastChunk).
        """
        artifact = _unmarked(made.artifact)
        artifact_id = artifact.artifact_id
        if not artifact_id:
            raise AgentError("The agent made an artifact whose id is empty.")
        if artifact_id == self._answer.artifact_id:
            raise AgentError("The agent made an artifact under the id of its answer.")
        kept = {each.artifact_id: each for each in self.task.artifacts}
        if made.last and not made.append and kept.get(artifact_id) == artifact and artifact_id not in self._open:
            return  # it was sent like this, and is complete
        grows = made.append and artifact_id in kept
        whole = kept[artifact_id] = extended(kept[artifact_id], artifact.parts) if grows else artifact
        self.task = msgspec.structs.replace(self.task, artifacts=tuple(kept.values()))
        update = ArtifactUpdate.of_whole(whole, self.event_log.seq + 1, last=made.last)
        if grows and artifact_id in self._open:
            update = msgspec.structs.replace(
                update, parts=artifact.parts, append=True, whole=whole if made.last else None
            )
        (self._open.discard if made.last else self._open.add)(artifact_id)
        self.event_log.publish(update)

    def _note(self, text: str) -> None:
        message = agent_message(self.task, text, self._new_id)
        status = TaskStatus(state=TaskState.WORKING, at_ms=self._clock(), message=message)
        self.task = msgspec.structs.replace(self.task, status=status)
        self.event_log.publish(StatusUpdate(seq=self.event_log.seq + 1, status=status))


def _ids(task: Task) -> set[str]:
    return {artifact.artifact_id for artifact in task.artifacts}


def _unmarked(artifact: Artifact) -> Artifact:
    """An agent's artifact without the mark of withdrawn ones, which only the edge sets: clients would drop it."""
    if not artifact.metadata or WITHDRAWN not in artifact.metadata:
        return artifact
    logger.warning("the metadata key %r of an artifact is reserved and left out", WITHDRAWN)
    rest = {key: value for key, value in artifact.metadata.items() if key != WITHDRAWN}
    return msgspec.structs.replace(artifact, metadata=rest or None)


def _marked(artifact: Artifact, marks: Metadata | None) -> Artifact:
    return msgspec.structs.replace(artifact, metadata={**(artifact.metadata or {}), **marks}) if marks else artifact
