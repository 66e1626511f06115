import gc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamon_agent.domain.message import Data, Message, Part, Raw, Role, Text, Url
from llamon_agent.domain.task import PAUSED, TERMINAL, Artifact, Task, TaskState, TaskStatus, answer_text, extended


@pytest.mark.parametrize(
    ("state", "is_terminal", "is_paused"),
    [
        (TaskState.SUBMITTED, False, False),
        (TaskState.WORKING, False, False),
        (TaskState.INPUT_REQUIRED, False, True),
        (TaskState.AUTH_REQUIRED, False, True),
        (TaskState.COMPLETED, True, False),
        (TaskState.FAILED, True, False),
        (TaskState.CANCELED, True, False),
        (TaskState.REJECTED, True, False),
    ],
)
def test_a_task_is_working_paused_or_over(state: TaskState, is_terminal: bool, is_paused: bool) -> None:
    status = TaskStatus(state=state, at_ms=1)
    task = Task(id="t", context_id="c", owner="o", agent="a", status=status, seq=1, created_ms=1)
    assert (status.is_terminal, task.is_terminal) == (is_terminal, is_terminal)
    assert (status.is_paused, task.is_paused) == (is_paused, is_paused)
    assert task.is_settled is (is_terminal or is_paused)


def test_pythons_search_for_garbage_leaves_out_the_values_that_a_store_keeps_many_of() -> None:
    parts = (Text.of("x"), Raw(data=b"x"), Url(url="https://x"), Data(data=[{"a": 1}]))
    message = Message(message_id="m", role=Role.USER, parts=parts, metadata={"a": 1})
    status = TaskStatus(state=TaskState.WORKING, at_ms=1, message=message)
    artifact = Artifact(artifact_id="a", parts=parts)
    task = Task(id="t", context_id="c", owner="o", agent="a", status=status, seq=1, created_ms=1, artifacts=(artifact,))
    assert not any(gc.is_tracked(value) for value in (*parts, message, status, artifact, task))


def test_no_state_is_both_over_and_paused() -> None:
    assert not TERMINAL & PAUSED


def test_the_answer_is_the_text_of_all_artifacts_with_nothing_between() -> None:
    one = Artifact(artifact_id="1", parts=(Text.of("Hel"), Data(data={}), Text.of("lo")))
    assert answer_text([one, Artifact(artifact_id="2", parts=(Text.of("!"),))]) == "Hello!"
    assert answer_text([]) == ""


@pytest.mark.parametrize(
    ("more", "whole"),
    [
        ((Text.of("lo"),), (Data(data=1), Text.of("Hello"))),
        ((Text.of("l"), Text.of("o")), (Data(data=1), Text.of("Hello"))),
        ((Text(text="lo", filename="a.txt"),), (Data(data=1), Text.of("Hel"), Text(text="lo", filename="a.txt"))),
        ((Data(data=1), Text.of("lo")), (Data(data=1), Text.of("Hel"), Data(data=1), Text.of("lo"))),
        ((), (Data(data=1), Text.of("Hel"))),
    ],
)
def test_an_artifact_goes_on_where_it_stopped_and_keeps_its_name(
    more: tuple[Part, ...], whole: tuple[Part, ...]
) -> None:
    begun = Artifact(artifact_id="1", name="Greeting", parts=(Data(data=1), Text.of("Hel")))
    assert extended(begun, more) == Artifact(artifact_id="1", name="Greeting", parts=whole)


@given(st.lists(st.text(max_size=4), min_size=1))
def test_text_in_pieces_is_one_text(pieces: list[str]) -> None:
    artifact = Artifact(artifact_id="1", parts=())
    for piece in pieces:
        artifact = extended(artifact, (Text.of(piece),))
    assert artifact.parts == (Text.of("".join(pieces)),)
