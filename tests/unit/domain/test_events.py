import msgspec
import pytest

from llamon_agent.domain.events import (
    ArtifactMade,
    Cancelled,
    Complete,
    Delta,
    Error,
    Interrupt,
    NodeLost,
    Progress,
    Question,
    Rejected,
    Reply,
    RunEvent,
    SeedOutcome,
    Snapshot,
    Started,
)
from llamon_agent.domain.message import Data, Raw, Text
from llamon_agent.domain.task import Artifact, Task, TaskState, TaskStatus

EVENTS: list[RunEvent] = [
    Started(),
    Started(history=SeedOutcome(seeded=1, skipped=0, reason="cold_start")),
    Progress(text="thinking"),
    Delta(text="a", restart=True),
    ArtifactMade(artifact=Artifact(artifact_id="x", parts=(Text.of("a"), Raw(data=b"\xff"), Data(data=None)))),
    ArtifactMade(artifact=Artifact(artifact_id="x", parts=(Text.of("b"),)), append=True, last=False),
    Interrupt(text="Sure?", questions=(Question(id="q", value=False, schema={"type": "boolean"}),), auth=True),
    Complete(),
    Complete(text=""),
    Reply(parts=(Text.of("hi"), Data(data=None)), metadata={"a": 1}),
    Rejected(public="not me"),
    Error(public="no"),
    Cancelled(),
    NodeLost(),
]


@pytest.mark.parametrize("event", EVENTS, ids=repr)
def test_every_run_event_can_be_sent_and_read_back(event: RunEvent) -> None:
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(event), type=RunEvent) == event
    assert msgspec.json.decode(msgspec.json.encode(event), type=RunEvent) == event


def test_a_snapshot_counts_as_the_last_event_that_it_contains() -> None:
    status = TaskStatus(state=TaskState.WORKING, at_ms=0)
    task = Task(id="t", context_id="c", owner="o", agent="a", status=status, seq=7, created_ms=0)
    assert Snapshot(task=task).seq == 7


def test_every_kind_of_run_event_is_in_that_list() -> None:
    assert {type(event) for event in EVENTS} == set(RunEvent.__args__)
