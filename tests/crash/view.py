"""A task as a host keeps it that follows its streams, across every reconnection."""

from collections.abc import Iterable

from a2a.types.a2a_pb2 import Artifact, StreamResponse, Task, TaskArtifactUpdateEvent, TaskState

TERMINAL = frozenset(
    {
        TaskState.TASK_STATE_COMPLETED,
        TaskState.TASK_STATE_FAILED,
        TaskState.TASK_STATE_CANCELED,
        TaskState.TASK_STATE_REJECTED,
    }
)
SETTLED = TERMINAL | {TaskState.TASK_STATE_INPUT_REQUIRED, TaskState.TASK_STATE_AUTH_REQUIRED}


def text_of(artifacts: Iterable[Artifact]) -> str:
    """All text of some artifacts."""
    return "".join(part.text for artifact in artifacts for part in artifact.parts)


class View:
    """What a host knows of a task: snapshots replace it, updates change it."""

    def __init__(self) -> None:
        self.task = Task()

    @property
    def is_settled(self) -> bool:
        return self.task.status.state in SETTLED

    def take(self, event: StreamResponse) -> None:
        """Take one event of a stream."""
        match event.WhichOneof("payload"):
            case "task":
                self.task.CopyFrom(event.task)
            case "status_update":
                self.task.status.CopyFrom(event.status_update.status)
            case "artifact_update":
                self._take_artifact(event.artifact_update)
            case other:
                raise AssertionError(f"a stream told of a {other}")

    def _take_artifact(self, update: TaskArtifactUpdateEvent) -> None:
        kept = next((each for each in self.task.artifacts if each.artifact_id == update.artifact.artifact_id), None)
        if kept is None:
            if update.append:
                raise AssertionError(f"a piece of an artifact that was never begun: {update.artifact.artifact_id}")
            kept = self.task.artifacts.add()
        text = text_of([kept]) if update.append else ""
        kept.CopyFrom(update.artifact)
        kept.parts[0].text = text + kept.parts[0].text
