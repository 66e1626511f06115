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
    Rejected,
    Reply,
    SeedOutcome,
    Started,
    StatusUpdate,
)
from llamon_agent.domain.message import Data, Text
from llamon_agent.domain.task import Artifact, TaskState, TaskStatus, answer_text
from llamon_agent.runs.live_task import LiveTask


def hearing(*events: AgentEvent) -> LiveTask:
    live = live_of(task_of())
    live.open_answer("answer-1")
    for event in events:
        live.apply(event)
    return live


async def test_a_piece_is_published_as_soon_as_it_is_given() -> None:
    live = hearing(Delta(text="Hel"))
    assert told(live, "answer-1") == [("Hel", False, False)]
    live.apply(Delta(text="lo"))
    assert told(live, "answer-1") == [("Hel", False, False), ("lo", True, False)]
    assert answer_text(live.snapshot().artifacts) == "Hello"


async def test_the_snapshots_seq_is_that_of_what_was_told() -> None:
    live = hearing(Delta(text="a"), Delta(text="b"), Delta(text="c"))
    assert (live.task.seq, live.snapshot().seq, live.event_log.seq) == (1, 4, 4)


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
async def test_the_status_closes_an_answer_that_was_sent_and_nothing_changes_before_it_is_recorded(
    outcome: Outcome, metadata: Any
) -> None:
    live = hearing(Delta(text="Hel"), Delta(text="lo"))
    before = live.snapshot()
    whole = Artifact(artifact_id="answer-1", parts=(Text.of("Hello"),), metadata=metadata)
    task, updates, closes = live.end_updates(outcome)
    assert (task.artifacts, updates, closes) == ((whole,), [], (whole,))
    assert live.snapshot() == before


async def test_text_that_comes_with_the_end_is_the_last_chunk() -> None:
    live = hearing(Delta(text="Hel"))
    task, [update], closes = live.end_updates(Complete(text="Hello"))
    assert isinstance(update, ArtifactUpdate)
    assert (update.seq, update.parts, update.append, update.last) == (3, (Text.of("lo"),), True, True)
    assert ((update.whole,), closes) == (task.artifacts, ())


async def test_half_a_character_waits_for_the_rest_and_is_replaced_where_none_comes() -> None:
    live = hearing(Delta(text="a\ud83d"), Delta(text="\ude00"), Delta(text="\ud83d"))
    assert answer_text(live.snapshot().artifacts) == "a😀"
    task, [update], _ = live.end_updates(Complete())
    assert isinstance(update, ArtifactUpdate)
    assert (update.parts, update.append) == ((Text.of("\ufffd"),), True)
    assert answer_text(task.artifacts) == "a😀\ufffd"


async def test_an_artifact_has_an_id() -> None:
    with pytest.raises(AgentError, match="an artifact whose id is empty"):
        hearing(ArtifactMade(artifact=Artifact(artifact_id="", parts=(Text.of("x"),))))


async def test_closing_without_any_text_has_nothing_to_tell() -> None:
    live = hearing()
    assert live.end_updates(Complete()) == (live.task, [], ())


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
    task, [update], _ = live.end_updates(outcome)
    assert task.artifacts == ()
    assert isinstance(update, ArtifactUpdate)
    assert (update.parts, update.append, update.last, update.withdrawn) == ((Text.of(""),), False, True, True)
    assert update.sent.metadata == {"withdrawn": True}
    assert update.seq == live.event_log.seq + 1


async def test_a_withdrawn_answer_of_an_earlier_attempt_is_gone() -> None:
    half = Artifact(artifact_id="answer-1", parts=(Text.of("half"),))
    live = live_of(msgspec.structs.replace(task_of(), artifacts=(half,)))
    live.open_answer("answer-1")
    task, [update], _ = live.end_updates(Complete(text=""))
    assert task.artifacts == ()
    assert isinstance(update, ArtifactUpdate)
    assert update.withdrawn


async def test_a_run_that_fails_keeps_the_text_that_it_has_told() -> None:
    task, *_ = hearing(Delta(text="dra"), Delta(text="ft")).end_updates(Error(public="no"))
    assert answer_text(task.artifacts) == "draft"


def gone(update: object) -> str:
    assert isinstance(update, ArtifactUpdate)
    assert update.withdrawn
    return update.artifact_id


async def test_a_reader_that_catches_up_hears_of_what_was_withdrawn() -> None:
    live = hearing(Delta(text="dra"), Delta(text="ft"))
    task, updates, _ = live.end_updates(Complete(text=""))
    live.mark_recorded(msgspec.structs.replace(task, status=task_of(state=TaskState.COMPLETED).status), updates)
    update, _status = live.resync()
    assert gone(update) == "answer-1"


async def test_a_text_that_is_told_again_is_withdrawn_no_longer() -> None:
    live = hearing(Delta(text="dra"), Delta(text="ft"))
    live.mark_recorded(*live.end_updates(Complete(text=""))[:2])
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
    task, *_ = live.end_updates(Complete())
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
    task, *_ = live.end_updates(Complete())
    assert [answer_text([artifact]) for artifact in task.artifacts] == ["a", "new!", "b"]
    pieces = [(update.parts[0].text, update.append) for update in live.event_log.after(1)]  # type: ignore[union-attr]
    assert pieces == [("ne", False), ("w", True), ("!", True)]


async def test_another_attempt_that_goes_on_with_what_was_sent_adds_to_it() -> None:
    half = Artifact(artifact_id="answer-1", parts=(Text.of("half"),))
    live = live_of(msgspec.structs.replace(task_of(), artifacts=(half,)))
    live.open_answer("answer-1")
    task, (update,), _ = live.end_updates(Complete(text="half, and whole"))
    assert answer_text(task.artifacts) == "half, and whole"
    assert isinstance(update, ArtifactUpdate)
    assert (update.parts, update.append, update.last) == ((Text.of(", and whole"),), True, True)


async def test_another_attempt_that_says_nothing_keeps_what_was_sent() -> None:
    half = Artifact(artifact_id="answer-1", parts=(Text.of("half"),))
    live = live_of(msgspec.structs.replace(task_of(), artifacts=(half,)))
    live.open_answer("answer-1")
    task, updates, closes = live.end_updates(Error(public="x"))
    assert (answer_text(task.artifacts), updates, closes) == ("half", [], task.artifacts)


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
        task, [update], _ = live.end_updates(reply)
        whole = Artifact(artifact_id="answer-1", parts=reply.parts, metadata={"model": "m"})
        assert task.artifacts == (whole,)
        assert isinstance(update, ArtifactUpdate)
        assert (update.parts, update.append, update.last, update.whole) == (reply.parts, False, True, whole)


# artifacts that come in pieces


def piece(text: str, *, append: bool = True, last: bool = False) -> ArtifactMade:
    artifact = Artifact(artifact_id="log", name=None if append else "Log", parts=(Text.of(text),))
    return ArtifactMade(artifact=artifact, append=append, last=last)


def told(live: LiveTask, artifact_id: str = "log") -> list[tuple[str, bool, bool]]:
    """Each update of the artifact: its text, and whether it is appended and the last."""
    updates = [
        update
        for update in live.event_log.after(1)
        if isinstance(update, ArtifactUpdate) and update.artifact_id == artifact_id
    ]
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
    task, updates, closes = live.end_updates(outcome)
    whole = msgspec.structs.replace(WHOLE, metadata=metadata)
    assert (task.artifacts[1], updates, closes) == (whole, [], task.artifacts)
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


async def test_an_artifact_that_is_made_again_unchanged_is_not_sent_again() -> None:
    live = hearing(piece("ab", append=False, last=True), piece("ab", append=False, last=True))
    assert told(live) == [("ab", False, True)]
    live.apply(piece("b", append=False, last=True))
    assert told(live) == [("ab", False, True), ("b", False, True)]
