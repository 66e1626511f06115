import msgspec
import pytest
from tests.unit.cli.conftest import Json, message, task

from llamon_agent.cli.exits import Exit
from llamon_agent.cli.report import Outcome, new_view, outcome_of
from llamon_agent.client.answers import UNNAMED
from llamon_agent.domain.events import Question
from llamon_agent.wire.v10.codec import Client10


def after(*events: Json) -> Outcome:
    view = new_view()
    for event in events:
        list(view.apply(Client10().read_event(msgspec.json.encode(event))))
    return outcome_of(view)


@pytest.mark.parametrize(
    ("event", "exit_code"),
    [
        (task("COMPLETED"), Exit.OK),
        ({"message": message("hi")}, Exit.OK),
        (task("FAILED"), Exit.ENDED_BADLY),
        (task("REJECTED"), Exit.ENDED_BADLY),
        (task("CANCELED"), Exit.ENDED_BADLY),
        (task("INPUT_REQUIRED"), Exit.ASKS),
        (task("AUTH_REQUIRED"), Exit.ASKS),
        (task("WORKING"), Exit.UNREACHED),
        (task("SUBMITTED"), Exit.UNREACHED),
    ],
)
def test_every_state_has_its_exit_code(event: Json, exit_code: Exit) -> None:
    assert after(event).exit is exit_code


def test_no_event_is_no_answer() -> None:
    assert after().exit is Exit.UNREACHED


def test_a_bad_end_without_a_reason_still_says_so() -> None:
    assert after(task("FAILED")).error == "The task failed."


def test_a_pause_without_words_still_asks() -> None:
    outcome = after(task("INPUT_REQUIRED"))
    assert outcome.question == "The agent waits for an answer."
    assert outcome.asked == (Question(id=UNNAMED, value=""),)
