import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from tests.unit.runs.living import live_of, task_of

from llamon_agent.domain.errors import AgentError, Gone
from llamon_agent.domain.events import (
    AgentEvent,
    ArtifactMade,
    ArtifactUpdate,
    Cancelled,
    Complete,
    Delta,
    Error,
    Interrupt,
    Outcome,
    Progress,
    Rejected,
    Reply,
    SeedOutcome,
    Started,
    StatusUpdate,
)
from llamon_agent.domain.message import Data, Text
from llamon_agent.domain.task import Artifact, TaskState, TaskStatus, answer_text
from llamon_agent.runs.live_task import LiveTask
from llamon_agent.testing.scripted import HandClock, counting_ids


def hearing(*events: AgentEvent) -> LiveTask:
    live = live_of(task_of())
    live.open_answer("answer-1")
    for event in events:
        live.apply(event)
    return live


async def test_the_last_piece_is_held_back_until_another_follows() -> None:
    live = hearing(Delta(text="Hel"), Delta(text="lo"))
    assert answer_text(live.snapshot().artifacts) == "Hel"
    live.apply(Progress(text="thinking"))
    assert answer_text(live.snapshot().artifacts) == "Hello"


async def test_a_piece_that_nothing_follows_is_told_by_itself() -> None:
    live = hearing(Delta(text="Hello"))
    async with asyncio.timeout(5):
        await live.event_log.changed()
    assert answer_text(live.snapshot().artifacts) == "Hello"


async def test_the_snapshots_seq_is_that_of_what_was_told() -> None:
    live = hearing(Delta(text="a"), Delta(text="b"), Delta(text="c"))
    assert (live.task.seq, live.snapshot().seq, live.event_log.seq) == (1, 3, 3)


CUT_OFF = {"incomplete": True}


@pytest.mark.parametrize(
    ("outcome", "metadata"),
    [
        (Complete(), None),
        (Interrupt(text="?", questions=()), None),
        (Cancelled(), CUT_OFF),
        (Error(public="no"), CUT_OFF),
        (Rejected(public="no"), CUT_OFF),
    ],
    ids=repr,
)
async def test_closing_gives_the_whole_answer_and_changes_nothing(outcome: Outcome, metadata: Any) -> None:
    live = hearing(Delta(text="Hel"), Delta(text="lo"))
    before = live.snapshot()
    task, [update] = live.end_updates(outcome)
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
    assert live.end_updates(Complete()) == (live.task, [])


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ([Delta(text="dra"), Delta(text="ft")], Complete(text="")),
        ([Delta(text="dra"), Delta(text="ft"), Delta(text="", restart=True)], Interrupt(text="?", questions=())),
    ],
    ids=["end", "pause"],
)
async def test_what_was_told_and_is_not_the_answer_is_withdrawn(said: list[Delta], outcome: Outcome) -> None:
    live = hearing(*said)
    task, [update] = live.end_updates(outcome)
    assert task.artifacts == ()
    assert isinstance(update, ArtifactUpdate)
    assert (update.parts, update.append, update.last, update.withdrawn) == ((Text.of(""),), False, True, True)
    assert update.sent.metadata == {"withdrawn": True}
    assert update.seq == live.event_log.seq + 1


async def test_what_was_held_back_and_is_not_the_answer_was_never_there() -> None:
    live = hearing(Delta(text="draft"))
    assert live.end_updates(Complete(text="")) == (live.task, [])


async def test_a_withdrawn_answer_of_an_earlier_attempt_is_gone() -> None:
    half = Artifact(artifact_id="answer-1", parts=(Text.of("half"),))
    live = live_of(msgspec.structs.replace(task_of(), artifacts=(half,)))
    live.open_answer("answer-1")
    task, [update] = live.end_updates(Complete(text=""))
    assert task.artifacts == ()
    assert isinstance(update, ArtifactUpdate)
    assert update.withdrawn


async def test_a_run_that_fails_keeps_the_text_that_it_has_told() -> None:
    task, _ = hearing(Delta(text="dra"), Delta(text="ft")).end_updates(Error(public="no"))
    assert answer_text(task.artifacts) == "draft"


def gone(update: object) -> str:
    assert isinstance(update, ArtifactUpdate)
    assert update.withdrawn
    return update.artifact_id


async def test_a_reader_that_catches_up_hears_of_what_was_withdrawn() -> None:
    live = hearing(Delta(text="dra"), Delta(text="ft"))
    task, updates = live.end_updates(Complete(text=""))
    live.mark_recorded(msgspec.structs.replace(task, status=task_of(state=TaskState.COMPLETED).status), updates)
    update, _status = live.resync()
    assert gone(update) == "answer-1"


async def test_a_text_that_is_told_again_is_withdrawn_no_longer() -> None:
    live = hearing(Delta(text="dra"), Delta(text="ft"))
    live.mark_recorded(*live.end_updates(Complete(text="")))
    live.open_answer("answer-1")
    for text in ("ne", "w"):
        live.apply(Delta(text=text))
    answer, _status = live.resync()
    assert isinstance(answer, ArtifactUpdate)
    assert not answer.withdrawn


async def test_what_another_process_has_withdrawn_is_so_for_the_readers_here() -> None:
    live = live_of(task_of(seq=1))
    whole = Artifact(artifact_id="a", parts=(Text.of("x"),))
    live.adopt(msgspec.structs.replace(task_of(seq=2), artifacts=(whole,)))
    live.adopt(task_of(seq=3))
    update, _status = live.resync()
    assert gone(update) == "a"


async def test_what_is_recorded_is_told_and_counts_from_then_on() -> None:
    live = hearing()
    ended = task_of(state=TaskState.COMPLETED, seq=7)
    status = StatusUpdate(seq=7, status=ended.status)
    live.mark_recorded(ended, [status])
    assert (live.task, live.saved_seq, live.event_log.after(6)) == (ended, 7, [status])


async def test_a_second_answer_has_an_id_of_its_own() -> None:
    live = hearing(ArtifactMade(artifact=Artifact(artifact_id="answer-2", parts=(Text.of("x"),))))
    live.open_answer("answer-3")
    live.apply(Delta(text="a"))
    task, _ = live.end_updates(Complete())
    assert [artifact.artifact_id for artifact in task.artifacts] == ["answer-2", "answer-3"]


async def test_another_attempt_begins_its_answer_anew_in_the_same_place() -> None:
    made = [Artifact(artifact_id=name, parts=(Text.of(name),)) for name in ("a", "answer-1", "b")]
    live = live_of(msgspec.structs.replace(task_of(), artifacts=tuple(made)))
    live.open_answer("answer-1")
    assert live.snapshot().artifacts == tuple(made)
    live.apply(Delta(text=""))
    assert live.snapshot().artifacts == tuple(made)
    for text in ("ne", "w", "!"):
        live.apply(Delta(text=text))
    task, _ = live.end_updates(Complete())
    assert [answer_text([artifact]) for artifact in task.artifacts] == ["a", "new!", "b"]
    pieces = [(update.parts[0].text, update.append) for update in live.event_log.after(1)]  # type: ignore[union-attr]
    assert pieces == [("ne", False), ("w", True)]


@pytest.mark.parametrize(
    ("end", "text"), [(Complete(text="half, and whole"), "half, and whole"), (Error(public="x"), "half")]
)
async def test_another_attempt_that_says_nothing_new_keeps_what_was_told(end: Outcome, text: str) -> None:
    half = Artifact(artifact_id="answer-1", parts=(Text.of("half"),))
    live = live_of(msgspec.structs.replace(task_of(), artifacts=(half,)))
    live.open_answer("answer-1")
    task, (update,) = live.end_updates(end)
    assert answer_text(task.artifacts) == text
    assert isinstance(update, ArtifactUpdate)
    assert (update.append, update.last) == (True, True)


async def test_what_another_process_has_recorded_replaces_all_and_skips_to_its_seq() -> None:
    live = live_of(task_of(seq=1))
    whole = Artifact(artifact_id="a", parts=(Text.of("x"),))
    live.adopt(msgspec.structs.replace(task_of(seq=1_000), artifacts=(whole,)))
    live.adopt(task_of(seq=999))
    assert (live.snapshot().artifacts, live.saved_seq, live.event_log.after(1_000)) == ((whole,), 1_000, [])
    with pytest.raises(Gone):
        live.event_log.after(999)
    artifact, status = live.resync()
    assert isinstance(artifact, ArtifactUpdate)
    assert (artifact.last, status.seq) == (False, 1_000)


async def test_the_seeds_outcome_stands_beside_what_the_metadata_had() -> None:
    live = hearing(Started(history=SeedOutcome(seeded=1, skipped=2, reason="cold_start")))
    assert live.task.metadata == {"history": {"seeded": 1, "skipped": 2, "reason": "cold_start"}}


async def test_catching_up_replaces_all_that_there_is() -> None:
    made = Artifact(artifact_id="a", parts=(Text.of("x"),))
    live = hearing(ArtifactMade(artifact=made), Delta(text="Hel"), Delta(text="lo"))
    chart, answer, status = live.resync()
    assert isinstance(chart, ArtifactUpdate)
    assert isinstance(answer, ArtifactUpdate)
    assert [(one.artifact_id, one.append, one.last) for one in (chart, answer)] == [
        ("a", False, True),
        ("answer-1", False, False),
    ]
    assert status == StatusUpdate(seq=live.event_log.seq, status=TaskStatus(state=TaskState.WORKING, at_ms=1))


async def test_a_reply_is_the_whole_answer_whatever_was_said_before() -> None:
    reply = Reply(parts=(Text.of("see"), Data(data=[1])), metadata={"model": "m"})
    for said in ((), (Delta(text="dra"), Delta(text="ft"))):
        live = hearing(*said)
        task, [update] = live.end_updates(reply)
        whole = Artifact(artifact_id="answer-1", parts=reply.parts, metadata={"model": "m"})
        assert task.artifacts == (whole,)
        assert isinstance(update, ArtifactUpdate)
        assert (update.parts, update.append, update.last, update.whole) == (reply.parts, False, True, whole)


# artifacts that come in pieces


def piece(text: str, *, append: bool = True, last: bool = False) -> ArtifactMade:
    artifact = Artifact(artifact_id="log", name=None if append else "Log", parts=(Text.of(text),))
    return ArtifactMade(artifact=artifact, append=append, last=last)


def told(live: LiveTask) -> list[tuple[str, bool, bool]]:
    """Each update of the artifact: its text, and whether it is appended and the last."""
    updates = [update for update in live.event_log.after(1) if isinstance(update, ArtifactUpdate)]
    return [(answer_text([Artifact(artifact_id="", parts=u.parts)]), u.append, u.last) for u in updates]


WHOLE = Artifact(artifact_id="log", name="Log", parts=(Text.of("abc"),))


async def test_an_artifact_grows_piece_by_piece_and_its_text_is_one() -> None:
    live = hearing(piece("a", append=False), piece("b"), piece("c", last=True))
    assert told(live) == [("a", False, False), ("b", True, False), ("c", True, True)]
    assert live.task.artifacts == (WHOLE,)
    wholes = [update.whole for update in live.event_log.after(1) if isinstance(update, ArtifactUpdate)]
    assert wholes == [msgspec.structs.replace(WHOLE, parts=(Text.of("a"),)), None, WHOLE]


async def test_the_first_piece_is_never_told_as_appended() -> None:
    assert told(hearing(piece("a"))) == [("a", False, False)]


async def test_what_is_put_behind_a_closed_artifact_tells_it_anew() -> None:
    live = hearing(piece("ab", append=False, last=True), piece("c", last=True))
    assert told(live) == [("ab", False, True), ("abc", False, True)]
    assert live.task.artifacts == (WHOLE,)


@pytest.mark.parametrize(("outcome", "metadata"), [(Complete(), None), (Error(public="no"), CUT_OFF)], ids=repr)
async def test_the_end_of_a_run_closes_what_was_left_open(outcome: Outcome, metadata: Any) -> None:
    live = hearing(Delta(text="see"), piece("a", append=False), piece("bc"))
    task, updates = live.end_updates(outcome)
    whole = msgspec.structs.replace(WHOLE, metadata=metadata)
    assert task.artifacts[1] == whole
    assert [update.seq for update in updates] == [live.event_log.seq + 1, live.event_log.seq + 2]
    closing = updates[1]
    assert isinstance(closing, ArtifactUpdate)
    assert (closing.parts, closing.append, closing.last, closing.whole) == (whole.parts, False, True, whole)
    live.mark_recorded(msgspec.structs.replace(task, status=task_of(state=TaskState.INPUT_REQUIRED).status), updates)
    live.apply(piece("d", last=True))
    assert told(live)[-1] == ("abcd", False, True)


async def test_catching_up_leaves_open_what_is_open() -> None:
    artifact, _ = hearing(piece("a", append=False), piece("bc")).resync()
    assert isinstance(artifact, ArtifactUpdate)
    assert (artifact.whole, artifact.last) == (WHOLE, False)


async def test_no_artifact_takes_the_answers_place() -> None:
    with pytest.raises(AgentError, match="the id of its answer"):
        hearing(ArtifactMade(artifact=Artifact(artifact_id="answer-1", parts=(Text.of("x"),))))


async def test_a_piece_that_nothing_follows_is_sent_when_its_timer_fires_and_only_once() -> None:
    timers: list[tuple[float, Callable[[], None]]] = []

    def call_later(delay_s: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        timers.append((delay_s, callback))
        return asyncio.get_running_loop().call_later(3600, callback)

    clock, new_id = HandClock(), counting_ids()
    live = LiveTask(task_of(), window_bytes=10_000, clock=clock, new_id=new_id, call_later=call_later)
    live.open_answer("answer-1")
    live.apply(Delta(text="wait"))
    assert live.event_log.after(1) == []
    [(delay_s, fire)] = timers
    assert delay_s <= 0.05
    fire()
    fire()
    [piece] = live.event_log.after(1)
    assert isinstance(piece, ArtifactUpdate)
    assert (piece.parts, piece.last) == ((Text.of("wait"),), False)


def test_an_agent_cannot_mark_its_artifact_as_withdrawn(caplog: pytest.LogCaptureFixture) -> None:
    own = Artifact(artifact_id="a", parts=(Text.of("x"),), metadata={"withdrawn": True, "kind": "chart"})
    live = hearing(ArtifactMade(artifact=own))
    [kept] = live.snapshot().artifacts
    [update] = live.event_log.after(1)
    assert isinstance(update, ArtifactUpdate)
    assert (kept.metadata, update.sent.metadata, update.withdrawn) == ({"kind": "chart"}, {"kind": "chart"}, False)
    assert "'withdrawn' of an artifact is reserved" in caplog.text
