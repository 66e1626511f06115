"""From pending interrupts to a question for the caller, and from the caller's answer to the graph's resume values.

Rules. Answers go by interrupt id, never by order. Several pending questions are answered by id; questions without an
answer stay pending. An answer is checked as a whole before anything runs; if one part is wrong, nothing is resumed and
all is asked again. Resume values by id may also be false, "", 0, [] and {}, which a bare resume value cannot be.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from langgraph.types import Interrupt as GraphInterrupt
from pydantic_core import to_jsonable_python

from llamon_agent.adapters.langgraph.hitl.approvals import Decision, Decisions, Inbox
from llamon_agent.adapters.langgraph.hitl.formats import (
    BREAKPOINT,
    NODE_INTERRUPT,
    AnswerFormat,
    Free,
    InvalidAnswer,
    NewInput,
    OneOf,
    Typed,
    YesNo,
)
from llamon_agent.domain.errors import AgentError
from llamon_agent.domain.events import Interrupt, Question, listed_choices
from llamon_agent.domain.message import Data, Message, Metadata, Raw, Text, Url
from llamon_agent.domain.plain import is_plain, json_of

AUTH = "auth"
"""The only key of a question that asks for a sign-in: interrupt({"auth": what to do}). It is answered like others."""

ANSWERS = "answers"
"""The key under which data answers several questions: {"answers": {interrupt id: value}}."""

_WORDING = ("question", "message", "prompt", "text", "description", "query", "title")
"""The keys under which objects usually keep their question."""


class CallerAnswer(msgspec.Struct, frozen=True):
    """A caller's answer.

    Shape: text is None where there was no text part; data holds the data parts. If there is data, it is the answer, and
           the text is ignored. A file is not an answer, and is not ignored either.
    """

    text: str | None = None
    data: tuple[Any, ...] = ()
    has_files: bool = False

    @classmethod
    def of(cls, message: Message, prompt: str) -> "CallerAnswer":
        data = tuple(part.data for part in message.parts if isinstance(part, Data))
        has_text = any(isinstance(part, Text) for part in message.parts)
        has_files = any(isinstance(part, Raw | Url) for part in message.parts)
        return cls(prompt if has_text else None, data, has_files)


class Resume(msgspec.Struct, frozen=True):
    """Resume with these values, by interrupt id; questions that are not among them stay pending."""

    values: dict[str, Any]


class Unclear(msgspec.Struct, frozen=True):
    """Ask again; `note` says why."""

    note: str


def question_of(interrupt: "GraphInterrupt[Any]") -> Question:
    """A pending interrupt as JSON: a value without a JSON form becomes its type's name, never its text."""
    schema = getattr(interrupt, "response_schema", None)
    return with_choices(
        Question(
            id=interrupt.id,
            value=json_safe(interrupt.value),
            schema=json_safe(schema) if isinstance(schema, dict) else None,
        )
    )


def with_choices(question: Question) -> Question:
    """The question with the answers that its format lists."""
    return msgspec.structs.replace(question, choices=format_of(question).choices)


def json_safe(value: Any) -> Any:
    """A value of a graph as JSON. Models and messages become objects; arrays and numbers of numpy and the like become
    plain ones; a value without a JSON form becomes its type's name.
    """
    try:
        safe = to_jsonable_python(value, fallback=_listed_or_named, bytes_mode="base64", inf_nan_mode="null")
    except ValueError:  # it contains itself, or a key holds a surrogate
        safe = value
    try:
        return safe if is_plain(safe) else json_of(safe)
    except AgentError:  # too deep, or a number that is too long
        return _type_name(value)


def ask(questions: Sequence[Question], note: str | None = None) -> Interrupt:
    """All the questions as one pause; it is a sign-in if they all ask for one.

    Shape: each question's words and what to answer; with ids where there are several, as answers must name them then.
    """
    several = len(questions) > 1
    lines = [note] if note else []
    for question in questions:
        words = _wording(question)
        lines.append(f"[{question.id}] {words}" if several else words)
    if several:
        lines.append(f'Answer by id with data: {{"{ANSWERS}": {{"<id>": <answer>}}}}.')
    auth = bool(questions) and all(_is_for_auth(question.value) for question in questions)
    return Interrupt(text="\n".join(lines), questions=tuple(questions), auth=auth)


def decide_answer(questions: Sequence[Question], answer: CallerAnswer) -> Resume | Unclear:
    """What an answer means for the pending questions."""
    try:
        values = _values(questions, answer)
        _check_storable(values)
        return Resume(values)
    except InvalidAnswer as exc:
        return Unclear(f"That answer was not taken: {exc}.")


def _values(questions: Sequence[Question], answer: CallerAnswer) -> dict[str, Any]:
    if answer.has_files:
        raise InvalidAnswer("a file is no answer here, send text or data")
    if len(answer.data) > 1:
        raise InvalidAnswer("send one data part")
    if answer.data:
        return _values_of_data(questions, answer.data[0])
    if answer.text is None:
        raise InvalidAnswer("it has neither text nor data")
    only = _only(questions)
    return {only.id: format_of(only).from_text(answer.text)}


def _values_of_data(questions: Sequence[Question], data: Any) -> dict[str, Any]:
    if not (isinstance(data, dict) and data.keys() == {ANSWERS} and isinstance(data[ANSWERS], dict)):
        only = _only(questions)
        return {only.id: format_of(only).from_data(data)}
    pending = {question.id: question for question in questions}
    given: Metadata = data[ANSWERS]
    if not given:
        raise InvalidAnswer("it answers nothing")
    if unknown := [key for key in given if key not in pending]:
        raise InvalidAnswer(f"there is no pending question '{unknown[0]}'")
    return {key: format_of(pending[key]).from_data(value) for key, value in given.items()}


def _check_storable(value: Any) -> None:
    """Refuse what no checkpoint can hold. Else that would show only when the node after the question has run.

    Raises: InvalidAnswer.
    Source: MessagePack's integers, in which LangGraph saves its state, go from int 64 to uint 64.
    """
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            _check_storable(inner)
    elif isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise InvalidAnswer("it holds an integer of more than 64 bits")


def _only(questions: Sequence[Question]) -> Question:
    if len(questions) > 1:
        raise InvalidAnswer("several questions are pending, so it must say which one it answers")
    return questions[0]


def format_of(question: Question) -> AnswerFormat:
    """The format of a question's answer."""
    value = question.value
    if question.id == NODE_INTERRUPT:
        return NewInput()
    if Decisions.fits(value):
        return Decisions(value)
    if Decision.fits(value):
        return Decision(question.schema)
    if Inbox.fits(value):
        return Inbox(value)
    if isinstance(value, dict) and BREAKPOINT in value and question.id.startswith(BREAKPOINT):
        return YesNo()
    if question.schema is not None:
        return Typed(question.schema)
    listed = listed_choices(value)
    return OneOf(listed) if listed else Free()


def _wording(question: Question) -> str:
    words = _words_of(question.value)
    hint = format_of(question).hint
    return f"{words}\n{hint}" if hint else words


def _words_of(value: Any) -> str:
    """A question's words: its text, or the actions that it is about, or else its value as JSON."""
    if isinstance(value, str):
        return value
    if Decisions.fits(value):
        return "\n".join(_action_words(action) for action in value["action_requests"])
    if Decision.fits(value):
        return _action_words(value)
    if Inbox.fits(value):
        return "\n".join(_inbox_words(request) for request in (value if isinstance(value, list) else [value]))
    if _is_for_auth(value):
        return _words_of(value[AUTH])
    if isinstance(value, dict):
        for key in _WORDING:
            if isinstance(words := value.get(key), str) and words:
                return words
    return msgspec.json.encode(value).decode()


def _is_for_auth(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {AUTH}


def _action_words(action: Metadata) -> str:
    """A tool call to be approved. Its arguments are shown: a person must see what they approve."""
    described = action.get("description")
    if isinstance(described, str) and described:
        return described
    arguments = msgspec.json.encode(action.get("args", {})).decode()
    return f"{action.get('name')} {arguments}"


def _inbox_words(request: Metadata) -> str:
    action = request["action_request"]
    action = action if isinstance(action, dict) else {}
    return _action_words(
        {"description": request.get("description"), "name": action.get("action"), "args": action.get("args")}
    )


def _type_name(value: object) -> str:
    return f"<{type(value).__name__}>"


def _listed_or_named(value: object) -> object:
    listed = getattr(value, "tolist", None)
    return _type_name(value) if listed is None else listed()
