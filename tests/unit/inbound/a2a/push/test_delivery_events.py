"""What a webhook is told, and what it is spared."""

import msgspec
from tests.contract.task_store import a_task

from llamon_agent.domain.events import ArtifactUpdate, Snapshot, StatusUpdate
from llamon_agent.domain.message import Text
from llamon_agent.domain.task import Artifact, TaskState, TaskStatus
from llamon_agent.inbound.a2a.push.delivery import Event, PushEvent, is_needed, push_events, task_after


def status(seq: int, state: TaskState = TaskState.WORKING) -> StatusUpdate:
    return StatusUpdate(seq=seq, status=TaskStatus(state=state, at_ms=seq))


def piece(seq: int, text: str, *, whole: str | None = None) -> ArtifactUpdate:
    artifact = None if whole is None else an_artifact(whole)
    return ArtifactUpdate(
        seq=seq, artifact_id="a", parts=(Text.of(text),), append=True, last=whole is not None, whole=artifact
    )


def an_artifact(text: str, artifact_id: str = "a") -> Artifact:
    return Artifact(artifact_id=artifact_id, parts=(Text.of(text),), name="n")


def told(batch: list[Event], told_seq: int = 0) -> list[tuple[int, Event]]:
    return [(push_event.seq, push_event.event) for push_event in push_events(batch, told_seq)]


def test_growing_text_is_sent_once_when_it_is_whole() -> None:
    [(seq, event)] = told([piece(2, "Hel"), piece(3, "lo"), piece(4, "!", whole="Hello!")])
    assert isinstance(event, ArtifactUpdate)
    assert (seq, event.parts, event.append, event.last) == (4, (Text.of("Hello!"),), False, True)


def test_the_task_and_every_status_are_sent_in_order() -> None:
    batch: list[Event] = [Snapshot(task=a_task(seq=1)), status(2), piece(3, "x"), status(4, TaskState.COMPLETED)]
    assert told(batch) == [(1, batch[0]), (2, batch[1]), (4, batch[3])]


def test_what_was_sent_is_not_sent_again() -> None:
    batch: list[Event] = [Snapshot(task=a_task(seq=3)), status(3), status(4)]
    assert told(batch, 3) == [(4, batch[2])]


def test_of_events_with_one_seq_only_the_last_completes_it() -> None:
    batch: list[Event] = [piece(9, "", whole="x"), piece(9, "", whole="y"), status(9), status(10)]
    assert [push_event.seq for push_event in push_events(batch, 0)] == [8, 8, 9, 10]


def test_nothing_at_hand_is_nothing_to_tell() -> None:
    none: list[PushEvent] = []
    assert push_events([], 0) == push_events([piece(1, "x")], 0) == none


def test_the_task_follows_its_events() -> None:
    before = a_task()
    working = task_after(before, status(2))
    assert (working.status, working.seq) == (status(2).status, 2)
    grown = task_after(working, piece(3, "o", whole="Hello"))
    assert (grown.artifacts, grown.status, grown.seq) == ((an_artifact("Hello"),), working.status, 3)
    assert task_after(grown, piece(4, "", whole="Bye")).artifacts == (an_artifact("Bye"),)
    other = ArtifactUpdate(seq=5, artifact_id="b", parts=(Text.of("B"),), append=False)
    assert [each.artifact_id for each in task_after(grown, other).artifacts] == ["a", "b"]
    assert task_after(grown, Snapshot(task=before)) is before


def test_a_withdrawal_is_needed_only_by_a_webhook_that_had_the_artifact() -> None:
    gone = ArtifactUpdate.withdrawal("a", 4)
    had = msgspec.structs.replace(a_task(), artifacts=(an_artifact("x"), an_artifact("y", "b")))
    assert told([gone]) == [(4, gone)]
    assert [is_needed(gone, task) for task in (had, a_task(), None)] == [True, False, False]
    assert is_needed(status(5), None)
    assert task_after(had, gone).artifacts == (an_artifact("y", "b"),)
