"""What a call's events come to."""

from collections.abc import Sequence
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.cli.conftest import message, piece, status_update, task

from llamon_agent.client.answers import Answer, Begun
from llamon_agent.client.task_view import AnswerText, TaskView
from llamon_agent.domain.events import Delta, Progress, SeedOutcome
from llamon_agent.domain.message import Data, Text
from llamon_agent.domain.task import Artifact, TaskState
from llamon_agent.wire.v10.codec import Client10

BEGUN = Begun(task_id="t1", context_id="c1")


class View(TaskView):
    """A view for programs, with the text that it comes to."""

    def __init__(self, before: Sequence[Artifact] = ()) -> None:
        super().__init__(AnswerText(before), before)

    def result(self) -> Answer:
        return self.answer(str(self.text))


def news(view: TaskView, *events: dict[str, Any]) -> list[Begun | Progress | Delta]:
    return [new for event in events for new in view.apply(Client10().read_event(msgspec.json.encode(event)))]


def text_of(events: list[Begun | Progress | Delta]) -> str:
    """What a reader has who follows the deltas."""
    text = ""
    for event in events:
        if isinstance(event, Delta):
            text = event.text if event.restart else text + event.text
    return text


def test_pieces_become_deltas_and_the_answer() -> None:
    view = View()
    events = news(view, task("WORKING"), piece("Hel", append=False), piece("lo"), status_update("COMPLETED"))
    assert events == [BEGUN, Delta(text="Hel"), Delta(text="lo")]
    answer = view.result()
    assert view.is_settled
    assert (answer.text, answer.state, answer.task_id, answer.context_id) == ("Hello", TaskState.COMPLETED, "t1", "c1")
    assert answer.artifacts == (Artifact(artifact_id="a0", parts=(Text.of("Hello"),)),)


def test_a_replacement_restarts_the_text_and_the_whole_again_says_nothing() -> None:
    view = View()
    events = news(view, piece("Let me", append=False), piece("Done", append=False), piece("Done.", append=False))
    assert events[1:] == [Delta(text="Let me"), Delta(text="Done", restart=True), Delta(text=".")]
    assert news(view, piece("Done.", append=False, last=True)) == []
    assert view.result().text == "Done."


def test_two_artifacts_are_two_paragraphs() -> None:
    view = View()
    events = news(
        view, piece("one", append=False), piece("two", append=False, artifact="a1"), piece("!", artifact="a1")
    )
    assert text_of(events) == view.result().text == "one\n\ntwo!"


def test_a_piece_for_an_earlier_artifact_corrects_the_text() -> None:
    view = View()
    events = news(view, piece("one", append=False), piece("two", append=False, artifact="a1"), piece("!"))
    assert text_of(events) == view.result().text == "one!\n\ntwo"


def test_a_snapshot_after_a_lost_stream_tells_only_what_was_missed() -> None:
    view = View()
    news(view, task("WORKING"), piece("Hel", append=False))
    assert news(view, task("COMPLETED", "Hello")) == [Delta(text="lo")]


def test_what_the_task_had_said_before_is_not_said_again() -> None:
    view = View([Artifact(artifact_id="a0", parts=(Text.of("Let me see."),))])
    events = news(view, task("WORKING", "Let me see."), piece("Done.", append=False, artifact="a1"))
    assert events == [BEGUN, Delta(text="Done.")]
    assert len(view.result().artifacts) == 2


def test_working_with_words_is_progress_and_other_words_are_none() -> None:
    view = View()
    events = news(view, status_update("WORKING", message("Reading")), status_update("INPUT_REQUIRED", message("Sure?")))
    assert events == [BEGUN, Progress(text="Reading")]
    answer = view.result()
    assert answer.asks
    assert answer.question == "Sure?"
    assert [question.value for question in answer.questions] == ["Sure?"]


def test_a_reply_without_a_task_is_an_answer() -> None:
    view = View()
    events = news(view, {"message": message("Hi", {"data": {"a": 1}})})
    assert events == [Delta(text="Hi")]
    answer = view.result()
    assert (answer.state, answer.task_id) == (TaskState.COMPLETED, None)
    assert answer.artifacts[0].parts == (Text.of("Hi"), Data(data={"a": 1}))


def test_words_that_a_task_ends_with_are_its_answer_where_it_gave_no_other() -> None:
    silent, spoken = View(), View()
    assert news(silent, task("COMPLETED", said=message("Done.", {"data": 1}))) == [BEGUN, Delta(text="Done.")]
    assert silent.result().artifacts[0].parts == (Text.of("Done."), Data(data=1))
    news(spoken, task("COMPLETED", "Hello", said=message("Done.")))
    assert (spoken.result().text, len(spoken.result().artifacts)) == ("Hello", 1)


def test_what_is_said_of_another_task_is_not_news() -> None:
    view = View()
    news(view, task("WORKING"))
    others = [task("COMPLETED", "No"), status_update("COMPLETED"), piece("No", append=False)]
    others[0]["task"]["id"] = others[1]["statusUpdate"]["taskId"] = others[2]["artifactUpdate"]["taskId"] = "other"
    assert news(view, *others) == []
    assert not view.is_settled
    assert view.result().artifacts == ()


@given(st.lists(st.tuples(st.text(max_size=5), st.booleans(), st.sampled_from(["a0", "a1"])), max_size=12))
def test_whatever_comes_the_deltas_make_up_the_answer(pieces: list[tuple[str, bool, str]]) -> None:
    view = View()
    events = news(view, *(piece(text, append=append, artifact=name) for text, append, name in pieces))
    answer = view.result()
    assert text_of(events) == answer.text
    whole = ["".join(part.text for part in made.parts if isinstance(part, Text)) for made in answer.artifacts]
    assert answer.text == "\n\n".join(text for text in whole if text)


def test_what_became_of_a_history_is_read_where_it_is_told() -> None:
    view = View()
    told = task("COMPLETED")
    for history in ("yes", {"seeded": 2, "skipped": 0, "reason": "cold_start"}):
        told["task"]["metadata"] = {"history": history}
        news(view, told)
    news(view, task("COMPLETED"))
    assert view.result().history == SeedOutcome(seeded=2, skipped=0, reason="cold_start")


def test_the_name_of_an_artifact_is_kept_from_its_first_piece() -> None:
    view = View()
    named = piece("one", append=False)
    named["artifactUpdate"]["artifact"] |= {"name": "n", "description": "d"}
    news(view, named, piece(" two"))
    assert view.result().artifacts == (
        Artifact(artifact_id="a0", name="n", description="d", parts=(Text.of("one two"),)),
    )


def test_a_text_that_is_withdrawn_is_none_of_the_answer() -> None:
    view = View()
    gone = piece("", append=False, last=True)
    gone["artifactUpdate"]["artifact"]["metadata"] = {"withdrawn": True}
    events = news(view, piece("I think", append=False), gone, gone, piece("Sure", append=False, artifact="a1"))
    assert events[1:] == [Delta(text="I think"), Delta(text="", restart=True), Delta(text="Sure")]
    assert view.result().text == "Sure"
    assert view.result().artifacts == (Artifact(artifact_id="a1", parts=(Text.of("Sure"),)),)
