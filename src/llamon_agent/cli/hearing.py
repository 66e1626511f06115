"""What a stream of events comes to for a person: pure, event in, words and notes out.

Rules. A text is shown once: an event tells the whole of an artifact or a piece of it, and only what is new is said.
Where an agent takes back what it said (the new whole does not start with the old), the new whole is said on a new line.
"""

from collections.abc import Sequence

import msgspec

from llamon_agent.domain.events import ArtifactUpdate, Snapshot, StatusUpdate
from llamon_agent.domain.message import Data, Message, Part, Raw, Text, Url, texts
from llamon_agent.domain.task import TERMINAL, Artifact, TaskState, TaskStatus
from llamon_agent.wire.v10.client_codec import Heard


class Words(msgspec.Struct, frozen=True):
    """A piece of the answer."""

    text: str


class Note(msgspec.Struct, frozen=True):
    """What the agent is doing meanwhile."""

    text: str


class Hearing:
    """One task as it is heard of, through as many streams as it takes."""

    def __init__(self) -> None:
        self.task_id: str | None = None
        self.context_id: str | None = None
        self.status: TaskStatus | None = None
        self.replied = False
        """The agent answered with a message, and made no task."""
        self.has_spoken = False
        """There were words of an answer."""
        self._said: dict[str, str] = {}

    @property
    def state(self) -> TaskState | None:
        return self.status.state if self.status else None

    @property
    def is_over(self) -> bool:
        """Nothing more will come of it, and its id is of no further use."""
        return self.replied or self.state in TERMINAL

    def hear(self, heard: Heard) -> list[Words | Note]:
        """What is new."""
        news = self._news(heard)
        self.has_spoken = self.has_spoken or any(isinstance(one, Words) and one.text for one in news)
        return news

    def _news(self, heard: Heard) -> list[Words | Note]:
        self.task_id = heard.task_id or self.task_id
        self.context_id = heard.context_id or self.context_id
        match heard.event:
            case Snapshot(task=task):
                return [*self._artifacts(task.artifacts), *self._status(task.status)]
            case StatusUpdate(status=status):
                return self._status(status)
            case ArtifactUpdate() as update:
                return self._update(update)
            case Message(parts=parts):
                self.replied = True
                return [Words(words_of(parts))]

    def _status(self, status: TaskStatus) -> list[Words | Note]:
        self.status = status
        message = status.message
        notes = texts(message.parts) if message and status.state is TaskState.WORKING else []
        return [Note(text) for text in notes if text]

    def _artifacts(self, artifacts: Sequence[Artifact]) -> list[Words | Note]:
        return [words for one in artifacts for words in self._whole(one.artifact_id, words_of(one.parts))]

    def _update(self, update: ArtifactUpdate) -> list[Words | Note]:
        if update.withdrawn:
            return self._withdraw(update.artifact_id)
        before = self._said.get(update.artifact_id, "") if update.append else ""
        return self._whole(update.artifact_id, before + words_of(update.parts))

    def _withdraw(self, artifact_id: str) -> list[Words | Note]:
        """An artifact is none any more. A person has read it, so it is said."""
        had = self._said.pop(artifact_id, "")
        self.has_spoken = any(self._said.values())
        return [Note("the agent took back what it had said")] if had else []

    def _whole(self, artifact_id: str, whole: str) -> list[Words | Note]:
        """An artifact is this now."""
        starts = artifact_id not in self._said and any(self._said.values())
        before = self._said.get(artifact_id, "")
        self._said[artifact_id] = whole
        if not whole.startswith(before):
            return [Words("\n" + whole)]
        new = whole.removeprefix(before)
        return [Words(("\n" if starts else "") + new)] if new else []


def words_of(parts: Sequence[Part]) -> str:
    """Parts as a person reads them: text as it is, data as JSON, a file by its name."""
    return "".join(part_words(part) for part in parts)


def part_words(part: Part) -> str:
    """One part as a person reads it."""
    match part:
        case Text(text=text):
            return text
        case Data(data=value):
            return msgspec.json.encode(value).decode()
        case Raw(data=data):
            return f"[{part.filename or 'a file'}, {part.media_type or 'unknown type'}, {len(data)} bytes]"
        case Url(url=url):
            return f"[{part.filename or 'a file'}: {url}]"


def status_words(status: TaskStatus) -> str:
    """What the agent says about the task's state; the questions' data beside the words is for programs."""
    return "\n".join(texts(status.message.parts)) if status.message else ""
