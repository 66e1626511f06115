"""What a call of a remote agent gives its caller, and how its questions are answered."""

from collections.abc import Mapping
from typing import Any

import msgspec

from llamon_agent.domain.events import QUESTIONS, Delta, Progress, Question, SeedOutcome
from llamon_agent.domain.message import Data, Message, Part, Text, texts
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
        """Something was made, and nothing of it can be read: a part of a kind that we do not know is left out."""
        return bool(self.artifacts) and not self.asks and not any(artifact.parts for artifact in self.artifacts)


RemoteEvent = Begun | Progress | Delta | Answer
"""What a stream says; an Answer is its last event, and the deltas before it make up the Answer's text."""

UNNAMED = "question"
"""The id we give the question of an agent that gives it none."""


def questions_of(message: Message | None) -> tuple[Question, ...]:
    """What a paused task asks: its questions where they come in metadata or as data, else the message itself as one
    question.
    """
    parts = message.parts if message else ()
    data = [part.data for part in parts if isinstance(part, Data)]
    for value in (message.metadata if message else None, *data):
        if isinstance(value, dict) and (asked := _questions(value.get(QUESTIONS))):
            return asked
    words = "\n".join(texts(parts))
    value = words if not data else (data[0] if not words else {"question": words, "data": data})
    return (Question(id=UNNAMED, value=value),)


def _questions(listed: Any) -> tuple[Question, ...]:
    try:
        return msgspec.convert(listed, tuple[Question, ...])
    except msgspec.ValidationError:
        return ()


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
