"""How an answer's artifacts are told on a stream: as they grow, or in the way that a certain host needs.

Google ADK keeps only the last artifact event that is not partial; a host without any use for deltas wants none.
Snapshots are the same in every mode: each artifact whole.
"""

from collections.abc import Container, Iterable
from enum import StrEnum

import msgspec

from llamon_agent.domain.events import ArtifactUpdate
from llamon_agent.domain.message import Message, Part
from llamon_agent.domain.task import Task


class Artifacts(StrEnum):
    """The modes of an agent's `artifacts` option.

    Shape: append: chunks, the last one marked. whole_last: chunks, and the whole artifact as the last one. single:
           only the whole artifact. auto: whole-last for hosts that are known to need it, append for all others.
    """

    APPEND = "append"
    WHOLE_LAST = "whole-last"
    SINGLE = "single"
    AUTO = "auto"


def decide_mode(mode: Artifacts, messages: Iterable[Message]) -> Artifacts:
    """The mode of one stream, `auto` resolved by what its host has sent."""
    if mode is not Artifacts.AUTO:
        return mode
    is_adk = any(_is_from_adk(part) for message in messages for part in message.parts)
    return Artifacts.WHOLE_LAST if is_adk else Artifacts.APPEND


def present(update: ArtifactUpdate, mode: Artifacts, seen: Container[str] = ()) -> ArtifactUpdate | None:
    """The update as this stream tells it; None: not at all.

    Shape: seen are the artifacts that a snapshot has shown to a reader which hears of no chunks: only those can be
           withdrawn for it.
    """
    if mode is Artifacts.APPEND:
        return update
    if mode is Artifacts.SINGLE and update.withdrawn and update.artifact_id not in seen:
        return None
    if update.last and update.whole is not None:
        return msgspec.structs.replace(update, parts=update.whole.parts, append=False)
    return None if mode is Artifacts.SINGLE else update


def _is_from_adk(part: Part) -> bool:
    """ADK marks the parts of its user's messages, and nobody else does."""
    return part.metadata is not None and "is_user_input" in part.metadata


def trim_history(task: Task, length: int | None) -> Task:
    """The task with at most its `length` newest messages; None is all of them. What is stored stays whole.

    Source: A2A 1.0 §3.2.4 (historyLength).
    """
    if length is None or len(task.history) <= length:
        return task
    return msgspec.structs.replace(task, history=task.history[len(task.history) - length :])
