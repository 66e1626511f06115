"""The shapes of questions, and how an answer to each is read.

A graph may ask anything: `interrupt()` takes any value. Some shapes are known, though, and their answers have a form
that the graph relies on. For each there is a class that says in words what it takes (`hint`), and reads an answer given
as text or as data into the value that the graph is resumed with.

The rule for all of them: an answer that is not clear is a Misfit, and the question is asked again. Nothing is guessed.
"""

from typing import Any, Protocol

import msgspec

from llamon_agent.adapters.langgraph.schema import misfit
from llamon_agent.adapters.langgraph.words import read_verdict
from llamon_agent.domain.message import Metadata

BREAKPOINT = "breakpoint"
"""The key that marks the question of a static breakpoint, and the front of its id."""


class Misfit(ValueError):
    """An answer that does not fit its question; the text says why, for the caller."""


class Shape(Protocol):
    """How the answer to one question is read."""

    @property
    def hint(self) -> str:
        """What to answer, in words; empty where anything goes."""
        ...

    def from_text(self, text: str) -> Any:
        """The value to resume with. Raises: Misfit."""
        ...

    def from_data(self, data: Any) -> Any:
        """The value to resume with. Raises: Misfit."""
        ...


class Free:
    """Anything goes: the text or the data itself is the answer. Only null is none, as it says nothing."""

    hint = ""

    def from_text(self, text: str) -> Any:
        return text

    def from_data(self, data: Any) -> Any:
        if data is None:
            raise Misfit("null is no answer")
        return data


class YesNo:
    """A static breakpoint: go on or stop."""

    hint = "Answer yes to go on or no to stop."

    def from_text(self, text: str) -> Any:
        if (verdict := read_verdict(text)) is None:
            raise Misfit("it is not a clear yes or no")
        return verdict.approved

    def from_data(self, data: Any) -> Any:
        if isinstance(data, str):
            return self.from_text(data)
        if not isinstance(data, bool):
            raise Misfit("it must be true or false")
        return data


class Choice:
    """One of the options that the question lists.

    Shape: an option is a scalar, or an object with `value` (what the graph gets) and maybe `label` (what people see).
    """

    def __init__(self, options: list[Any]) -> None:
        self._values = [_value_of(option) for option in options]
        self._names = [_name_of(option) for option in options]

    @property
    def hint(self) -> str:
        return "Answer one of: " + ", ".join(self._names) + "."

    def from_text(self, text: str) -> Any:
        """Source: a name or value typed as it stands, or a clear yes or no where exactly one option means just that."""
        wanted = text.strip().casefold()
        for value, name in zip(self._values, self._names, strict=True):
            if wanted in (name.casefold(), str(value).casefold()):
                return value
        alike = [value for value in self._values if isinstance(value, str) and _agree(text, value)]
        if len(alike) == 1:
            return alike[0]
        raise Misfit("it is none of the options")

    def from_data(self, data: Any) -> Any:
        for value in self._values:
            if type(value) is type(data) and value == data:
                return value
        if isinstance(data, str):
            return self.from_text(data)
        raise Misfit("it is none of the options")


class Typed:
    """An answer that fits a JSON Schema. Source: langgraph interrupt(response_schema=...)."""

    def __init__(self, schema: Metadata) -> None:
        self._schema = schema

    @property
    def hint(self) -> str:
        return "Answer with data that fits this schema: " + msgspec.json.encode(self._schema).decode()

    def from_text(self, text: str) -> Any:
        """Text is tried as it stands, then as JSON, then as a yes or no."""
        candidates = [text, *_json_in(text)]
        if verdict := read_verdict(text):
            candidates.append(verdict.approved)
        for candidate in candidates:
            if misfit(candidate, self._schema) is None:
                return candidate
        raise Misfit(misfit(text, self._schema) or "it does not fit")

    def from_data(self, data: Any) -> Any:
        if reason := misfit(data, self._schema):
            raise Misfit(reason)
        return data


def _agree(text: str, option: str) -> bool:
    """Whether both are a clear yes, or both a clear no."""
    said, offered = read_verdict(text), read_verdict(option)
    return said is not None and offered is not None and said.approved is offered.approved


def _value_of(option: Any) -> Any:
    return option.get("value", option) if isinstance(option, dict) else option


def _name_of(option: Any) -> str:
    if isinstance(option, dict):
        return str(option.get("label", option.get("value", "")))
    return str(option)


def _json_in(text: str) -> list[Any]:
    try:
        return [msgspec.json.decode(text)]
    except (msgspec.DecodeError, RecursionError):
        return []
