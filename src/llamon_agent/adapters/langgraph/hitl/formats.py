"""The kinds of questions, and how an answer to each is read.

A graph may ask anything: `interrupt()` takes any value. For some kinds of questions the graph relies on a form of the
answer. Each has a class that says in words what it takes (`hint`), and turns an answer, text or data, into the value
that the graph is resumed with. An answer that is not clear is an InvalidAnswer, and the question is asked again.
Nothing is guessed.

An approval may be given in words, in English and Korean. A word counts only if it is the whole answer: "yes, delete it"
may mean another "it" than the question did, so it is not clear, and what is not clear is never a yes. A no may have its
reason after punctuation: to stop is safe, and the reason helps.
"""

import re
from typing import Any, Protocol

import msgspec

from llamon_agent.adapters.langgraph.hitl.json_schema import mismatch
from llamon_agent.domain.events import Choice
from llamon_agent.domain.message import Metadata

BREAKPOINT = "breakpoint"
"""The key that marks the question of a static breakpoint, and the beginning of its id."""

_YES = frozenset(
    {
        "y",
        "yes",
        "yes please",
        "ok",
        "okay",
        "sure",
        "approve",
        "approved",
        "accept",
        "accepted",
        "confirm",
        "confirmed",
    }
    | {"go ahead", "승인", "승인합니다", "승인해", "네", "예", "네 승인합니다", "동의", "동의합니다"}
)
_NO = frozenset(
    {"n", "no", "no thanks", "reject", "rejected", "deny", "denied", "decline", "declined", "refuse", "stop"}
    | {"거절", "거절합니다", "거부", "거부합니다", "아니", "아니오", "아니요", "안돼", "안 돼"}
)
_ALL = re.compile(r"(?:(?P<word>.+) all|(?:모두|전체) ?(?P<korean>.+))\Z")
_REASONED = re.compile(r"(?P<word>[^\s,.;:!—–-]+)\s*[,.;:!—–-]\s*(?P<reason>\S.*)\Z", re.DOTALL)


NODE_INTERRUPT = "placeholder-id"
"""The id of the question of a node that raises NodeInterrupt. Source: langgraph.types.Interrupt, without an id."""

_RESPONSE = re.compile(
    r"\s*(?:respond|response|reply|응답|답변)\s*[:：]\s*(?P<words>\S.*?)\s*\Z", re.DOTALL | re.IGNORECASE
)


def in_words(*words: str) -> tuple[Choice, ...]:
    """Choices that are given in these words."""
    return tuple(Choice(word, word) for word in words)


class InvalidAnswer(ValueError):
    """An answer that does not fit its question; the text says why, for the caller."""


class AnswerFormat(Protocol):
    """How the answer to one question is read."""

    @property
    def hint(self) -> str:
        """What to answer, in words; empty where any answer will do."""
        ...

    @property
    def choices(self) -> tuple[Choice, ...]:
        """The right answers, where they are few; empty where others are right, too, and cannot be listed."""
        ...

    def from_text(self, text: str) -> Any:
        """The value to resume with. Raises: InvalidAnswer."""
        ...

    def from_data(self, data: Any) -> Any:
        """The value to resume with. Raises: InvalidAnswer."""
        ...


class Free:
    """Any text or data is the answer, except null."""

    hint = ""
    choices: tuple[Choice, ...] = ()

    def from_text(self, text: str) -> Any:
        return text

    def from_data(self, data: Any) -> Any:
        if data is None:
            raise InvalidAnswer("null is no answer")
        return data


class NewInput(Free):
    """The question of a NodeInterrupt, which reads no answer: the node raises it again until the state has changed."""

    hint = "This question reads no answer: what you send becomes new input of the agent, and the step runs again."


class YesNo:
    """A static breakpoint: go on or stop."""

    hint = "Answer yes to go on or no to stop."
    choices = in_words("yes", "no")

    def from_text(self, text: str) -> Any:
        if (approval := read_approval(text)) is None:
            raise InvalidAnswer("it is not a clear yes or no")
        return approval.approved

    def from_data(self, data: Any) -> Any:
        if isinstance(data, str):
            return self.from_text(data)
        if not isinstance(data, bool):
            raise InvalidAnswer("it must be true or false")
        return data


class OneOf:
    """One of the options that the question lists; `value` is what the graph gets."""

    def __init__(self, choices: tuple[Choice, ...]) -> None:
        self.choices = choices

    @property
    def hint(self) -> str:
        return "Answer one of: " + ", ".join(choice.label for choice in self.choices) + "."

    def from_text(self, text: str) -> Any:
        """A name or a value as it is listed; or a clear yes or no, where exactly one option means that."""
        wanted = text.strip().casefold()
        for choice in self.choices:
            if wanted in (choice.label.casefold(), str(choice.value).casefold()):
                return choice.value
        values = [choice.value for choice in self.choices]
        alike = [value for value in values if isinstance(value, str) and _means_the_same(text, value)]
        if len(alike) == 1:
            return alike[0]
        raise InvalidAnswer("it is none of the options")

    def from_data(self, data: Any) -> Any:
        for choice in self.choices:
            if type(choice.value) is type(data) and choice.value == data:
                return choice.value
        if isinstance(data, str):
            return self.from_text(data)
        raise InvalidAnswer("it is none of the options")


class Typed:
    """An answer that fits a JSON Schema. Source: langgraph interrupt(response_schema=...)."""

    def __init__(self, schema: Metadata) -> None:
        self._schema = schema

    @property
    def hint(self) -> str:
        return (
            "Answer with JSON that fits this schema, as data or as text: " + msgspec.json.encode(self._schema).decode()
        )

    @property
    def choices(self) -> tuple[Choice, ...]:
        match self._schema:
            case {"enum": list(values)}:
                return tuple(Choice(str(value), value) for value in values)
            case {"type": "boolean"}:
                return (Choice("yes", True), Choice("no", False))
        return ()

    def from_text(self, text: str) -> Any:
        """Text is tried as it is, then as JSON, then as a yes or no."""
        candidates = [text, *_json_in(text)]
        if approval := read_approval(text):
            candidates.append(approval.approved)
        for candidate in candidates:
            if mismatch(candidate, self._schema) is None:
                return candidate
        raise InvalidAnswer(mismatch(text, self._schema) or "it does not fit")

    def from_data(self, data: Any) -> Any:
        if reason := mismatch(data, self._schema):
            raise InvalidAnswer(reason)
        return data


class ApprovalWords(msgspec.Struct, frozen=True):
    """A clear yes or no.

    Shape: everything: it is for all that was asked ("approve all"); reason goes with a no.
    """

    approved: bool
    everything: bool = False
    reason: str | None = None


def read_approval(text: str) -> ApprovalWords | None:
    """The yes or no in an answer; None where it is not clear."""
    words = _plain(text)
    if (approved := _yes_or_no(words)) is not None:
        return ApprovalWords(approved)
    if (found := _ALL.match(words)) and (approved := _yes_or_no(found["word"] or found["korean"])) is not None:
        return ApprovalWords(approved, everything=True)
    if (found := _REASONED.match(text.strip())) and _yes_or_no(_plain(found["word"])) is False:
        return ApprovalWords(approved=False, reason=found["reason"].strip())
    return None


def read_response(text: str) -> str | None:
    """The words of an answer such as "respond: use another name"; None where it is none."""
    found = _RESPONSE.match(text)
    return found and found["words"]


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(" .!。！")


def _yes_or_no(words: str) -> bool | None:
    if words in _YES:
        return True
    return False if words in _NO else None


def _means_the_same(text: str, option: str) -> bool:
    """Whether both are a clear yes, or both a clear no."""
    given, offered = read_approval(text), read_approval(option)
    return given is not None and offered is not None and given.approved is offered.approved


def _json_in(text: str) -> list[Any]:
    try:
        return [msgspec.json.decode(text)]
    except (msgspec.DecodeError, RecursionError):
        return []
