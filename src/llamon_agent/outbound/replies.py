"""What a remote agent says, as its caller hears it, and what is said to its questions."""

from collections.abc import Mapping
from typing import Any

import msgspec

from llamon_agent.domain.events import Delta, Progress, Question, SeedOutcome
from llamon_agent.domain.message import Data, Part, Raw, Text
from llamon_agent.domain.task import PAUSED, TERMINAL, Artifact, TaskState


class Begun(msgspec.Struct, frozen=True, kw_only=True):
    """The remote agent has taken the message; from here on its task can be canceled."""

    task_id: str
    context_id: str


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """How a call ended: with an answer, or with questions.

    Shape: text is what was said since the message, the artifacts are all of the task's. Where the task waits for an
           answer, `questions` are not empty and `question` asks them in words; for a failed one, `question` is the
           remote agent's reason. An agent that replied without a task has no task_id.
    """

    text: str
    state: TaskState
    artifacts: tuple[Artifact, ...] = ()
    questions: tuple[Question, ...] = ()
    question: str = ""
    task_id: str | None = None
    context_id: str | None = None
    history: SeedOutcome | None = None

    @property
    def asks(self) -> bool:
        """The task waits for an answer."""
        return self.state in PAUSED

    @property
    def failed(self) -> bool:
        return self.state in TERMINAL and self.state is not TaskState.COMPLETED

    @property
    def was_stopped(self) -> bool:
        return self.state in (TaskState.CANCELED, TaskState.REJECTED)

    @property
    def is_unreadable(self) -> bool:
        """Something was made, and nothing of it can be read. The SDK reads a file in broken base64 as an empty one."""
        parts = [part for artifact in self.artifacts for part in artifact.parts]
        return bool(self.artifacts) and not self.asks and all(isinstance(part, Raw) and not part.data for part in parts)


RemoteEvent = Begun | Progress | Delta | Answer
"""What a stream says; an Answer is its last event, and the deltas before it make up the Answer's text."""

UNNAMED = "question"
"""The id we give the question of an agent that gives it none."""


def answer_parts(asked: Answer, value: Any) -> tuple[Part, ...]:
    """The answer to what a remote task asks, typed: data stays data.

    Shape: value answers the one question there is; where there are several, it is a mapping from question id to value.
           Questions with ids are answered by id, so that an answer never reaches another question than its own; text
           goes as text too, for agents that read nothing else.
    """
    if [question.id for question in asked.questions] == [UNNAMED]:
        return (_plain(value),)
    if len(asked.questions) != 1:
        return (Data(data={"answers": value}) if isinstance(value, Mapping) else _plain(value),)
    by_id = Data(data={"answers": {asked.questions[0].id: value}})
    return (Text.of(value), by_id) if isinstance(value, str) else (by_id,)


def _plain(value: Any) -> Part:
    return Text.of(value) if isinstance(value, str) else Data(data=value)
