import pytest

from llamon_agent.cli.questions import answer_parts, pick
from llamon_agent.domain.events import Choice, Question
from llamon_agent.domain.message import Data, Text

MENU = Question(id="q1", value="?", choices=(Choice("Keep", "k"), Choice("2", 22), Choice("drop", "d")))


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("keep", "k"),
        (" DROP ", "d"),
        ("1", "k"),
        ("3", "d"),
        ("2", 22),
        ("4", "4"),
        ("0", "0"),
        ("yes, keep", "yes, keep"),
    ],
)
def test_a_name_goes_before_a_number_and_all_else_is_itself(line: str, value: object) -> None:
    assert pick(MENU, line).value == value


@pytest.mark.parametrize(("line", "value"), [("7", 7), ('{"a": 1}', {"a": 1}), ("plain", "plain")])
def test_an_answer_with_a_schema_may_be_typed_as_json(line: str, value: object) -> None:
    assert pick(Question(id="q", value="?", schema={}), line).value == value


def test_one_question_is_answered_in_words_and_several_by_id() -> None:
    yes, no = Choice("yes", True), Choice("no", False)
    one, other = (Question(id=name, value="?", choices=(yes, no)) for name in ("q1", "q2"))
    assert answer_parts([one], [yes]) == (Text.of("yes"),)
    assert answer_parts([one, other], [yes, no]) == (Data(data={"answers": {"q1": True, "q2": False}}),)
