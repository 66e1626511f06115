import asyncio
from typing import Any

import pytest
from tests.unit.runs.living import live_of, task_of

from llamon_agent.domain.events import (
    AgentEvent,
    ArtifactMade,
    ArtifactUpdate,
    Delta,
    Progress,
    SeedOutcome,
    Started,
    StatusUpdate,
)
from llamon_agent.domain.message import Text
from llamon_agent.domain.task import Artifact, TaskState, TaskStatus, answer_text
from llamon_agent.runs.live import LiveTask


def hearing(*events: AgentEvent) -> LiveTask:
    live = live_of(task_of())
    live.open_answer()
    for event in events:
        live.hear(event)
    return live


async def test_the_last_piece_is_held_back_until_another_follows() -> None:
    live = hearing(Delta(text="Hel"), Delta(text="lo"))
    assert answer_text(live.snapshot().artifacts) == "Hel"
    live.hear(Progress(text="thinking"))
    assert answer_text(live.snapshot().artifacts) == "Hello"


async def test_a_piece_that_nothing_follows_is_told_by_itself() -> None:
    live = hearing(Delta(text="Hello"))
    async with asyncio.timeout(5):
        await live.broadcast.changed()
    assert answer_text(live.snapshot().artifacts) == "Hello"


async def test_the_snapshots_seq_is_that_of_what_was_told() -> None:
    live = hearing(Delta(text="a"), Delta(text="b"), Delta(text="c"))
    assert (live.task.seq, live.snapshot().seq, live.broadcast.seq) == (1, 3, 3)


@pytest.mark.parametrize(("complete", "metadata"), [(True, None), (False, {"incomplete": True})])
async def test_closing_gives_the_whole_answer_and_changes_nothing(complete: bool, metadata: Any) -> None:
    live = hearing(Delta(text="Hel"), Delta(text="lo"))
    before = live.snapshot()
    task, [update] = live.closing(None, complete=complete)
    whole = Artifact(artifact_id="answer-1", parts=(Text.of("Hello"),), metadata=metadata)
    assert task.artifacts == (whole,)
    assert isinstance(update, ArtifactUpdate)
    assert (update.seq, update.parts, update.append, update.last, update.whole) == (
        3,
        (Text.of("lo"),),
        True,
        True,
        whole,
    )
    assert live.snapshot() == before


async def test_closing_without_any_text_has_nothing_to_tell() -> None:
    live = hearing()
    assert live.closing(None, complete=True) == (live.task, [])


async def test_what_is_recorded_is_told_and_counts_from_then_on() -> None:
    live = hearing()
    ended = task_of(state=TaskState.COMPLETED, seq=7)
    status = StatusUpdate(seq=7, status=ended.status)
    live.recorded(ended, [status])
    assert (live.task, live.saved_seq, live.broadcast.after(6)) == (ended, 7, [status])


async def test_a_second_answer_has_an_id_of_its_own() -> None:
    live = hearing(ArtifactMade(artifact=Artifact(artifact_id="answer-2", parts=(Text.of("x"),))))
    live.open_answer()
    live.hear(Delta(text="a"))
    task, _ = live.closing(None, complete=True)
    assert [artifact.artifact_id for artifact in task.artifacts] == ["answer-2", "answer-3"]


async def test_the_seeds_outcome_stands_beside_what_the_metadata_had() -> None:
    live = hearing(Started(history=SeedOutcome(seeded=1, skipped=2, reason="cold_start")))
    assert live.task.metadata == {"history": {"seeded": 1, "skipped": 2, "reason": "cold_start"}}


async def test_catching_up_replaces_all_that_there_is() -> None:
    made = Artifact(artifact_id="a", parts=(Text.of("x"),))
    live = hearing(ArtifactMade(artifact=made), Delta(text="Hel"), Delta(text="lo"))
    chart, answer, status = live.catch_up()
    assert isinstance(chart, ArtifactUpdate)
    assert isinstance(answer, ArtifactUpdate)
    assert [(one.artifact_id, one.append, one.last) for one in (chart, answer)] == [
        ("a", False, True),
        ("answer-1", False, False),
    ]
    assert status == StatusUpdate(seq=live.broadcast.seq, status=TaskStatus(state=TaskState.WORKING, at_ms=1))
