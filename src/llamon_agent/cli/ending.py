"""How a command that asked one thing of an agent tells the answer, and ends."""

import re
from collections.abc import Callable, Iterator

import msgspec

from llamon_agent.cli.client import Told
from llamon_agent.cli.exits import Exit
from llamon_agent.cli.hearing import Hearing
from llamon_agent.cli.outcome import Outcome
from llamon_agent.cli.questions import Asked
from llamon_agent.cli.screen import Screen, complain
from llamon_agent.cli.talk import show


def teller(screen: Screen, hearing: Hearing, *, as_json: bool) -> Callable[[Told], None]:
    """What passes on what the agent tells: as it was written, or as words."""

    def tell(told: Told) -> None:
        news = hearing.hear(told.heard)
        if as_json:
            screen.json(msgspec.json.format(told.raw, indent=-1).decode())
        else:
            show(screen, news)

    return tell


def finish(screen: Screen, hearing: Hearing, outcome: Outcome, url: str, *, as_json: bool) -> Exit:
    """Say what is left to say: what went wrong, the question if there is one, and how to go on."""
    screen.end()
    if outcome.error:
        complain(outcome.error)
    if not as_json:
        if outcome.exit is Exit.ASKS:
            screen.line(outcome.question)
        for hint in hints(hearing, outcome, url):
            screen.note(hint)
    return outcome.exit


def hints(hearing: Hearing, outcome: Outcome, url: str) -> Iterator[str]:
    """How to go on, and what a person would wonder about."""
    task_id, context_id = hearing.task_id, hearing.context_id
    if outcome.exit is Exit.ASKS:
        yield from _choices(outcome)
        yield f"answer with: llamon send {url} ANSWER --task {task_id}"
        return
    if outcome.exit is Exit.OK and hearing.is_over and not hearing.has_spoken:
        yield "the agent said nothing"
    if task_id is None:
        return
    if hearing.is_over:
        yield f"task {task_id}, go on with --context {context_id}"
    else:
        yield f"task {task_id} in context {context_id}, get its answer with: llamon get {url} {task_id}"


def _choices(outcome: Outcome) -> Iterator[str]:
    """The known answers to each question whose words do not name them all."""
    for asked in outcome.asked:
        if asked.choices and not _names_all(outcome.question, asked):
            yield "choices: " + ", ".join(choice.label for choice in asked.choices)


def _names_all(question: str, asked: Asked) -> bool:
    return all(re.search(rf"(?<!\w){re.escape(choice.label)}(?!\w)", question) for choice in asked.choices)
