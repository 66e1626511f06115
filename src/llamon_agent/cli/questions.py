"""What a person's line of answer means for a question: pure.

Where the right answers are known they are offered, by number or by name; anything else that is typed goes to the agent
as it stands, which asks again if it is unclear. Nothing is ever taken for a yes here.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from llamon_agent.domain.events import Choice, Question
from llamon_agent.domain.message import Data, Part, Text


def pick(asked: Question, line: str) -> Choice:
    """What a typed line answers: a choice by its name, else by its number from 1, else just what it says."""
    typed = line.strip()
    by_name = {choice.label.casefold(): choice for choice in asked.choices}
    if (choice := by_name.get(typed.casefold())) is not None:
        return choice
    if typed.isdecimal() and 1 <= int(typed) <= len(asked.choices):
        return asked.choices[int(typed) - 1]
    return Choice(line, line if asked.schema is None else _json(line))


def _json(line: str) -> Any:
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return line


def answer_parts(asked: Sequence[Question], picked: Sequence[Choice]) -> tuple[Part, ...]:
    """The answer to send: the words for one question, values by id for several."""
    if len(asked) == 1:
        return (Text.of(picked[0].label),)
    answers = {question.id: choice.value for question, choice in zip(asked, picked, strict=True)}
    return (Data(data={"answers": answers}),)
