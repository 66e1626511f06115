"""The problems of a configuration in our words: the validator's own text is never shown.

A problem is a key and a predicate ("must be ..."), so that `place: key predicate` reads as a sentence.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from types import NoneType
from typing import Any, NamedTuple, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from llamon_agent.config.file import KeyPath, Source, dotted


class Problem(NamedTuple):
    """One problem: the key, and what is wrong with it."""

    path: KeyPath
    text: str


class Wrong(ValueError):
    """One of our own checks refuses a value; its text may be shown."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


_SECTION = "must be a section of `key: value` lines"
_WHOLE = "must be a whole number"
_NUMBER = "must be a number"
_FLAG = "must be true or false"

_WORDS: Mapping[str, str] = {
    "missing": "is required",
    "bool_type": _FLAG,
    "bool_parsing": _FLAG,
    "int_type": _WHOLE,
    "int_parsing": _WHOLE,
    "int_from_float": _WHOLE,
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "finite_number": _NUMBER,
    "string_type": "must be text; put it in quotes",
    "path_type": "must be text; put it in quotes",
    "dict_type": _SECTION,
    "model_type": _SECTION,
    "model_attributes_type": _SECTION,
    "tuple_type": "must be a list",
}

_LIMITS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "greater_than": lambda ctx: f"must be greater than {ctx['gt']:g}",
    "greater_than_equal": lambda ctx: f"must be at least {ctx['ge']:g}",
    "less_than_equal": lambda ctx: f"must be at most {ctx['le']:g}",
    "literal_error": lambda ctx: f"must be {ctx['expected'].replace(chr(39), '')}",
    "value_error": lambda ctx: ctx["error"].text if isinstance(ctx["error"], Wrong) else "is not valid",
}


def problems_in(error: ValidationError, model: type[BaseModel]) -> list[Problem]:
    """The validator's findings in our words, in its order."""
    return [_problem(detail, model) for detail in error.errors(include_url=False, include_input=False)]


def _problem(detail: ErrorDetails, model: type[BaseModel]) -> Problem:
    path = tuple(part for part in detail["loc"] if part != "[key]")
    kind = detail["type"]
    if kind == "extra_forbidden":
        return Problem(path, _unknown_key(path, model))
    if kind in _LIMITS:
        return Problem(path, _LIMITS[kind](detail["ctx"]))
    return Problem(path, _WORDS.get(kind, "is not valid"))


def _unknown_key(path: KeyPath, model: type[BaseModel]) -> str:
    known = _keys_at(path[:-1], model)
    near = get_close_matches(str(path[-1]).lower(), known, n=1)
    return (
        f"is not a known key; did you mean {near[0]}?" if near else f"is not a known key; known are {', '.join(known)}"
    )


def _keys_at(path: KeyPath, model: type[BaseModel]) -> list[str]:
    """The keys that the section at `path` knows."""
    at: Any = model
    for part in path:
        at = _inside(at, part)
    return list(at.model_fields)


def _inside(at: Any, part: str | int) -> Any:
    """The type at `part`: of a model's field, or of the entries of a mapping or a list."""
    if not _is_model(at):
        return next(arg for arg in get_args(at) if _is_model(arg))
    annotation = at.model_fields[str(part)].annotation
    choices = get_args(annotation)
    return choices[0] if NoneType in choices else annotation


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def explain(problems: Iterable[Problem], sources: Sequence[Source]) -> str:
    """One line for each problem: the place, the key, what is wrong; a file's problems in the order of its lines.

    Shape: sources are in the order of their priority, the file last; a key that none of them has is missing there.
    """

    def source_of(path: KeyPath) -> int:
        return next((number for number, source in enumerate(sources) if source.has(path)), len(sources) - 1)

    found = [(source_of(path), path, text) for path, text in problems]
    found.sort(key=lambda one: (one[0], sources[one[0]].line(one[1])))
    return "\n".join(f"{sources[number].place(path)}: {dotted(path)} {text}" for number, path, text in found)
