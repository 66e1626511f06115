import pytest

from llamon_agent.domain.events import ArtifactUpdate, StatusUpdate
from llamon_agent.domain.message import Data, Message, Metadata, Role, Text
from llamon_agent.domain.task import Artifact, Task, TaskState, TaskStatus, trim_history
from llamon_agent.inbound.a2a.bindings.streaming import Artifacts, decide_mode, present, with_closed
from llamon_agent.wire.v03.codec import V03
from llamon_agent.wire.v03_proto.codec import V03_PROTO
from llamon_agent.wire.v10.codec import V10

WHOLE = Artifact(artifact_id="a", parts=(Text.of("Hello"),))
DELTA = ArtifactUpdate(seq=2, artifact_id="a", parts=(Text.of("Hel"),), append=False)
LAST = ArtifactUpdate(seq=3, artifact_id="a", parts=(Text.of("lo"),), append=True, last=True, whole=WHOLE)
WHOLE_LAST = ArtifactUpdate(seq=3, artifact_id="a", parts=WHOLE.parts, append=False, last=True, whole=WHOLE)


@pytest.mark.parametrize(
    ("mode", "told"),
    [
        (Artifacts.APPEND, [DELTA, LAST]),
        (Artifacts.WHOLE_LAST, [DELTA, WHOLE_LAST]),
        (Artifacts.SINGLE, [None, WHOLE_LAST]),
    ],
)
def test_a_mode_decides_how_an_answer_is_sent(mode: Artifacts, told: list[ArtifactUpdate | None]) -> None:
    assert [present(update, mode) for update in (DELTA, LAST)] == told


GONE = ArtifactUpdate.withdrawal("a", 3)


@pytest.mark.parametrize(
    ("mode", "seen", "told"),
    [
        (Artifacts.APPEND, set(), GONE),
        (Artifacts.WHOLE_LAST, set(), GONE),
        (Artifacts.SINGLE, set(), None),
        (Artifacts.SINGLE, {"a"}, GONE),
    ],
)
def test_what_is_withdrawn_is_told_to_whoever_may_have_it(
    mode: Artifacts, seen: set[str], told: ArtifactUpdate | None
) -> None:
    assert present(GONE, mode, seen) == told


def message(metadata: Metadata | None) -> Message:
    return Message(message_id="m", role=Role.USER, parts=(Data(data=1), Text(text="hi", metadata=metadata)))


@pytest.mark.parametrize("mode", [Artifacts.APPEND, Artifacts.WHOLE_LAST, Artifacts.SINGLE])
def test_a_configured_mode_counts_for_every_caller(mode: Artifacts) -> None:
    assert decide_mode(mode, V03, [message({"is_user_input": True})]) is mode


def test_auto_recognises_adk_by_its_parts() -> None:
    assert decide_mode(Artifacts.AUTO, V10, [message({"is_user_input": True})]) is Artifacts.WHOLE_LAST


@pytest.mark.parametrize("metadata", [None, {}, {"other": 1}])
def test_auto_appends_for_everybody_else(metadata: Metadata | None) -> None:
    assert decide_mode(Artifacts.AUTO, V03, [message(metadata)]) is Artifacts.APPEND


def test_auto_ends_with_the_whole_where_clients_replace_instead_of_appending() -> None:
    assert decide_mode(Artifacts.AUTO, V03_PROTO, [message(None)]) is Artifacts.WHOLE_LAST


@pytest.mark.parametrize(
    ("mode", "shown"), [(Artifacts.APPEND, []), (Artifacts.WHOLE_LAST, [WHOLE_LAST]), (Artifacts.SINGLE, [WHOLE_LAST])]
)
def test_what_a_status_closes_is_sent_whole_where_the_mode_wants_it(
    mode: Artifacts, shown: list[ArtifactUpdate]
) -> None:
    status = StatusUpdate(seq=3, status=TaskStatus(state=TaskState.COMPLETED, at_ms=1), closes=(WHOLE,))
    assert with_closed(status, mode) == (*shown, status)
    assert with_closed(DELTA, mode) == (DELTA,)


@pytest.mark.parametrize(("length", "kept"), [(None, 3), (5, 3), (3, 3), (2, 2), (1, 1), (0, 0)])
def test_history_is_trimmed_to_its_newest_messages(length: int | None, kept: int) -> None:
    turns = tuple(Message(message_id=f"m{n}", role=Role.USER, parts=()) for n in range(3))
    status = TaskStatus(state=TaskState.COMPLETED, at_ms=1)
    task = Task(id="t", context_id="c", owner="o", agent="a", status=status, seq=1, created_ms=1, history=turns)
    assert trim_history(task, length).history == turns[3 - kept :]
    assert task.history == turns
