"""What a call's events come to."""

from typing import Any

from a2a.types import a2a_pb2 as pb
from google.protobuf.json_format import ParseDict
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.cli.conftest import message, piece, status_update, task

from llamon_agent.domain.events import Delta, Progress
from llamon_agent.domain.message import Data, Text
from llamon_agent.domain.task import Artifact, TaskState
from llamon_agent.outbound.hearing import Hearing
from llamon_agent.outbound.replies import Begun

BEGUN = Begun(task_id="t1", context_id="c1")


def heard(hearing: Hearing, *events: dict[str, Any]) -> list[Begun | Progress | Delta]:
    return [new for event in events for new in hearing.hear(ParseDict(event, pb.StreamResponse()))]


def said(events: list[Begun | Progress | Delta]) -> str:
    """What a reader has who follows the deltas."""
    text = ""
    for event in events:
        if isinstance(event, Delta):
            text = event.text if event.restart else text + event.text
    return text


def test_pieces_become_deltas_and_the_answer() -> None:
    hearing = Hearing()
    events = heard(hearing, task("WORKING"), piece("Hel", append=False), piece("lo"), status_update("COMPLETED"))
    assert events == [BEGUN, Delta(text="Hel"), Delta(text="lo")]
    answer = hearing.answer()
    assert hearing.is_settled
    assert (answer.text, answer.state, answer.task_id, answer.context_id) == ("Hello", TaskState.COMPLETED, "t1", "c1")
    assert answer.artifacts == (Artifact(artifact_id="a0", parts=(Text.of("Hello"),)),)


def test_a_replacement_restarts_the_text_and_the_whole_again_says_nothing() -> None:
    hearing = Hearing()
    events = heard(hearing, piece("Let me", append=False), piece("Done", append=False), piece("Done.", append=False))
    assert events[1:] == [Delta(text="Let me"), Delta(text="Done", restart=True), Delta(text=".")]
    assert heard(hearing, piece("Done.", append=False, last=True)) == []
    assert hearing.answer().text == "Done."


def test_two_artifacts_are_two_paragraphs() -> None:
    hearing = Hearing()
    events = heard(
        hearing, piece("one", append=False), piece("two", append=False, artifact="a1"), piece("!", artifact="a1")
    )
    assert said(events) == hearing.answer().text == "one\n\ntwo!"


def test_a_piece_for_an_earlier_artifact_corrects_the_text() -> None:
    hearing = Hearing()
    events = heard(hearing, piece("one", append=False), piece("two", append=False, artifact="a1"), piece("!"))
    assert said(events) == hearing.answer().text == "one!\n\ntwo"


def test_a_snapshot_after_a_lost_stream_tells_only_what_was_missed() -> None:
    hearing = Hearing()
    heard(hearing, task("WORKING"), piece("Hel", append=False))
    assert heard(hearing, task("COMPLETED", "Hello")) == [Delta(text="lo")]


def test_what_the_task_had_said_before_is_not_said_again() -> None:
    hearing = Hearing([Artifact(artifact_id="a0", parts=(Text.of("Let me see."),))])
    events = heard(hearing, task("WORKING", "Let me see."), piece("Done.", append=False, artifact="a1"))
    assert events == [BEGUN, Delta(text="Done.")]
    assert len(hearing.answer().artifacts) == 2


def test_working_with_words_is_progress_and_other_words_are_none() -> None:
    hearing = Hearing()
    events = heard(
        hearing, status_update("WORKING", message("Reading")), status_update("INPUT_REQUIRED", message("Sure?"))
    )
    assert events == [BEGUN, Progress(text="Reading")]
    answer = hearing.answer()
    assert answer.asks
    assert answer.question == "Sure?"
    assert [question.value for question in answer.questions] == ["Sure?"]


def test_a_reply_without_a_task_is_an_answer() -> None:
    hearing = Hearing()
    events = heard(hearing, {"message": message("Hi", {"data": {"a": 1}})})
    assert events == [Delta(text="Hi")]
    answer = hearing.answer()
    assert (answer.state, answer.task_id) == (TaskState.COMPLETED, None)
    assert answer.artifacts[0].parts == (Text.of("Hi"), Data(data={"a": 1}))


def test_words_that_a_task_ends_with_are_its_answer_where_it_gave_no_other() -> None:
    silent, spoken = Hearing(), Hearing()
    assert heard(silent, task("COMPLETED", said=message("Done.", {"data": 1}))) == [BEGUN, Delta(text="Done.")]
    assert silent.answer().artifacts[0].parts == (Text.of("Done."), Data(data=1))
    heard(spoken, task("COMPLETED", "Hello", said=message("Done.")))
    assert (spoken.answer().text, len(spoken.answer().artifacts)) == ("Hello", 1)


def test_what_is_said_of_another_task_is_not_heard() -> None:
    hearing = Hearing()
    heard(hearing, task("WORKING"))
    others = [task("COMPLETED", "No"), status_update("COMPLETED"), piece("No", append=False)]
    others[0]["task"]["id"] = others[1]["statusUpdate"]["taskId"] = others[2]["artifactUpdate"]["taskId"] = "other"
    assert heard(hearing, *others) == []
    assert not hearing.is_settled
    assert hearing.answer().artifacts == ()


@given(st.lists(st.tuples(st.text(max_size=5), st.booleans(), st.sampled_from(["a0", "a1"])), max_size=12))
def test_whatever_comes_the_deltas_make_up_the_answer(pieces: list[tuple[str, bool, str]]) -> None:
    hearing = Hearing()
    events = heard(hearing, *(piece(text, append=append, artifact=name) for text, append, name in pieces))
    answer = hearing.answer()
    assert said(events) == answer.text
    whole = ["".join(part.text for part in made.parts if isinstance(part, Text)) for made in answer.artifacts]
    assert answer.text == "\n\n".join(text for text in whole if text)


def test_a_text_that_is_withdrawn_is_none_of_the_answer() -> None:
    hearing = Hearing()
    gone = piece("", append=False, last=True)
    gone["artifactUpdate"]["artifact"]["metadata"] = {"withdrawn": True}
    events = heard(hearing, piece("I think", append=False), gone, gone, piece("Sure", append=False, artifact="a1"))
    assert events[1:] == [Delta(text="I think"), Delta(text="", restart=True), Delta(text="Sure")]
    assert hearing.answer().text == "Sure"
    assert hearing.answer().artifacts == (Artifact(artifact_id="a1", parts=(Text.of("Sure"),)),)
