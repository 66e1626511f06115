"""What a host makes of a stream."""

import pytest
from a2a.types.a2a_pb2 import (
    Artifact,
    Part,
    StreamResponse,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from tests.crash.view import View, text_of


def piece(text: str, *, append: bool) -> StreamResponse:
    artifact = Artifact(artifact_id="a", parts=[Part(text=text)])
    return StreamResponse(artifact_update=TaskArtifactUpdateEvent(artifact=artifact, append=append))


def status(state: TaskState) -> StreamResponse:
    return StreamResponse(status_update=TaskStatusUpdateEvent(status=TaskStatus(state=state)))


def test_pieces_grow_and_a_whole_replaces_them() -> None:
    view = View()
    for event in (piece("one ", append=False), piece("two", append=True)):
        view.take(event)
    assert [part.text for part in view.task.artifacts[0].parts] == ["one two"]
    view.take(piece("three", append=False))
    assert text_of(view.task.artifacts) == "three"


def test_a_snapshot_replaces_everything() -> None:
    view = View()
    view.take(piece("one", append=False))
    view.take(StreamResponse(task=Task(id="t", status=TaskStatus(state=TaskState.TASK_STATE_WORKING))))
    assert (text_of(view.task.artifacts), view.is_settled) == ("", False)


@pytest.mark.parametrize(
    ("state", "settled"),
    [
        (TaskState.TASK_STATE_COMPLETED, True),
        (TaskState.TASK_STATE_INPUT_REQUIRED, True),
        (TaskState.TASK_STATE_SUBMITTED, False),
    ],
)
def test_a_task_is_settled_when_it_is_over_or_waits(state: TaskState, settled: bool) -> None:
    view = View()
    view.take(status(state))
    assert view.is_settled is settled


def test_a_piece_of_what_was_never_begun_is_refused() -> None:
    with pytest.raises(AssertionError, match="never begun"):
        View().take(piece("two", append=True))
