"""How a turn ended, in words and as an exit code, and how a command that asked one thing of an agent ends."""

import re
from collections.abc import Callable, Iterator

import msgspec

from llamon_agent.cli.conversation import TerminalText, show, status_words
from llamon_agent.cli.exits import Exit
from llamon_agent.cli.screen import Screen, complain
from llamon_agent.client.answers import questions_of
from llamon_agent.client.rpc import Reply
from llamon_agent.client.task_view import TaskView
from llamon_agent.domain.events import Question
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
    asked: tuple[Question, ...] = ()
    error: str = ""


def new_view() -> TaskView:
    """A task as a terminal shows it."""
    return TaskView(TerminalText())


def outcome_of(view: TaskView) -> Outcome:
    """What a turn came to, once there is nothing more to come."""
    match view.status:
        case None if view.is_reply:
            return Outcome(exit=Exit.OK)
        case TaskStatus(state=TaskState.COMPLETED):
            return Outcome(exit=Exit.OK)
        case TaskStatus(state=TaskState.INPUT_REQUIRED | TaskState.AUTH_REQUIRED) as status:
            question = status_words(status) or "The agent waits for an answer."
            return Outcome(exit=Exit.ASKS, question=question, asked=questions_of(status.message))
        case TaskStatus(state=TaskState.FAILED | TaskState.REJECTED | TaskState.CANCELED as state) as status:
            why = status_words(status)
            return Outcome(exit=Exit.ENDED_BADLY, error=f"{_BAD_ENDS[state]}: {why}" if why else f"{_BAD_ENDS[state]}.")
        case _:
            return Outcome(exit=Exit.UNREACHED, error="The answer is not complete; the task goes on without us.")


def reply_printer(screen: Screen, view: TaskView, *, as_json: bool) -> Callable[[Reply], None]:
    """What shows each reply: as it was written, or as words."""

    def show_reply(reply: Reply) -> None:
        news = list(view.apply(reply.event))
        if as_json:
            # what nobody has read of it may hold any bytes
            screen.json(msgspec.json.format(reply.raw, indent=-1).decode("utf-8", "replace"))
        else:
            show(screen, news)

    return show_reply


def finish(screen: Screen, view: TaskView, outcome: Outcome, url: str, *, as_json: bool) -> Exit:
    """Say what is left to say: what went wrong, the question if there is one, and how to go on."""
    screen.end()
    if outcome.error:
        complain(outcome.error)
    if not as_json:
        if outcome.exit is Exit.ASKS:
            screen.line(outcome.question)
        for hint in hints(view, outcome, url):
            screen.note(hint)
    return outcome.exit


def hints(view: TaskView, outcome: Outcome, url: str) -> Iterator[str]:
    """How to go on, and what a person would wonder about."""
    task_id, context_id = view.task_id, view.context_id
    if outcome.exit is Exit.ASKS:
        yield from _choices(outcome)
        if task_id is not None:
            yield f"answer with: llamon send {url} ANSWER --task {task_id}"
        return
    if outcome.exit is Exit.OK and view.is_over and view.text.is_empty:
        yield "the agent said nothing"
    if task_id is None:
        return
    if view.is_over:
        yield f"task {task_id}" + (f", go on with --context {context_id}" if context_id else "")
    else:
        where = f" in context {context_id}" if context_id else ""
        yield f"task {task_id}{where}, get its answer with: llamon get {url} {task_id}"


def _choices(outcome: Outcome) -> Iterator[str]:
    """The known answers to each question whose words do not name them all."""
    for asked in outcome.asked:
        if asked.choices and not _names_all(outcome.question, asked):
            yield "choices: " + ", ".join(choice.label for choice in asked.choices)


def _names_all(question: str, asked: Question) -> bool:
    return all(re.search(rf"(?<!\w){re.escape(choice.label)}(?!\w)", question) for choice in asked.choices)
