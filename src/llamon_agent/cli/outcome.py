"""How a turn ended, in words and as an exit code: pure."""

import msgspec

from llamon_agent.cli.exits import Exit
from llamon_agent.cli.hearing import Hearing, status_words
from llamon_agent.cli.questions import Asked, read_questions
from llamon_agent.domain.task import TaskState, TaskStatus

_BAD_ENDS = {
    TaskState.FAILED: "The task failed",
    TaskState.REJECTED: "The agent rejected the task",
    TaskState.CANCELED: "The task was canceled",
}


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What is left to say at the end of a turn.

    Shape: question is what the agent asks, asked the same for a program to answer; error is what went wrong.
    """

    exit: Exit
    question: str = ""
    asked: tuple[Asked, ...] = ()
    error: str = ""


def outcome_of(hearing: Hearing) -> Outcome:
    """What a turn came to, once there is nothing more to hear."""
    match hearing.status:
        case None if hearing.replied:
            return Outcome(exit=Exit.OK)
        case TaskStatus(state=TaskState.COMPLETED):
            return Outcome(exit=Exit.OK)
        case TaskStatus(state=TaskState.INPUT_REQUIRED | TaskState.AUTH_REQUIRED) as status:
            question = status_words(status) or "The agent waits for an answer."
            return Outcome(exit=Exit.ASKS, question=question, asked=read_questions(status.message))
        case TaskStatus(state=TaskState.FAILED | TaskState.REJECTED | TaskState.CANCELED as state) as status:
            why = status_words(status)
            return Outcome(exit=Exit.ENDED_BADLY, error=f"{_BAD_ENDS[state]}: {why}" if why else f"{_BAD_ENDS[state]}.")
        case _:
            return Outcome(exit=Exit.UNREACHED, error="The answer is not complete; the task goes on without us.")
