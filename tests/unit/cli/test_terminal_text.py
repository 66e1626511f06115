import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.cli.conftest import Json, message, piece, status_update, task

from llamon_agent.cli.conversation import TerminalText, words_of
from llamon_agent.client.task_view import TaskView
from llamon_agent.domain.events import Delta, Progress
from llamon_agent.domain.message import Data, Raw, Text, Url
from llamon_agent.domain.task import TaskState
from llamon_agent.wire.v10.codec import Client10


def shown(*events: Json) -> tuple[str, list[str], TaskView]:
    """The words, the notes, and what is known in the end."""
    view = TaskView(TerminalText())
    news = [one for event in events for one in view.apply(Client10().read_event(msgspec.json.encode(event)))]
    words = "".join(one.text for one in news if isinstance(one, Delta))
    return words, [one.text for one in news if isinstance(one, Progress)], view


def test_pieces_become_the_text_exactly_once() -> None:
    words, notes, view = shown(
        task("SUBMITTED"), piece("Hel", append=False), piece("lo"), piece(" wor"), piece("ld", last=True)
    )
    assert (words, notes) == ("Hello world", [])
    assert (view.task_id, view.context_id, view.state) == ("t1", "c1", TaskState.SUBMITTED)


def test_a_whole_at_the_end_is_not_said_again() -> None:
    assert shown(piece("Hel", append=False), piece("lo"), piece("Hello", append=False, last=True))[0] == "Hello"


def test_a_snapshot_in_the_middle_adds_what_was_missed() -> None:
    assert shown(piece("Hel", append=False), task("WORKING", "Hello wor"), piece("ld"))[0] == "Hello world"


def test_a_text_that_is_taken_back_is_followed_by_the_new_one() -> None:
    assert shown(piece("I think", append=False), piece("Hello", append=False), piece("!"))[0] == "I think\nHello!"


def test_artifacts_begin_on_lines_of_their_own() -> None:
    assert shown(task("COMPLETED", "one", "two"))[0] == "one\ntwo"


def test_an_empty_artifact_says_nothing() -> None:
    assert shown(piece("", append=False, last=True), piece("two", artifact="a1", append=False))[0] == "two"


def test_notes_come_from_working_states_only() -> None:
    notes = shown(
        status_update("WORKING"),
        status_update("WORKING", message("step 1")),
        status_update("INPUT_REQUIRED", message("Sure?")),
        status_update("FAILED", message("no")),
    )[1]
    assert notes == ["step 1"]


def test_a_reply_without_a_task_is_over() -> None:
    words, _, view = shown({"message": message("Hi")})
    assert words == "Hi"
    assert view.is_over
    assert view.state is None


@pytest.mark.parametrize(("state", "over"), [("WORKING", False), ("INPUT_REQUIRED", False), ("FAILED", True)])
def test_a_task_is_over_when_it_is_terminal(state: str, over: bool) -> None:
    assert shown(task(state))[2].is_over is over


def test_parts_that_are_no_text_are_named() -> None:
    parts = (
        Text.of("See "),
        Data(data={"n": [1, None]}),
        Raw(data=b"abc", filename="a.pdf", media_type="application/pdf"),
        Raw(data=b""),
        Url(url="https://h/x"),
    )
    assert words_of(parts) == (
        'See {"n":[1,null]}[a.pdf, application/pdf, 3 bytes][a file, unknown type, 0 bytes][a file: https://h/x]'
    )


@given(st.lists(st.text(max_size=5), min_size=1, max_size=8), st.data())
def test_however_a_text_is_cut_and_repeated_it_is_said_once(pieces: list[str], data: st.DataObject) -> None:
    events, so_far = [], ""
    for number, text in enumerate(pieces):
        events.append(piece(text, append=number > 0))
        so_far += text
        if data.draw(st.booleans()):
            events.append(task("WORKING", so_far))
    assert shown(*events)[0] == so_far


def test_a_piece_of_an_earlier_artifact_follows_what_was_shown() -> None:
    other = piece("[file]", append=False, artifact="a1")
    assert shown(piece("Hel", append=False), other, piece("lo"))[0] == "Hel\n[file]lo"


def test_a_text_that_is_withdrawn_is_no_answer_and_said_to_be_none() -> None:
    words, notes, view = shown(piece("I think", append=False), withdrawn("a0"), withdrawn("a0"))
    assert (words, notes) == ("I think", ["the agent took back what it had said"])
    assert view.text.is_empty


def withdrawn(artifact: str) -> Json:
    event = piece("", append=False, last=True, artifact=artifact)
    event["artifactUpdate"]["artifact"]["metadata"] = {"withdrawn": True}
    return event
