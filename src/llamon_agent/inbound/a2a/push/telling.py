"""What a webhook is told of a task: the task first, then every state, and every artifact when it is whole.

Growing text is not told piece by piece. A piece means nothing to a receiver that missed the one before, and each costs
a request.
"""

from collections.abc import Sequence

import msgspec

from llamon_agent.domain.events import ArtifactUpdate, Snapshot, StatusUpdate, Update
from llamon_agent.domain.task import Artifact, Task
from llamon_agent.inbound.a2a.presentation import Artifacts, present

Event = Snapshot | Update


class Telling(msgspec.Struct, frozen=True):
    """One thing to tell.

    Shape: seq is what the webhook has been told of once it has taken this: no higher than what came before, where
           something of the same seq follows.
    """

    event: Event
    seq: int


def tellings_of(batch: Sequence[Event], told_seq: int) -> list[Telling]:
    """What is to be told of the events at hand to a webhook that was told everything up to `told_seq`."""
    shown = [event for event in map(_shown, batch) if event is not None and event.seq > told_seq]
    later = {event.seq: event for event in shown}  # the last one of each seq
    return [Telling(event, event.seq - (later[event.seq] is not event)) for event in shown]


def task_after(task: Task, event: Event) -> Task:
    """The task as it was when an event had happened to it, as far as the event tells."""
    match event:
        case Snapshot():
            return event.task
        case StatusUpdate():
            return msgspec.structs.replace(task, status=event.status, seq=event.seq)
        case ArtifactUpdate(withdrawn=True):
            rest = tuple(each for each in task.artifacts if each.artifact_id != event.artifact_id)
            return msgspec.structs.replace(task, artifacts=rest, seq=event.seq)
        case ArtifactUpdate():
            whole = event.whole or Artifact(artifact_id=event.artifact_id, parts=event.parts)
            kept = {artifact.artifact_id: artifact for artifact in task.artifacts} | {whole.artifact_id: whole}
            return msgspec.structs.replace(task, artifacts=tuple(kept.values()), seq=event.seq)


def is_news(event: Event, told: Task | None) -> bool:
    """Whether a webhook that knows the task as `told` learns anything: what it never had cannot be withdrawn for it."""
    if not isinstance(event, ArtifactUpdate) or not event.withdrawn:
        return True
    return told is not None and any(each.artifact_id == event.artifact_id for each in told.artifacts)


def _shown(event: Event) -> Event | None:
    if not isinstance(event, ArtifactUpdate):
        return event
    return present(event, Artifacts.SINGLE, seen={event.artifact_id})
