"""What an error says, and to whom."""

import pytest

from llamon_agent.client.answers import Answer
from llamon_agent.client.errors import Refused, RemoteError, TaskFailed
from llamon_agent.domain.errors import AgentError
from llamon_agent.domain.task import TaskState


def test_the_remote_agents_words_stay_out_of_the_public_text() -> None:
    error = Refused(said="no paper in tray 2")
    assert error.said == "no paper in tray 2"
    assert "paper" not in error.public
    assert "paper" not in str(error)


def test_a_remote_failure_is_an_agents_failure() -> None:
    assert issubclass(RemoteError, AgentError)


@pytest.mark.parametrize(
    ("state", "words"),
    [(TaskState.FAILED, "failed"), (TaskState.CANCELED, "canceled"), (TaskState.REJECTED, "rejected")],
)
def test_a_task_without_an_answer_says_how_it_ended(state: TaskState, words: str) -> None:
    answer = Answer(text="half", state=state, question="out of paper")
    error = TaskFailed(answer)
    assert words in error.public
    assert (error.answer, error.said) == (answer, "out of paper")
