"""The questions of a paused task, and what a person's line of answer means: pure.

A pause carries its questions as data: `{"questions": [{"id", "value", "schema"?}, ...]}`. Where the right answers are
known they are offered, by number or by name; anything else that is typed goes to the agent as it stands, which asks
again if it is unclear. Nothing is ever taken for a yes here.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from llamon_agent.domain.message import Data, Message, Part, Text


class Choice(msgspec.Struct, frozen=True):
    """An answer that can be picked: what people see, and what it is as data."""

    label: str
    value: Any


class Asked(msgspec.Struct, frozen=True):
    """One question. Without choices, anything may be answered; `typed` says that the answer has a schema."""

    id: str
    choices: tuple[Choice, ...]
    typed: bool = False


def read_questions(message: Message | None) -> tuple[Asked, ...]:
    """The questions in a status message; one without choices if the message has none as data."""
    listed = [one for part in (message.parts if message else ()) for one in _listed(part)]
    return tuple(_asked(one) for one in listed) or (Asked("", ()),)


def _listed(part: Part) -> list[Mapping[str, Any]]:
    questions = part.data.get("questions") if isinstance(part, Data) and isinstance(part.data, dict) else None
    return [one for one in questions if isinstance(one, dict)] if isinstance(questions, list) else []


def _asked(question: Mapping[str, Any]) -> Asked:
    value, schema = question.get("value"), question.get("schema")
    choices = _of_value(value) if isinstance(value, dict) else []
    if not choices and isinstance(schema, dict):
        choices = _of_schema(schema)
    return Asked(str(question.get("id", "")), tuple(choices), typed=isinstance(schema, dict))


def _of_value(value: Mapping[str, Any]) -> list[Choice]:
    """The choices of the shapes that are customary for approvals and menus."""
    match value:
        case {"action_requests": [_, _, *_]}:
            return _plain("approve all", "reject all")
        case {"review_configs": [{"allowed_decisions": list(allowed)}]}:
            return _plain(*(word for word in ("approve", "reject") if word in allowed))
        case {"type": "tool_approval"}:
            return _plain("approve", "reject")
        case {"action_request": _, "config": dict(config)}:
            words = {"allow_accept": "approve", "allow_ignore": "reject"}
            return _plain(*(word for key, word in words.items() if config.get(key)))
        case {"breakpoint": _}:
            return _plain("yes", "no")
        case {"options": list(options)} | {"choices": list(options)}:
            return [_option(option) for option in options]
    return []


def _of_schema(schema: Mapping[str, Any]) -> list[Choice]:
    match schema:
        case {"enum": list(values)}:
            return [_option(value) for value in values]
        case {"type": "boolean"}:
            return [Choice("yes", True), Choice("no", False)]
    return []


def _plain(*words: str) -> list[Choice]:
    return [Choice(word, word) for word in words]


def _option(option: Any) -> Choice:
    if isinstance(option, dict):
        value = option.get("value", option)
        return Choice(str(option.get("label", value)), value)
    return Choice(str(option), option)


def pick(asked: Asked, line: str) -> Choice:
    """What a typed line answers: a choice by its name, else by its number from 1, else just what it says."""
    typed = line.strip()
    by_name = {choice.label.casefold(): choice for choice in asked.choices}
    if (choice := by_name.get(typed.casefold())) is not None:
        return choice
    if typed.isdecimal() and 1 <= int(typed) <= len(asked.choices):
        return asked.choices[int(typed) - 1]
    return Choice(line, _json(line) if asked.typed else line)


def _json(line: str) -> Any:
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return line


def answer_parts(asked: Sequence[Asked], picked: Sequence[Choice]) -> tuple[Part, ...]:
    """The answer to send: the words for one question, values by id for several."""
    if len(asked) == 1:
        return (Text.of(picked[0].label),)
    answers = {question.id: choice.value for question, choice in zip(asked, picked, strict=True)}
    return (Data(data={"answers": answers}),)
