from typing import Any

import pytest

from llamon_agent.domain import errors
from llamon_agent.domain.errors import (
    AgentError,
    BackendError,
    CallerError,
    Conflict,
    KeyTaken,
    LlamonError,
    TaskHasEnded,
)

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, LlamonError)]


@pytest.mark.parametrize("error", [KeyTaken("t", "d") if kind is KeyTaken else kind() for kind in KINDS], ids=repr)
def test_every_error_has_a_sentence_for_the_caller(error: LlamonError) -> None:
    assert error.public.endswith(".")
    assert str(error) == error.public


def test_an_error_may_say_it_more_exactly_without_changing_its_kind() -> None:
    assert TaskHasEnded("That one has ended.").public == "That one has ended."
    assert TaskHasEnded().public == TaskHasEnded.public != "That one has ended."


def test_fault_is_one_partys() -> None:
    assert not issubclass(BackendError, CallerError)
    assert issubclass(Conflict, BackendError)


class Words(str): ...


def test_what_an_error_says_is_a_plain_string() -> None:
    assert AgentError(Words("No such city.")).public == "No such city."
    assert type(AgentError(Words("No such city.")).public) is str


@pytest.mark.parametrize("public", [5, ValueError("secret"), object()], ids=repr)
def test_an_error_that_is_given_no_text_says_what_its_kind_says(public: Any) -> None:
    assert AgentError(public).public == AgentError.public
