"""What a run says (run events) and what a task's subscribers get (updates).

Run events go up: from an agent, near or far, to the run service, which alone decides what they do to the task. Updates
go out: from the run service to every stream that follows the task, each with the task's next `seq`.
"""

from typing import Any

import msgspec

from llamon_agent.domain.message import Metadata, Part, Text
from llamon_agent.domain.task import Artifact, Task, TaskStatus


class _RunEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="event"):
    """The common shape: tagged by `event`, so that a node can send it."""


COLD_START = "cold_start"
THREAD_NOT_EMPTY = "thread_not_empty"
PENDING_INTERRUPT = "pending_interrupt"
NO_USABLE_TURNS = "no_usable_turns"
NO_MESSAGES_CHANNEL = "no_messages_channel"
NOT_SUPPORTED = "not_supported"


class SeedOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the host's history; the task's metadata has it under `history`.

    Shape: seeded + skipped = the turns that were received; reason is one of the words above.
    """

    seeded: int
    skipped: int
    reason: str


class Started(_RunEvent, frozen=True, tag="started"):
    """The agent took the turn; `history` is None when no history came with it."""

    history: SeedOutcome | None = None


class Progress(_RunEvent, frozen=True, tag="progress"):
    """A note on what the agent is doing; shown as working status, never part of the answer."""

    text: str


class Delta(_RunEvent, frozen=True, tag="delta"):
    """The next piece of the answer's text; `restart` drops what came before it in this run, also for an empty piece."""

    text: str
    restart: bool = False


class ArtifactMade(_RunEvent, frozen=True, tag="artifact"):
    """An artifact other than the answer's text (files, data, several texts), or a piece of one.

    Shape: `append` adds the parts to those of the artifact with the same id, whose name and metadata stay; else one
           of the same id is replaced. `last` says that nothing follows; without it, the run's end closes the artifact.
    """

    artifact: Artifact
    append: bool = False
    last: bool = True


class Choice(msgspec.Struct, frozen=True):
    """An answer that can be picked. Shape: label is for people, value is the answer as data, JSON."""

    label: str
    value: Any


class Question(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing the agent waits for.

    Shape: id names the pending interrupt; value is what the agent asked, JSON; schema is a JSON Schema of a right
           answer, None where anything goes; choices are the right answers where they are known and few.
    """

    id: str
    value: Any
    schema: Metadata | None = None
    choices: tuple[Choice, ...] = ()


QUESTIONS = "questions"
"""The key of a message's metadata, and of a data part, under which it has its questions."""


def listed_choices(value: Any) -> tuple[Choice, ...]:
    """The choices that a question lists as `options` or `choices`.

    Shape: an option is a scalar, or an object with `value` (what the agent gets) and maybe `label` (what people see).
    """
    for key in ("options", "choices"):
        if isinstance(value, dict) and isinstance(options := value.get(key), list) and options:
            return tuple(_choice(option) for option in options)
    return ()


def _choice(option: Any) -> Choice:
    if isinstance(option, dict):
        return Choice(str(option.get("label", option.get("value", ""))), option.get("value", option))
    return Choice(str(option), option)


class Interrupt(_RunEvent, frozen=True, tag="interrupt"):
    """The run pauses for an answer. `text` asks all the questions in words; `auth` says that a sign-in is asked for."""

    text: str
    questions: tuple[Question, ...]
    auth: bool = False

    @classmethod
    def of(cls, asked: Any, question_id: str, *, auth: bool = False) -> "Interrupt":
        """One question in an agent's own words: a text as it is, any other JSON value as it is written."""
        text = asked if isinstance(asked, str) else msgspec.json.encode(asked).decode()
        question = Question(id=question_id, value=asked, choices=listed_choices(asked))
        return cls(text=text, questions=(question,), auth=auth)


class Complete(_RunEvent, frozen=True, tag="complete"):
    """The run is done.

    Shape: text is the whole answer where the agent knows it; None: the deltas were the answer; empty: there is none,
           and the text of the deltas is withdrawn.
    """

    text: str | None = None


class Reply(_RunEvent, frozen=True, tag="reply"):
    """The whole answer as a message. Where the agent's configuration allows it, a new message whose run says nothing
    before its reply is answered without a task; anywhere else the task is done, and the parts are its answer.

    Shape: at least one part; metadata is the message's, or the answer artifact's.
    Source: A2A 1.0 §3.1.1 (a Task or a Message).
    """

    parts: tuple[Part, ...]
    metadata: Metadata | None = None


class Rejected(_RunEvent, frozen=True, tag="rejected"):
    """The agent does not take the task. `public` is for the caller: text that its author wrote for one."""

    public: str


class Error(_RunEvent, frozen=True, tag="error"):
    """The run failed. `public` is for the caller: text that we, or the agent's author, wrote for one."""

    public: str


class Cancelled(_RunEvent, frozen=True, tag="cancelled"):
    """The run has stopped because it was cancelled."""


class NodeLost(_RunEvent, frozen=True, tag="node_lost"):
    """The node that executed the run is gone."""


AgentEnding = Interrupt | Complete | Reply | Rejected
"""How an agent itself may end its run. It raises AgentError to fail; being closed is being cancelled."""

AgentEvent = Started | Progress | Delta | ArtifactMade | AgentEnding
"""What an agent itself may say."""

Outcome = AgentEnding | Error | Cancelled | NodeLost
"""How a run ends."""

RunEvent = AgentEvent | Outcome


class StatusUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """The task's status changed.

    Shape: closes are artifacts that grew until the run ended, as they are now. All their parts were sent, and no piece
           was known to be the last one, so this update closes them. For readers that take whole artifacts only.
    """

    seq: int
    status: TaskStatus
    closes: tuple[Artifact, ...] = ()


WITHDRAWN = "withdrawn"
"""The key that marks a withdrawn artifact in its metadata."""


class ArtifactUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """An artifact grew, or is whole.

    Shape: parts are this update's own parts; append says that they are added to the artifact; last says that the
           artifact is complete. `whole` is all of it so far, with its name; the last update has it at the latest.
           `withdrawn` says that the artifact is no longer the task's, and that an empty text replaces it.
    Source: A2A 1.0 §4.2.2 (TaskArtifactUpdateEvent).
    """

    seq: int
    artifact_id: str
    parts: tuple[Part, ...]
    append: bool
    last: bool = False
    whole: Artifact | None = None
    withdrawn: bool = False

    @classmethod
    def of_whole(cls, artifact: Artifact, seq: int, *, last: bool) -> "ArtifactUpdate":
        """Replaces what was sent of an artifact by all of it."""
        return cls(
            seq=seq, artifact_id=artifact.artifact_id, parts=artifact.parts, append=False, last=last, whole=artifact
        )

    @classmethod
    def withdrawal(cls, artifact_id: str, seq: int) -> "ArtifactUpdate":
        """Takes back all that was sent of an artifact. Its metadata says so, and every dialect carries that."""
        gone = Artifact(artifact_id=artifact_id, parts=(Text.of(""),), metadata={WITHDRAWN: True})
        return cls(
            seq=seq, artifact_id=artifact_id, parts=gone.parts, append=False, last=True, whole=gone, withdrawn=True
        )

    @property
    def sent(self) -> Artifact:
        """The artifact with this update's own parts; with its name and metadata if the update has `whole`."""
        if self.whole is None:
            return Artifact(artifact_id=self.artifact_id, parts=self.parts)
        return msgspec.structs.replace(self.whole, parts=self.parts)


Update = StatusUpdate | ArtifactUpdate


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The whole task; the first event of a stream, and what a reader that is too slow gets instead of a gap."""

    task: Task

    @property
    def seq(self) -> int:
        """That of the last event that it contains."""
        return self.task.seq
